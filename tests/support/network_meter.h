/* SPDX-License-Identifier: MIT */
/*
 * A lender that has what it lends from an arena, counts it, and fails when it
 * is told to.  Any thread; none of it asserts.
 */
#ifndef TESTS_SUPPORT_NETWORK_METER_H
#define TESTS_SUPPORT_NETWORK_METER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "lend/contract.h"

/* As many buffers may be out. */
#define METER_BUFFERS 64

struct meter {
	struct lend_lender behind;
	pthread_mutex_t lock;
	/* Guarded by the lock. */
	struct {
		void *at;
		size_t bytes;
	} buffer[METER_BUFFERS];
	size_t now, most;	/* bytes of buffers out */
	size_t out;		/* loans of any kind */
	size_t calls;		/* borrowings so far */
	size_t fail_at;		/* this one fails, from 1 on; 0: none */
	int error;
	bool strange;		/* a return of what was not lent */
};

/* All counts at zero; the lender is valid as long as the meter. */
struct lend_lender meter_start(struct meter *meter, lend_arena *arena);

#endif
