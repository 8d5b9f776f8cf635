/* SPDX-License-Identifier: MIT */
/*
 * Tokens, and how work is spread over what they stand for.
 *
 * Serial execution, a pool and a host's threads are one thing in here: a
 * table of functions (struct lend_exec_host) and the `host` that it wants.
 *
 * fork() and for_ranges() cut the work into numbered items and run lanes,
 * never more than the budget.  A lane claims the next item, runs it, and ends
 * when none is left, so one lane alone would run everything; whether the
 * others find a thread is a matter of speed.
 *
 * Budgets.  Of n items on a token of budget b, at most min(n, b) run at once.
 *   n <= b: the children's budgets add up to b, all of them together.
 *   n >  b: b at most run at once, each with a budget of 1.
 * Either way those that run add up to at most b; a child's own children stay
 * within the child's, so the same holds at any nesting.
 */
#include <errno.h>
#include <stdint.h>

#include "base/atomic.h"
#include "base/util.h"
#include "exec/pool.h"
#include "lend/exec.h"

/* Ranges per worker: late ones even out what early ones left uneven. */
#define RANGES_PER_WORKER 4

/* Serial execution as a host. */

static size_t
serial_width(void *host)
{
	(void)host;
	return 1;
}

static int
serial_broadcast(void *host, size_t budget, lend_exec_fn *fn, void *ctx)
{
	(void)host;
	(void)budget;	/* 1 */
	fn(0, ctx);
	return 0;
}

static void
serial_parallel(void *host, size_t n, lend_exec_fn *fn, void *ctx)
{
	(void)host;
	for (size_t i = 0; i < n; i++)
		fn(i, ctx);
}

static bool
serial_is_worker(void *host)
{
	(void)host;
	return false;
}

static const struct lend_exec_host serial_host = {
	.size = sizeof(struct lend_exec_host),
	.width = serial_width,
	.broadcast = serial_broadcast,
	.parallel = serial_parallel,
	.is_worker = serial_is_worker,
};

/* Where a token's work runs: a table, and what its functions want first. */
struct place {
	const struct lend_exec_host *table;
	void *host;
};

static struct place
place_of(const struct lend_exec *exec)
{
	if (exec->pool)
		return (struct place){ &lend__pool_host, exec->pool };
	if (exec->host)
		return (struct place){ exec->host, exec->host->host };
	return (struct place){ &serial_host, NULL };
}

/* Tokens. */

void
lend_exec_serial(struct lend_exec *exec)
{
	*exec = (struct lend_exec){ .budget = 1 };
}

int
lend_exec_on_pool(struct lend_exec *exec, lend_pool *pool, size_t budget)
{
	if (!exec || !pool || budget == 0)
		return -EINVAL;
	*exec = (struct lend_exec){
		.pool = pool,
		.budget = size_min(budget, lend_pool_width(pool)),
	};
	return 0;
}

int
lend_exec_on_host(struct lend_exec *exec, const struct lend_exec_host *host,
	       size_t budget)
{
	size_t width;

	if (!exec || !host || budget == 0)
		return -EINVAL;
	/* The first of its kind: no other size has been compiled yet. */
	if (host->size != sizeof(*host))
		return -EINVAL;
	if (!host->width || !host->broadcast || !host->parallel ||
	    !host->is_worker)
		return -EINVAL;
	width = host->width(host->host);
	if (width == 0)
		return -EINVAL;
	*exec = (struct lend_exec){
		.host = host,
		.budget = size_min(budget, width),
	};
	return 0;
}

int
lend_exec_narrow(const struct lend_exec *exec, size_t budget,
		 struct lend_exec *narrow)
{
	if (!exec || !narrow || budget == 0)
		return -EINVAL;
	*narrow = *exec;
	narrow->budget = size_min(budget, exec->budget);
	return 0;
}

size_t
lend_exec_budget(const struct lend_exec *exec)
{
	return exec ? exec->budget : 0;
}

/* A token that was never made has no budget. */
static bool
valid(const struct lend_exec *exec)
{
	return exec && exec->budget > 0;
}

/* Whether threads may be co-scheduled, from here. */
static int
check_gang(const struct lend_exec *exec, lend_exec_fn *fn)
{
	struct place place;

	if (!valid(exec) || !fn)
		return -EINVAL;
	if (exec->forked)
		return -EPERM;
	place = place_of(exec);
	return place.table->is_worker(place.host) ? -EDEADLK : 0;
}

int
lend_exec_broadcast(const struct lend_exec *exec, lend_exec_fn *fn, void *ctx)
{
	int error = check_gang(exec, fn);
	struct place place;

	if (error)
		return error;
	place = place_of(exec);
	return place.table->broadcast(place.host, exec->budget, fn, ctx);
}

int
lend_exec_team(const struct lend_exec *exec, lend_exec_fn *fn, void *ctx)
{
	int error = check_gang(exec, fn);
	struct place place;

	if (error)
		return error;
	if (exec->pool)
		return lend__pool_team(exec->pool, exec->budget, fn, ctx);
	place = place_of(exec);
	return place.table->broadcast(place.host, exec->budget, fn, ctx);
}

/* Items and lanes. */

struct items {
	lend_exec_fn *run;	/* constant, as are ctx and n */
	void *ctx;
	size_t n;
	/* To be claimed next.  No other line that the lanes share changes. */
	_Alignas(FALSE_SHARING) _Atomic(size_t) next;
};

/*
 * Claims the next item.  No more than n are ever counted, so that the counter
 * cannot wrap.
 *
 * Relaxed: the counter hands out numbers, each once, which needs no order;
 * what an item reads was written before the lanes were started, and what it
 * writes is read when they have ended; whoever runs the lanes (the pool's
 * lock, the host) orders both.  A stale value costs one more round.
 */
static bool
claim(struct items *items, size_t *item)
{
	*item = load_relaxed(&items->next);
	do {
		if (*item >= items->n)
			return false;
	} while (!cas_relaxed(&items->next, item, *item + 1));
	return true;
}

static void
run_lane(size_t lane, void *ctx)
{
	struct items *items = ctx;
	size_t item;

	(void)lane;
	while (claim(items, &item))
		items->run(item, items->ctx);
}

/* Runs run(0..n-1, ctx), as many at a time as the budget allows. */
static void
spread(const struct lend_exec *exec, size_t n, lend_exec_fn *run, void *ctx)
{
	struct items items = { .run = run, .ctx = ctx, .n = n };
	size_t lanes = size_min(n, exec->budget);
	struct place place = place_of(exec);

	if (lanes > 1)
		place.table->parallel(place.host, lanes, run_lane, &items);
	else
		run_lane(0, &items);
}

/* fork(). */

struct jobs {
	const struct lend_exec *parent;
	size_t n;
	lend_exec_job_fn *fn;
	void *ctx;
};

/* The budget of child i of n. */
static size_t
share(size_t budget, size_t n, size_t i)
{
	if (n > budget)
		return 1;
	return budget / n + (i < budget % n);
}

static void
run_job(size_t i, void *ctx)
{
	const struct jobs *jobs = ctx;
	struct lend_exec child = *jobs->parent;

	child.budget = share(jobs->parent->budget, jobs->n, i);
	child.forked = true;
	jobs->fn(i, &child, jobs->ctx);
}

int
lend_exec_fork(const struct lend_exec *exec, size_t n, lend_exec_job_fn *fn,
	       void *ctx)
{
	struct jobs jobs = { .parent = exec, .n = n, .fn = fn, .ctx = ctx };

	if (!valid(exec) || !fn)
		return -EINVAL;
	spread(exec, n, run_job, &jobs);
	return 0;
}

/* for_ranges(). */

struct ranges {
	size_t total;
	size_t length;	/* of each but the last one */
	lend_exec_range_fn *fn;
	void *ctx;
};

static void
run_range(size_t i, void *ctx)
{
	const struct ranges *ranges = ctx;
	/* No overflow: i is below the number of ranges. */
	size_t begin = i * ranges->length;
	size_t rest = ranges->total - begin;

	ranges->fn(begin, begin + size_min(rest, ranges->length), ranges->ctx);
}

/* So long that each worker gets some ranges, but no shorter than `grain`. */
static size_t
range_length(size_t budget, size_t total, size_t grain)
{
	size_t wanted;

	if (budget == 1)
		return size_max(total, grain);
	if (__builtin_mul_overflow(budget, (size_t)RANGES_PER_WORKER, &wanted))
		wanted = SIZE_MAX;
	return size_max(total / wanted, grain);
}

int
lend_exec_for_ranges(const struct lend_exec *exec, size_t total, size_t grain,
		     lend_exec_range_fn *fn, void *ctx)
{
	struct ranges ranges = { .total = total, .fn = fn, .ctx = ctx };
	size_t n;

	if (!valid(exec) || grain == 0 || !fn)
		return -EINVAL;
	ranges.length = range_length(exec->budget, total, grain);
	n = total / ranges.length + (total % ranges.length != 0);
	spread(exec, n, run_range, &ranges);
	return 0;
}
