/* SPDX-License-Identifier: MIT */
/*
 * Many threads at one warm pool, all operations at random.  Every slot is in
 * exactly one place at every moment: with a thread, or in the pool.  It goes
 * from one to the other by marks that nobody may find set wrongly.
 */
#ifndef TESTS_SUPPORT_WARM_CROWD_H
#define TESTS_SUPPORT_WARM_CROWD_H

#include <stddef.h>
#include <stdint.h>

#include <lend/warm.h>

struct warm_crowd {
	lend_warm_pool *pool;
	unsigned threads;	/* at most 16 */
	unsigned operations;	/* of each */
	unsigned ids;		/* at most 64 */
	uint64_t seed;
	/* Afterwards: what happened, for a look. */
	uint64_t claims, backs, rejected;
};

/*
 * Runs it on an empty pool, and leaves it empty.  Returns null, or the first
 * thing that was wrong.
 */
const char *warm_crowd_run(struct warm_crowd *crowd);

#endif
