/* SPDX-License-Identifier: MIT */
#include "support/tokens.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "support/suite.h"
#include "support/workers.h"

struct threads threads;
struct lend_exec_host threads_host;
lend_pool *tokens_pool;

struct lane {
	pthread_t thread;
	size_t index;
	lend_exec_fn *fn;
	void *ctx;
};

static _Thread_local bool in_threads;

static void *
lane_main(void *arg)
{
	struct lane *lane = arg;

	in_threads = true;
	lane->fn(lane->index, lane->ctx);
	return NULL;
}

static int
run_lanes(size_t n, lend_exec_fn *fn, void *ctx)
{
	struct lane lanes[WIDTH];
	size_t started = 0;

	for (size_t i = 0; i < n && i < WIDTH; i++) {
		lanes[i] = (struct lane){ .index = i, .fn = fn, .ctx = ctx };
		started += pthread_create(&lanes[i].thread, NULL, lane_main,
					  &lanes[i]) == 0;
	}
	for (size_t i = 0; i < started; i++)
		pthread_join(lanes[i].thread, NULL);
	return started == n ? 0 : -EAGAIN;
}

static size_t
threads_width(void *host)
{
	struct threads *self = host;

	return self->width;
}

static int
threads_broadcast(void *host, size_t budget, lend_exec_fn *fn, void *ctx)
{
	struct threads *self = host;

	if (self->refusal)
		return self->refusal;
	atomic_fetch_add(&self->broadcasts, 1);
	return run_lanes(budget, fn, ctx);
}

static void
threads_parallel(void *host, size_t n, lend_exec_fn *fn, void *ctx)
{
	struct threads *self = host;

	atomic_fetch_add(&self->parallels, 1);
	run_lanes(n, fn, ctx);
}

static bool
threads_is_worker(void *host)
{
	return host == &threads && in_threads;
}

static void
setup(void)
{
	memset(&threads, 0, sizeof(threads));
	threads.width = WIDTH;
	threads_host = (struct lend_exec_host){
		.size = sizeof(threads_host),
		.host = &threads,
		.width = threads_width,
		.broadcast = threads_broadcast,
		.parallel = threads_parallel,
		.is_worker = threads_is_worker,
	};
	tokens_pool = pool_of(WIDTH);
}

static void
teardown(void)
{
	ck_assert_int_eq(lend_pool_destroy(tokens_pool), 0);
}

struct lend_exec
token(enum kind kind, size_t budget)
{
	struct lend_exec exec;

	memset(&exec, 0xff, sizeof(exec));
	if (kind == SERIAL)
		lend_exec_serial(&exec);
	else if (kind == POOL)
		ck_assert_int_eq(lend_exec_on_pool(&exec, tokens_pool, budget),
				 0);
	else
		ck_assert_int_eq(lend_exec_on_host(&exec, &threads_host, budget),
				 0);
	return exec;
}

TCase *
tokens_case(Suite *suite, const char *name)
{
	TCase *tcase = suite_case(suite, name);

	tcase_add_checked_fixture(tcase, setup, teardown);
	return tcase;
}
