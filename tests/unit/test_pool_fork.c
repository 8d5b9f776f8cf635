/* SPDX-License-Identifier: MIT */
/*
 * The pool's forks, and many clients at once.
 *
 * Threads other than the main one record what they see; the main thread
 * asserts.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "exec/pool.h"
#include "lend/exec.h"
#include "support/suite.h"
#include "support/workers.h"

/* Fork. */

/* Idle workers help: the jobs meet, and the caller is one of them. */
START_TEST(fork_is_helped_by_idle_workers)
{
	struct meeting meeting;
	size_t callers = 0;
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec exec = token_of(pool, WIDTH);

	meeting_start(&meeting, WIDTH);
	ck_assert_int_eq(lend_exec_fork(&exec, WIDTH, meet_job, &meeting), 0);
	for (size_t i = 0; i < WIDTH; i++) {
		ck_assert_int_eq(atomic_load(&meeting.runs[i]), 1);
		callers += pthread_equal(meeting.who[i], pthread_self()) != 0;
	}
	ck_assert_uint_eq(callers, 1);
	ck_assert_uint_eq(look(pool).started, WIDTH - 1);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

static void
count_index(size_t index, void *ctx)
{
	atomic_int *runs = ctx;

	atomic_fetch_add(&runs[index], 1);
	sched_yield();
}

static void
try_parallel(lend_pool *pool, size_t n)
{
	atomic_int runs[WIDTH + 1] = { 0 };

	lend__pool_host.parallel(pool, n, count_index, runs);
	for (size_t i = 0; i <= WIDTH; i++)
		ck_assert_int_eq(atomic_load(&runs[i]), i < n);
}

/* As a host's parallel() must: each index once, whoever runs it. */
START_TEST(parallel_runs_each_index_once)
{
	struct hold held = { 0 };
	struct client busy;
	lend_pool *pool = pool_of(WIDTH);

	for (int round = 0; round < 200; round++)
		for (size_t n = 2; n <= WIDTH; n++)
			try_parallel(pool, n);
	/* One helper, then none. */
	client_start(&busy, pool, WIDTH - 1, hold, &held);
	await_inside(&held, WIDTH - 1);
	try_parallel(pool, WIDTH);
	atomic_store(&held.open, true);
	client_end(&busy);
	memset(&held, 0, sizeof(held));
	client_start(&busy, pool, WIDTH, hold, &held);
	await_inside(&held, WIDTH);
	try_parallel(pool, WIDTH);
	atomic_store(&held.open, true);
	client_end(&busy);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

struct lonely {
	lend_pool *pool;
	pthread_t caller;
	atomic_int elsewhere;
	atomic_int runs;
	atomic_int idle;
};

static void
run_lonely(size_t index, const struct lend_exec *child, void *ctx)
{
	struct lonely *lonely = ctx;

	(void)index;
	(void)child;
	atomic_fetch_add(&lonely->runs, 1);
	if (!pthread_equal(pthread_self(), lonely->caller))
		atomic_fetch_add(&lonely->elsewhere, 1);
	atomic_store(&lonely->idle, (int)look(lonely->pool).idle);
}

/* Fork never waits for a worker to become idle. */
START_TEST(fork_goes_on_alone_when_all_are_busy)
{
	struct hold held = { 0 };
	struct client busy;
	struct lonely lonely = { .pool = pool_of(2),
				 .caller = pthread_self() };
	struct lend_exec exec = token_of(lonely.pool, 2);

	client_start(&busy, lonely.pool, 2, hold, &held);
	await_inside(&held, 2);
	ck_assert_int_eq(lend_exec_fork(&exec, 20, run_lonely, &lonely), 0);
	ck_assert_int_eq(atomic_load(&lonely.runs), 20);
	ck_assert_int_eq(atomic_load(&lonely.elsewhere), 0);
	ck_assert_uint_eq(look(lonely.pool).offers, 0);
	atomic_store(&held.open, true);
	client_end(&busy);
	ck_assert_int_eq(lend_pool_destroy(lonely.pool), 0);
}
END_TEST

/* Forks do not take the workers that a broadcast waits for. */
START_TEST(fork_leaves_workers_to_a_waiting_broadcast)
{
	struct hold held = { 0 };
	struct client running, waiting;
	atomic_int runs = 0;
	struct lonely lonely = { .pool = pool_of(WIDTH),
				 .caller = pthread_self() };
	struct lend_exec exec = token_of(lonely.pool, WIDTH);

	client_start(&running, lonely.pool, 1, hold, &held);
	await_inside(&held, 1);
	client_start(&waiting, lonely.pool, WIDTH, count_run, &runs);
	while (look(lonely.pool).gangs < 1 ||
	       look(lonely.pool).idle < WIDTH - 1)
		sched_yield();
	ck_assert_int_eq(lend_exec_fork(&exec, 20, run_lonely, &lonely), 0);
	ck_assert_int_eq(atomic_load(&lonely.runs), 20);
	ck_assert_int_eq(atomic_load(&lonely.elsewhere), 0);
	ck_assert_int_eq(atomic_load(&lonely.idle), WIDTH - 1);
	ck_assert_int_eq(atomic_load(&runs), 0);
	atomic_store(&held.open, true);
	client_end(&running);
	client_end(&waiting);
	ck_assert_int_eq(atomic_load(&runs), WIDTH);
	ck_assert_int_eq(lend_pool_destroy(lonely.pool), 0);
}
END_TEST

struct cancelled {
	pthread_t thread;
	struct lend_exec exec;
	atomic_int jobs;
	atomic_bool returned;
};

static void
cancel_in_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct cancelled *cancelled = ctx;

	(void)index;
	(void)child;
	pthread_cancel(cancelled->thread);
	pthread_testcancel();
	atomic_fetch_add(&cancelled->jobs, 1);
}

static void *
cancelled_main(void *arg)
{
	struct cancelled *cancelled = arg;

	cancelled->thread = pthread_self();
	if (lend_exec_fork(&cancelled->exec, 6, cancel_in_job, cancelled) == 0)
		atomic_store(&cancelled->returned, true);
	return NULL;
}

/* A caller that is cancelled stays: its helpers know its stack. */
START_TEST(fork_is_no_cancellation_point)
{
	lend_pool *pool = pool_of(2);
	struct cancelled cancelled = { .exec = token_of(pool, 2) };
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, cancelled_main,
					&cancelled), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(atomic_load(&cancelled.jobs), 6);
	ck_assert(atomic_load(&cancelled.returned));
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

struct nest {
	struct lend_exec exec;
	atomic_int jobs;
	atomic_int failed;
};

static void
nest_leaf(size_t index, const struct lend_exec *child, void *ctx)
{
	struct nest *nest = ctx;

	(void)index;
	(void)child;
	atomic_fetch_add(&nest->jobs, 1);
}

static void
nest_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct nest *nest = ctx;

	(void)index;
	(void)child;
	sched_yield();
	if (lend_exec_fork(&nest->exec, 3, nest_leaf, nest))
		atomic_fetch_add(&nest->failed, 1);
}

static void
nest_worker(size_t index, void *ctx)
{
	struct nest *nest = ctx;

	(void)index;
	if (lend_exec_fork(&nest->exec, 8, nest_job, nest))
		atomic_fetch_add(&nest->failed, 1);
}

/* All workers fork, and fork in their jobs: nobody waits for anybody. */
START_TEST(forks_of_all_workers_do_not_deadlock)
{
	lend_pool *pool = pool_of(WIDTH);
	struct nest nest = { .exec = token_of(pool, WIDTH) };

	for (int i = 1; i <= 20; i++) {
		ck_assert_int_eq(lend_exec_broadcast(&nest.exec, nest_worker,
						     &nest), 0);
		ck_assert_int_eq(atomic_load(&nest.jobs), i * WIDTH * 8 * 3);
	}
	ck_assert_int_eq(atomic_load(&nest.failed), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* Many clients. */

#define CLIENTS 8
#define ROUNDS 200

struct crowd {
	lend_pool *pool;
	uint64_t seed;
	bool mixed;		/* forks and ranges too */
	pthread_t thread;
	size_t expected;
	atomic_size_t runs;
	size_t errors;
	size_t unsound;
};

static uint64_t
next_random(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

struct round {
	struct crowd *crowd;
	pthread_barrier_t barrier;
};

static void
crowd_meet(size_t index, void *ctx)
{
	struct round *round = ctx;

	(void)index;
	atomic_fetch_add(&round->crowd->runs, 1);
	pthread_barrier_wait(&round->barrier);
}

static void
crowd_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct crowd *crowd = ctx;

	(void)index;
	(void)child;
	atomic_fetch_add(&crowd->runs, 1);
	sched_yield();
}

static void
crowd_range(size_t begin, size_t end, void *ctx)
{
	struct crowd *crowd = ctx;

	atomic_fetch_add(&crowd->runs, end - begin);
}

static int
crowd_broadcast(struct crowd *crowd, const struct lend_exec *exec)
{
	struct round round = { .crowd = crowd };
	size_t budget = lend_exec_budget(exec);
	int error;

	pthread_barrier_init(&round.barrier, NULL, (unsigned)budget);
	crowd->expected += budget;
	error = lend_exec_broadcast(exec, crowd_meet, &round);
	pthread_barrier_destroy(&round.barrier);
	return error;
}

static int
crowd_round(struct crowd *crowd)
{
	uint64_t random = next_random(&crowd->seed) >> 16;
	struct lend_exec exec;
	int error;

	error = lend_exec_on_pool(&exec, crowd->pool, 1 + random % WIDTH);
	if (error)
		return error;
	random /= WIDTH;
	if (!crowd->mixed || random % 3 == 0)
		return crowd_broadcast(crowd, &exec);
	if (random % 3 == 1) {
		crowd->expected += 7;
		return lend_exec_fork(&exec, 7, crowd_job, crowd);
	}
	crowd->expected += 1000;
	return lend_exec_for_ranges(&exec, 1000, 10, crowd_range, crowd);
}

static void *
crowd_main(void *arg)
{
	struct crowd *crowd = arg;

	for (int i = 0; i < ROUNDS; i++) {
		struct pool_view view;

		crowd->errors += crowd_round(crowd) != 0;
		lend__pool_look(crowd->pool, &view);
		crowd->unsound += !view.sound;
	}
	return NULL;
}

/* "Many client threads may use one pool at once; two broadcasts never
 * deadlock each other": with their workers meeting, they would. */
START_TEST(clients_never_deadlock)
{
	struct crowd crowds[CLIENTS];
	lend_pool *pool = pool_of(WIDTH);

	memset(crowds, 0, sizeof(crowds));
	for (size_t i = 0; i < CLIENTS; i++) {
		crowds[i].pool = pool;
		crowds[i].seed = 0x9e3779b97f4a7c15u * (i + 1);
		crowds[i].mixed = _i;
		ck_assert_int_eq(pthread_create(&crowds[i].thread, NULL,
						crowd_main, &crowds[i]), 0);
	}
	for (size_t i = 0; i < CLIENTS; i++)
		ck_assert_int_eq(pthread_join(crowds[i].thread, NULL), 0);
	for (size_t i = 0; i < CLIENTS; i++) {
		ck_assert_uint_eq(crowds[i].errors, 0);
		ck_assert_uint_eq(crowds[i].unsound, 0);
		ck_assert_uint_eq(atomic_load(&crowds[i].runs),
				  crowds[i].expected);
	}
	ck_assert_uint_eq(look(pool).idle, look(pool).started);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

static void
add_fork(TCase *tcase)
{
	tcase_add_test(tcase, fork_is_helped_by_idle_workers);
	tcase_add_test(tcase, parallel_runs_each_index_once);
	tcase_add_test(tcase, fork_goes_on_alone_when_all_are_busy);
	tcase_add_test(tcase, fork_leaves_workers_to_a_waiting_broadcast);
	tcase_add_test(tcase, fork_is_no_cancellation_point);
	tcase_add_test(tcase, forks_of_all_workers_do_not_deadlock);
}

int
main(void)
{
	Suite *suite = suite_create("pool_fork");
	TCase *clients;

	add_fork(suite_case(suite, "fork"));
	clients = suite_case(suite, "clients");
	tcase_add_loop_test(clients, clients_never_deadlock, 0, 2);
	return suite_run(suite);
}
