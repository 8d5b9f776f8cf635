/* SPDX-License-Identifier: MIT */
/*
 * Loan numbers: which loan of an arena a handle stands for.
 *
 *   63             2  1        0
 *   [ count (62)    ][ private ][ out ]
 *
 * `out` tells a team set that is lent from an idle one; worker loans have a
 * word of their own for that.
 *
 * Each slot, private loan and team set counts its loans in a number of its
 * own.  A handle says which one it is of, so of all handles ever given out by
 * one arena no two are equal: 2^62 loans do not wrap in a century.
 */
#ifndef LEND_ARENA_LOAN_H
#define LEND_ARENA_LOAN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/atomic.h"
#include "sync/registry.h"

#define NUMBER_OUT	((uint64_t)1)	/* always set in a handle's */
#define NUMBER_PRIVATE	((uint64_t)2)	/* a re-entrant worker loan */
#define NUMBER_STRIDE	((uint64_t)4)

/* The number before the first loan. */
static inline uint64_t
number_first(void)
{
	return NUMBER_STRIDE;
}

static inline bool
number_is_out(uint64_t number)
{
	return number & NUMBER_OUT;
}

/* The number of the next worker loan. */
static inline uint64_t
number_next(uint64_t number)
{
	return number + NUMBER_STRIDE;
}

/* The number of a team set after the lease `number` was returned. */
static inline uint64_t
number_after(uint64_t number)
{
	return (number & ~NUMBER_OUT) + NUMBER_STRIDE;
}

/* Of a private loan's flags: it is returned in its own way. */
#define LOAN_PRIVATE	1u

/*
 * What the handle of a worker loan leads to: the head of a slot, or of a
 * private loan.  The thread that has it writes; others look.
 */
struct loan {
	struct node node;		/* on the stack of those without one */
	_Atomic(uint32_t) busy;		/* 1 while the loan is out */
	uint32_t flags;			/* the owner's: LOAN_*, see slot.h */
	/*
	 * Which loan is out, or was the last.  A word of its own: busy is
	 * then stored without waiting for what was stored before.
	 */
	_Atomic(uint64_t) number;
	_Atomic(void *) owner;		/* its thread, or null */
};

/* Whether it is out.  The owner knows; others get a glimpse. */
static inline bool
loan_is_out(const struct loan *loan)
{
	/* Relaxed: the owner's own store, or statistics. */
	return load_relaxed(&loan->busy);
}

#endif
