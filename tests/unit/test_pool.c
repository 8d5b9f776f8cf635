/* SPDX-License-Identifier: MIT */
/*
 * The pool: its threads, its end, and its broadcasts.
 *
 * Threads other than the main one record what they see; the main thread
 * asserts.  What must be at the same time meets at a barrier: a pool that
 * gets it wrong hangs, and the runner ends it.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* default attributes, names of threads */
#endif
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>

#include "exec/pool.h"
#include "lend/exec.h"
#include "support/fault.h"
#include "support/suite.h"
#include "support/workers.h"

/*
 * From here on no thread can be started: no address space holds the stack
 * that each would get.
 */
static void
forbid_threads(pthread_attr_t *before)
{
	pthread_attr_t huge;

	ck_assert_int_eq(pthread_getattr_default_np(before), 0);
	ck_assert_int_eq(pthread_attr_init(&huge), 0);
	ck_assert_int_eq(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
	ck_assert_int_eq(pthread_setattr_default_np(&huge), 0);
	pthread_attr_destroy(&huge);
}

static void
allow_threads(pthread_attr_t *before)
{
	ck_assert_int_eq(pthread_setattr_default_np(before), 0);
	pthread_attr_destroy(before);
}

/* Making and ending. */

START_TEST(create_refuses_bad_input)
{
	lend_pool *pool = NULL;

	ck_assert_int_eq(lend_pool_create(NULL, 1), -EINVAL);
	ck_assert_int_eq(lend_pool_create(&pool, 0), -EINVAL);
	ck_assert_int_eq(lend_pool_create(&pool, 65536), -EINVAL);
	ck_assert_int_eq(lend_pool_create(&pool, SIZE_MAX), -EINVAL);
	ck_assert_ptr_null(pool);
}
END_TEST

START_TEST(create_knows_its_width)
{
	lend_pool *pool = pool_of(65535);

	ck_assert_uint_eq(lend_pool_width(pool), 65535);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
	ck_assert_int_eq(lend_pool_destroy(NULL), 0);
}
END_TEST

START_TEST(create_reports_out_of_memory)
{
	lend_pool *first = pool_of(1), *pool = NULL;

	/* The first one has chosen the backend. */
	ck_assert_int_eq(lend_pool_destroy(first), 0);
	fault_install(NULL);
	fault_fail_all(FAULT_PAGES);
	ck_assert_int_eq(lend_pool_create(&pool, 2), -ENOMEM);
	ck_assert_ptr_null(pool);
	fault_fail_all(0);
	ck_assert_int_eq(lend_pool_create(&pool, 2), 0);
	ck_assert_uint_gt(fault_counts().pages_bytes, 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
	/* All of it is given back. */
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
	fault_uninstall();
}
END_TEST

START_TEST(threads_start_at_first_use)
{
	struct meeting meeting;
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec exec = token_of(pool, 2);

	ck_assert_uint_eq(look(pool).started, 0);
	meeting_start(&meeting, 2);
	ck_assert_int_eq(lend_exec_broadcast(&exec, meet, &meeting), 0);
	ck_assert_uint_eq(look(pool).started, 2);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

struct trait {
	char name[16];
	int unblocked;
};

static void
record_trait(size_t index, void *ctx)
{
	struct trait *trait = ctx;
	sigset_t set;

	(void)index;
	pthread_getname_np(pthread_self(), trait->name, sizeof(trait->name));
	pthread_sigmask(SIG_BLOCK, NULL, &set);
	/* Two that cannot be blocked count as if they were. */
	sigaddset(&set, SIGKILL);
	sigaddset(&set, SIGSTOP);
	for (int sig = 1; sig < 32; sig++)
		trait->unblocked += !sigismember(&set, sig);
}

START_TEST(workers_are_named_and_block_signals)
{
	struct trait trait = { .unblocked = 0 };
	lend_pool *pool = pool_of(1);
	struct lend_exec exec = token_of(pool, 1);
	sigset_t before, after;

	pthread_sigmask(SIG_BLOCK, NULL, &before);
	ck_assert_int_eq(lend_exec_broadcast(&exec, record_trait, &trait), 0);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	ck_assert_str_eq(trait.name, "lend-worker");
	/* Those of its own faults: SEGV, BUS, FPE, ILL, TRAP, SYS. */
	ck_assert_int_eq(trait.unblocked, 6);
	for (int sig = 1; sig < 32; sig++)
		ck_assert_int_eq(sigismember(&before, sig),
				 sigismember(&after, sig));
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

START_TEST(destroy_refuses_while_work_runs_or_waits)
{
	struct hold held = { 0 };
	struct client running, waiting;
	atomic_int runs = 0;
	lend_pool *pool = pool_of(2);

	client_start(&running, pool, 2, hold, &held);
	await_inside(&held, 2);
	ck_assert_int_eq(lend_pool_destroy(pool), -EBUSY);
	client_start(&waiting, pool, 1, count_run, &runs);
	while (look(pool).gangs == 0)
		sched_yield();
	ck_assert_int_eq(lend_pool_destroy(pool), -EBUSY);
	/* Nothing changed: both still run to their end. */
	atomic_store(&held.open, true);
	client_end(&running);
	client_end(&waiting);
	ck_assert_int_eq(atomic_load(&runs), 1);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

struct destroyer {
	lend_pool *pool;
	atomic_int error;
};

static void
destroy_inside(size_t index, void *ctx)
{
	struct destroyer *destroyer = ctx;

	(void)index;
	atomic_store(&destroyer->error, lend_pool_destroy(destroyer->pool));
}

static void
destroy_in_job(size_t index, const struct lend_exec *child, void *ctx)
{
	(void)child;
	/* Only the calling thread's: a worker's answer is another one. */
	if (index == 0)
		destroy_inside(index, ctx);
}

START_TEST(destroy_refuses_a_worker)
{
	struct destroyer destroyer = { .pool = pool_of(1) };
	struct lend_exec exec = token_of(destroyer.pool, 1);

	ck_assert_int_eq(lend_exec_broadcast(&exec, destroy_inside,
					     &destroyer), 0);
	ck_assert_int_eq(atomic_load(&destroyer.error), -EDEADLK);
	ck_assert_int_eq(lend_pool_destroy(destroyer.pool), 0);
}
END_TEST

START_TEST(destroy_refuses_while_a_fork_runs)
{
	struct destroyer destroyer = { .pool = pool_of(2) };
	struct lend_exec exec = token_of(destroyer.pool, 2);
	struct hold held = { 0 };
	struct client busy;

	/* The workers are elsewhere: the jobs stay with the caller. */
	client_start(&busy, destroyer.pool, 2, hold, &held);
	await_inside(&held, 2);
	ck_assert_int_eq(lend_exec_fork(&exec, 2, destroy_in_job, &destroyer),
			 0);
	ck_assert_int_eq(atomic_load(&destroyer.error), -EBUSY);
	atomic_store(&held.open, true);
	client_end(&busy);
	ck_assert_int_eq(lend_pool_destroy(destroyer.pool), 0);
}
END_TEST

/* Broadcast. */

/* "budget distinct workers, all at the same time": they meet. */
START_TEST(broadcast_runs_on_distinct_workers_at_once)
{
	size_t budget = (size_t)_i;
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec exec = token_of(pool, budget);
	struct meeting meeting;

	meeting_start(&meeting, budget);
	ck_assert_int_eq(lend_exec_broadcast(&exec, meet, &meeting), 0);
	ck_assert_int_eq(atomic_load(&meeting.strays), 0);
	for (size_t i = 0; i < WIDTH; i++)
		ck_assert_int_eq(atomic_load(&meeting.runs[i]), i < budget);
	for (size_t i = 0; i < budget; i++) {
		/* A worker is no client. */
		ck_assert(!pthread_equal(meeting.who[i], pthread_self()));
		for (size_t j = 0; j < i; j++)
			ck_assert(!pthread_equal(meeting.who[i],
						 meeting.who[j]));
	}
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

static bool
same_threads(const struct meeting *a, const struct meeting *b, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			found += pthread_equal(a->who[i], b->who[j]) != 0;
	return found == count;
}

/* What was warmed on the workers is met again. */
START_TEST(broadcasts_of_one_client_meet_the_same_workers)
{
	struct meeting first, again, all;
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec two = token_of(pool, 2), four = token_of(pool, WIDTH);

	meeting_start(&first, 2);
	ck_assert_int_eq(lend_exec_broadcast(&two, meet, &first), 0);
	for (int i = 0; i < 50; i++) {
		meeting_start(&all, WIDTH);
		ck_assert_int_eq(lend_exec_broadcast(&four, meet, &all), 0);
		meeting_start(&again, 2);
		ck_assert_int_eq(lend_exec_broadcast(&two, meet, &again), 0);
		ck_assert(same_threads(&first, &again, 2));
	}
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

struct inner {
	struct lend_exec exec;
	atomic_int runs;
	atomic_int errors[WIDTH];
};

static void
broadcast_inside(size_t index, void *ctx)
{
	struct inner *inner = ctx;

	atomic_store(&inner->errors[index],
		     lend_exec_broadcast(&inner->exec, count_run,
					 &inner->runs));
}

/* "refuses and runs nothing: from a thread that is a worker of that pool" */
START_TEST(broadcast_refuses_a_worker_of_the_pool)
{
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec exec = token_of(pool, WIDTH);
	/* Even for one worker, of which three are idle. */
	struct inner inner = { .exec = token_of(pool, 1) };

	ck_assert_int_eq(lend_exec_broadcast(&exec, broadcast_inside, &inner),
			 0);
	for (size_t i = 0; i < WIDTH; i++)
		ck_assert_int_eq(atomic_load(&inner.errors[i]), -EDEADLK);
	ck_assert_int_eq(atomic_load(&inner.runs), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

START_TEST(broadcast_accepts_a_worker_of_another_pool)
{
	lend_pool *pool = pool_of(2), *other = pool_of(3);
	struct lend_exec exec = token_of(pool, 2);
	struct inner inner = { .exec = token_of(other, 3) };

	ck_assert_int_eq(lend_exec_broadcast(&exec, broadcast_inside, &inner),
			 0);
	ck_assert_int_eq(atomic_load(&inner.errors[0]), 0);
	ck_assert_int_eq(atomic_load(&inner.errors[1]), 0);
	ck_assert_int_eq(atomic_load(&inner.runs), 6);
	ck_assert_int_eq(lend_pool_destroy(other), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* Without threads a broadcast runs nothing, and fork runs on the caller. */
START_TEST(threads_that_cannot_start_are_reported)
{
	pthread_attr_t before;
	atomic_int runs = 0;
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec one = token_of(pool, 1);

	forbid_threads(&before);
	ck_assert_int_eq(lend_exec_broadcast(&one, count_run, &runs), -EAGAIN);
	ck_assert_int_eq(atomic_load(&runs), 0);
	ck_assert_int_eq(lend_exec_fork(&one, 5, count_job, &runs), 0);
	ck_assert_int_eq(atomic_load(&runs), 5);
	one = token_of(pool, WIDTH);
	ck_assert_int_eq(lend_exec_fork(&one, 5, count_job, &runs), 0);
	ck_assert_int_eq(atomic_load(&runs), 10);
	allow_threads(&before);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

START_TEST(threads_that_did_start_serve_smaller_budgets)
{
	pthread_attr_t before;
	atomic_int runs = 0;
	struct meeting meeting;
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec two = token_of(pool, 2), three = token_of(pool, 3);

	meeting_start(&meeting, 2);
	ck_assert_int_eq(lend_exec_broadcast(&two, meet, &meeting), 0);
	forbid_threads(&before);
	ck_assert_int_eq(lend_exec_broadcast(&three, count_run, &runs),
			 -EAGAIN);
	ck_assert_int_eq(atomic_load(&runs), 0);
	meeting_start(&meeting, 2);
	ck_assert_int_eq(lend_exec_broadcast(&two, meet, &meeting), 0);
	allow_threads(&before);
	meeting_start(&meeting, 3);
	ck_assert_int_eq(lend_exec_broadcast(&three, meet, &meeting), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

struct order {
	atomic_int next;
	atomic_int place[2];
};

/* The place of the first of many. */
static void
take_place_0(size_t index, void *ctx)
{
	struct order *order = ctx;
	int place = atomic_fetch_add(&order->next, 1), none = -1;

	(void)index;
	atomic_compare_exchange_strong(&order->place[0], &none, place);
}

static void
take_place_1(size_t index, void *ctx)
{
	struct order *order = ctx;

	(void)index;
	atomic_store(&order->place[1], atomic_fetch_add(&order->next, 1));
}

/* A large broadcast is not overtaken for ever by small ones. */
START_TEST(broadcasts_are_served_in_order)
{
	struct hold held = { 0 };
	struct order order = { .place = { -1, -1 } };
	struct client running, large, small;
	struct pool_view view;
	lend_pool *pool = pool_of(WIDTH);

	client_start(&running, pool, 1, hold, &held);
	await_inside(&held, 1);
	client_start(&large, pool, WIDTH, take_place_0, &order);
	while (look(pool).gangs < 1)
		sched_yield();
	client_start(&small, pool, 1, take_place_1, &order);
	while (look(pool).gangs < 2)
		sched_yield();
	/* Three are idle, and stay so for the large one. */
	do {
		view = look(pool);
		ck_assert(view.sound);
	} while (view.idle < WIDTH - 1);
	ck_assert_uint_eq(view.gangs, 2);
	atomic_store(&held.open, true);
	client_end(&running);
	client_end(&large);
	client_end(&small);
	ck_assert_int_ge(atomic_load(&order.place[0]), 0);
	ck_assert_int_lt(atomic_load(&order.place[0]),
			 atomic_load(&order.place[1]));
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* A caller that is cancelled stays until its workers are done. */
START_TEST(broadcast_is_no_cancellation_point)
{
	struct hold held = { 0 };
	struct client client;
	lend_pool *pool = pool_of(2);

	client_start(&client, pool, 2, hold, &held);
	await_inside(&held, 2);
	ck_assert_int_eq(pthread_cancel(client.thread), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), -EBUSY);
	atomic_store(&held.open, true);
	client_end(&client);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

static void
add_threads(TCase *tcase)
{
	tcase_add_test(tcase, create_refuses_bad_input);
	tcase_add_test(tcase, create_knows_its_width);
	tcase_add_test(tcase, create_reports_out_of_memory);
	tcase_add_test(tcase, threads_start_at_first_use);
	tcase_add_test(tcase, workers_are_named_and_block_signals);
	tcase_add_test(tcase, destroy_refuses_while_work_runs_or_waits);
	tcase_add_test(tcase, destroy_refuses_a_worker);
	tcase_add_test(tcase, destroy_refuses_while_a_fork_runs);
	tcase_add_test(tcase, threads_that_cannot_start_are_reported);
	tcase_add_test(tcase, threads_that_did_start_serve_smaller_budgets);
}

static void
add_broadcast(TCase *tcase)
{
	tcase_add_loop_test(tcase, broadcast_runs_on_distinct_workers_at_once,
			    1, WIDTH + 1);
	tcase_add_test(tcase, broadcasts_of_one_client_meet_the_same_workers);
	tcase_add_test(tcase, broadcast_refuses_a_worker_of_the_pool);
	tcase_add_test(tcase, broadcast_accepts_a_worker_of_another_pool);
	tcase_add_test(tcase, broadcasts_are_served_in_order);
	tcase_add_test(tcase, broadcast_is_no_cancellation_point);
}

int
main(void)
{
	Suite *suite = suite_create("pool");

	add_threads(suite_case(suite, "threads"));
	add_broadcast(suite_case(suite, "broadcast"));
	return suite_run(suite);
}
