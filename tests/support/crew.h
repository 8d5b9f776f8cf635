/* SPDX-License-Identifier: MIT */
/*
 * Threads for a test: they begin together, may meet in between, and are
 * joined.  They record; the main thread asserts, and it alone calls what
 * asserts here: crew_start, crew_join, crew_run.
 */
#ifndef TESTS_SUPPORT_CREW_H
#define TESTS_SUPPORT_CREW_H

#include <pthread.h>
#include <stddef.h>

#define CREW_MAX 16

typedef void crew_fn(size_t index, void *ctx);

struct crew {
	size_t n;
	crew_fn *fn;
	void *ctx;
	pthread_barrier_t start;	/* of the members */
	pthread_barrier_t step;		/* of the members and the starter */
	struct crew_member {
		struct crew *crew;
		size_t index;
		pthread_t thread;
	} member[CREW_MAX];
};

/* Starts fn(0, ctx) .. fn(n - 1, ctx), each on a thread of its own. */
void crew_start(struct crew *crew, size_t n, crew_fn *fn, void *ctx);
/* Meets all members and the starter: each of them calls it. */
void crew_step(struct crew *crew);
void crew_join(struct crew *crew);

/* Starts and joins. */
void crew_run(size_t n, crew_fn *fn, void *ctx);

#endif
