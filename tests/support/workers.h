/* SPDX-License-Identifier: MIT */
/*
 * What tests of the pool and of tokens have run: functions for workers that
 * record, meet or wait, and clients on threads of their own.
 *
 * These threads record; the main thread asserts.  Functions that assert say
 * so: the main thread alone calls those.
 */
#ifndef TESTS_SUPPORT_WORKERS_H
#define TESTS_SUPPORT_WORKERS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "exec/pool.h"
#include "lend/exec.h"

/* As wide as the pools and hosts of most tests are. */
#define WIDTH 4

/* A pool, one of which all workers sleep, a token of it.  All assert. */
lend_pool *pool_of(size_t width);
lend_pool *pool_at_rest(size_t width);
struct lend_exec token_of(lend_pool *pool, size_t budget);

/* What the pool is doing just now.  Any thread. */
struct pool_view look(lend_pool *pool);

/* Count in the atomic_int that ctx is: for what may or may not run. */
void count_run(size_t index, void *ctx);
void count_job(size_t index, const struct lend_exec *child, void *ctx);
void count_range(size_t begin, size_t end, void *ctx);

/*
 * Who ran which index.  All `parties` of them meet at the barrier: workers
 * that do not run at the same time hang.
 */
struct meeting {
	pthread_barrier_t barrier;
	pthread_t who[WIDTH];
	atomic_int runs[WIDTH];
	atomic_int strays;	/* indices that are not below WIDTH */
};

void meeting_start(struct meeting *meeting, size_t parties);
void meet(size_t index, void *ctx);
void meet_job(size_t index, const struct lend_exec *child, void *ctx);

/* Holds the workers that run hold() until `open` is set. */
struct hold {
	atomic_int inside;
	atomic_bool open;
};

void hold(size_t index, void *ctx);
/* Until so many are inside. */
void await_inside(struct hold *held, int count);

/* A client thread that makes one broadcast.  Both functions assert. */
struct client {
	pthread_t thread;
	struct lend_exec exec;
	lend_exec_fn *fn;
	void *ctx;
	int error;
};

void client_start(struct client *client, lend_pool *pool, size_t budget,
		  lend_exec_fn *fn, void *ctx);
void client_end(struct client *client);

/* A sum of what is in use, and the most that it ever was. */
struct gauge {
	atomic_size_t sum;
	atomic_size_t most;
};

void gauge_add(struct gauge *gauge, size_t amount);
void gauge_sub(struct gauge *gauge, size_t amount);

#endif
