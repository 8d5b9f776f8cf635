/* SPDX-License-Identifier: MIT */
/*
 * Threads that lend at random, for stress_arena.c.  Each keeps up to some
 * loans out at a time, in all arenas, and marks what it was lent; whatever it
 * finds changed, it reports and ends the program.
 */
#ifndef TESTS_STRESS_LENDER_H
#define TESTS_STRESS_LENDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lend/lend.h"

#define KIB ((size_t)1024)

enum { PLAIN, TRACED, LIMITED, ARENAS };

/* Leases, and plain buffers, that lie about for anybody to return. */
#define PARCELS 16

struct parcel;
struct crate;

struct world {
	lend_arena *arena[ARENAS];
	uint64_t seed;
	/* All relaxed: counted, and read when the threads have been joined. */
	_Atomic(long) left;	/* operations still to be done */
	_Atomic(uint64_t) reentrant[ARENAS];
	_Atomic(uint64_t) abandoned[ARENAS];
	_Atomic(uint64_t) records;
	/* Exchanged: the lease goes from hand to hand. */
	_Atomic(struct parcel *) parcel[PARCELS];
	_Atomic(struct crate *) crate[PARCELS];
};

/* One thread's life: comes, does some operations, and goes. */
void lender_live(struct world *world, uint64_t seed);

/* Returns what lies about.  Nobody lends meanwhile. */
void lender_clear(struct world *world);
/* The plain buffers among it, in a child of fork too. */
void lender_return_crates(struct world *world);

/* Hands over the trace; counts what it was given. */
void lender_take_trace(struct world *world);

#endif
