/* SPDX-License-Identifier: MIT */
#include "support/workers.h"

#include <check.h>
#include <sched.h>
#include <string.h>

lend_pool *
pool_of(size_t width)
{
	lend_pool *pool = NULL;

	ck_assert_int_eq(lend_pool_create(&pool, width), 0);
	ck_assert_ptr_nonnull(pool);
	return pool;
}

lend_pool *
pool_at_rest(size_t width)
{
	lend_pool *pool = pool_of(width);
	struct lend_exec all = token_of(pool, width);
	atomic_int runs = 0;

	/* Who has done its part is idle when the caller knows it. */
	ck_assert_int_eq(lend_exec_broadcast(&all, count_run, &runs), 0);
	ck_assert_uint_eq(look(pool).idle, width);
	return pool;
}

struct lend_exec
token_of(lend_pool *pool, size_t budget)
{
	struct lend_exec exec;

	ck_assert_int_eq(lend_exec_on_pool(&exec, pool, budget), 0);
	return exec;
}

struct pool_view
look(lend_pool *pool)
{
	struct pool_view view;

	lend__pool_look(pool, &view);
	return view;
}

void
count_run(size_t index, void *ctx)
{
	(void)index;
	atomic_fetch_add((atomic_int *)ctx, 1);
}

void
count_job(size_t index, const struct lend_exec *child, void *ctx)
{
	(void)child;
	count_run(index, ctx);
}

void
count_range(size_t begin, size_t end, void *ctx)
{
	(void)end;
	count_run(begin, ctx);
}

void
meeting_start(struct meeting *meeting, size_t parties)
{
	memset(meeting, 0, sizeof(*meeting));
	pthread_barrier_init(&meeting->barrier, NULL, (unsigned)parties);
}

void
meet(size_t index, void *ctx)
{
	struct meeting *meeting = ctx;

	if (index >= WIDTH) {
		atomic_fetch_add(&meeting->strays, 1);
		return;
	}
	meeting->who[index] = pthread_self();
	atomic_fetch_add(&meeting->runs[index], 1);
	pthread_barrier_wait(&meeting->barrier);
}

void
meet_job(size_t index, const struct lend_exec *child, void *ctx)
{
	(void)child;
	meet(index, ctx);
}

void
hold(size_t index, void *ctx)
{
	struct hold *held = ctx;

	(void)index;
	atomic_fetch_add(&held->inside, 1);
	while (!atomic_load(&held->open))
		sched_yield();
}

void
await_inside(struct hold *held, int count)
{
	while (atomic_load(&held->inside) < count)
		sched_yield();
}

static void *
client_main(void *arg)
{
	struct client *client = arg;

	client->error = lend_exec_broadcast(&client->exec, client->fn,
					    client->ctx);
	return NULL;
}

void
client_start(struct client *client, lend_pool *pool, size_t budget,
	     lend_exec_fn *fn, void *ctx)
{
	client->exec = token_of(pool, budget);
	client->fn = fn;
	client->ctx = ctx;
	client->error = 1;
	ck_assert_int_eq(pthread_create(&client->thread, NULL, client_main,
					client), 0);
}

void
client_end(struct client *client)
{
	ck_assert_int_eq(pthread_join(client->thread, NULL), 0);
	ck_assert_int_eq(client->error, 0);
}

void
gauge_add(struct gauge *gauge, size_t amount)
{
	size_t sum = atomic_fetch_add(&gauge->sum, amount) + amount;
	size_t most = atomic_load(&gauge->most);

	while (sum > most &&
	       !atomic_compare_exchange_weak(&gauge->most, &most, sum))
		;
}

void
gauge_sub(struct gauge *gauge, size_t amount)
{
	atomic_fetch_sub(&gauge->sum, amount);
}
