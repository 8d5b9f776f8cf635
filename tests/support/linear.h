/* SPDX-License-Identifier: MIT */
/*
 * Linearizability: short rounds of several threads' operations are recorded,
 * and a search (Wing and Gong's) looks for an order of them that respects real
 * time, in which each returns what the sequential model does.
 */
#ifndef TESTS_SUPPORT_LINEAR_H
#define TESTS_SUPPORT_LINEAR_H

#include <stdbool.h>
#include <stdint.h>

#include "support/warm_model.h"

#define LINEAR_THREADS 8
#define LINEAR_EVENTS 48

/* Times are counts: call before all that begins after ret. */
struct linear_event {
	uint64_t call, ret;
	struct warm_op op;
};

/* Whether there is such an order, from an empty model on. */
bool linear_check(const struct linear_event *events, unsigned n, unsigned cap,
		  unsigned ids);

/*
 * Rounds on one object.  It is empty at the start; `perform` does an operation
 * on it, on any thread.  After each round a few more operations, by one
 * thread, tell in which state it was, and empty it.
 */
struct linear_run {
	void (*perform)(void *object, struct warm_op *op);
	void *object;
	unsigned threads, operations;	/* of each, in a round */
	unsigned cap, ids;
	unsigned rounds;
	uint64_t seed;
};

/* How many rounds have no such order. */
unsigned linear_run(const struct linear_run *run);

#endif
