/* SPDX-License-Identifier: MIT */
/*
 * Where the work runs.
 *
 * A pool owns worker threads.  An exec is a token for a budget of them.
 *
 *   pool of 4            exec, budget 3         fork into 2 jobs
 *   [w0 w1 w2 w3] <----- broadcast: fn on  ---> child of 2, child of 1
 *                        3 workers at once      (never more than 3 in all)
 *
 * A host with threads of its own gives a table of functions instead of a
 * pool (struct lend_exec_host).
 */
#ifndef LEND_EXEC_H
#define LEND_EXEC_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/visibility.h>

LEND_BEGIN_DECLS

typedef struct lend_pool lend_pool;

/*
 * Makes a pool of `width` worker threads, started at their first use, with
 * all signals blocked but those of their own faults.  A child of fork(2) may
 * use the pool: its threads start anew there, and jobs that other threads
 * were at are lost to the child.
 * Errors: -EINVAL (null, width 0 or above 65535, LEND_CONF names a backend
 * that is not there), -ENOMEM.
 */
LEND_API LEND_CHECKED int
lend_pool_create(lend_pool **pool, size_t width);

/*
 * Ends the workers and frees the pool.  No other call on it may be in progress
 * or follow.  Null is accepted.
 * Errors: -EBUSY (work is running or waiting; nothing changed), -EDEADLK (the
 * caller is a worker of the pool).
 */
LEND_API LEND_CHECKED int
lend_pool_destroy(lend_pool *pool);

/* How many workers it has; 0 for null. */
LEND_API size_t
lend_pool_width(const lend_pool *pool);

typedef void lend_exec_fn(size_t index, void *ctx);

/*
 * A host's threads.  Every function is called with `host` first and may be
 * called by several threads at once.
 */
struct lend_exec_host {
	size_t size;	/* sizeof this struct, as the caller was compiled */
	void *host;
	/* The largest budget that makes sense, at least 1. */
	size_t (*width)(void *host);
	/*
	 * Runs fn(0..budget-1, ctx), each on a thread of its own, all at the
	 * same time, and returns 0 when all have ended; or runs nothing and
	 * returns a negative errno value.
	 */
	int (*broadcast)(void *host, size_t budget, lend_exec_fn *fn,
			 void *ctx);
	/*
	 * Runs fn(0..n-1, ctx), each once, in any order, on as many threads
	 * as are to be had (one is enough), and returns when all have ended.
	 */
	void (*parallel)(void *host, size_t n, lend_exec_fn *fn, void *ctx);
	/* Whether the calling thread is a worker of this host. */
	bool (*is_worker)(void *host);
};

/*
 * A token for a budget of workers.  A value: copy it freely; it is valid as
 * long as its pool or host.  Its fields are private.
 */
struct lend_exec {
	lend_pool *pool;
	const struct lend_exec_host *host;
	size_t budget;
	bool forked;
};

/* A serial exec: budget 1, everything runs on the calling thread. */
LEND_API void
lend_exec_serial(struct lend_exec *exec);

/*
 * A token for `budget` workers of the pool; a larger wish than the pool is
 * wide is clamped.
 * Errors: -EINVAL (null, budget 0).
 */
LEND_API LEND_CHECKED int
lend_exec_on_pool(struct lend_exec *exec, lend_pool *pool, size_t budget);

/*
 * The same over a host's threads.  *host must outlive the token.
 * Errors: -EINVAL (null, budget 0, a missing function, a width of 0, a size
 * that is not this struct's).
 */
LEND_API LEND_CHECKED int
lend_exec_on_host(struct lend_exec *exec, const struct lend_exec_host *host,
	       size_t budget);

/*
 * A token for at most `budget` of the workers that `exec` stands for.
 * Errors: -EINVAL (null, budget 0).
 */
LEND_API LEND_CHECKED int
lend_exec_narrow(const struct lend_exec *exec, size_t budget,
		 struct lend_exec *narrow);

/* How many workers the token stands for. */
LEND_API size_t
lend_exec_budget(const struct lend_exec *exec);

/*
 * Runs fn(0, ctx) .. fn(budget - 1, ctx), each on a distinct worker, all at
 * the same time (they may meet at a barrier), and returns when all have
 * ended.  Broadcasts of many threads on one pool wait for each other, they
 * never deadlock.  fn must not throw, exit its thread or be cancelled.
 * A serial token runs fn(0, ctx) on the calling thread.
 * Errors, after which nothing has run: -EINVAL (null), -EPERM (a forked
 * token), -EDEADLK (the caller is a worker of the pool), -EAGAIN (threads
 * could not be started), or what the host's broadcast returned.
 */
LEND_API LEND_CHECKED int
lend_exec_broadcast(const struct lend_exec *exec, lend_exec_fn *fn, void *ctx);

/*
 * The same, but where the token is of a pool that has budget - 1 idle workers
 * and nobody waits for them, the calling thread runs fn(0, ctx), and counts as
 * a worker of the pool meanwhile.  So one thread less is woken, and none sleeps
 * while others work, which for short works counts.  Otherwise, and on a host's
 * threads, it is a broadcast.
 * Errors: as lend_exec_broadcast().
 */
LEND_API LEND_CHECKED int
lend_exec_team(const struct lend_exec *exec, lend_exec_fn *fn, void *ctx);

typedef void lend_exec_job_fn(size_t index, const struct lend_exec *child,
			      void *ctx);

/*
 * Runs the jobs fn(0..n-1), each with a child token, and returns when all
 * have ended.  At any moment the budgets of the children that run add up to
 * at most the parent's; with n <= budget they are handed out whole, the
 * first ones getting the remainder.  The calling thread takes part (on a
 * host's threads, as far as its `parallel` does so).  fn must not throw, exit
 * its thread or be cancelled.
 * Errors: -EINVAL (null).
 */
LEND_API LEND_CHECKED int
lend_exec_fork(const struct lend_exec *exec, size_t n, lend_exec_job_fn *fn,
	       void *ctx);

typedef void lend_exec_range_fn(size_t begin, size_t end, void *ctx);

/*
 * Splits 0..total over the budget into ranges of `grain` elements or more
 * (the last one may be shorter) and runs fn on each, together covering every
 * index once.  The calling thread and fn as in lend_exec_fork().
 * Errors: -EINVAL (null, grain 0).
 */
LEND_API LEND_CHECKED int
lend_exec_for_ranges(const struct lend_exec *exec, size_t total, size_t grain,
		     lend_exec_range_fn *fn, void *ctx);

LEND_END_DECLS

#endif
