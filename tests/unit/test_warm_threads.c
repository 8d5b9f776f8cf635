/* SPDX-License-Identifier: MIT */
/*
 * The pool by many threads: slots are conserved, threads come and go, and a
 * thread that is stopped in the middle of an operation stops nobody.
 */
#include <lend/warm.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/warm_crowd.h"
#include "support/warm_hook.h"
#include "support/warm_model.h"
#include "warm/root.h"

static lend_warm_pool *
make(size_t cap)
{
	lend_warm_pool *pool;

	ck_assert_int_eq(lend_warm_pool_create(&pool, cap), 0);
	return pool;
}

static void
end(lend_warm_pool *pool)
{
	ck_assert_int_eq(lend_warm_pool_destroy(pool), 0);
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}

struct setting {
	unsigned cap, ids, threads;
};

static const struct setting settings[] = {
	{ 2, 3, 8 }, { 1, 4, 4 }, { 8, 8, 8 }, { 2, 40, 8 }, { 64, 64, 4 },
	{ 2, 2, 16 }
};

START_TEST(slots_are_conserved)
{
	const struct setting *setting = &settings[_i];
	struct warm_crowd crowd = {
		.pool = make(setting->cap), .threads = setting->threads,
		.operations = scale(20000), .ids = setting->ids,
		.seed = (uint64_t)_i * 100,
	};
	const char *wrong = warm_crowd_run(&crowd);

	ck_assert_msg(!wrong, "%s", wrong);
	ck_assert_uint_gt(crowd.claims, 0);
	ck_assert_uint_gt(crowd.backs, 0);
	end(crowd.pool);
}
END_TEST

/* Records of threads that have ended are used again. */
START_TEST(threads_that_come_and_go_leave_nothing_behind)
{
	struct warm_crowd crowd = {
		.pool = make(2), .threads = 4, .operations = scale(400),
		.ids = 3,
	};

	for (crowd.seed = 0; crowd.seed < 100; crowd.seed++) {
		const char *wrong;

		crowd.claims = crowd.backs = crowd.rejected = 0;
		wrong = warm_crowd_run(&crowd);
		/* Its counts are of one run, the pool's of all. */
		ck_assert(crowd.seed > 0 || !wrong);
	}
	/* A record takes more than 5000 bytes. */
	ck_assert_uint_lt(fault_counts().pages_bytes, 20 * 5000);
	end(crowd.pool);
}
END_TEST

/* More pools than a thread finds at once. */
START_TEST(a_thread_may_use_many_pools)
{
	enum { POOLS = 12 };
	lend_warm_pool *pools[POOLS];
	static struct warm_model models[POOLS];
	uint64_t random = 5;
	unsigned slots = 0;

	for (unsigned i = 0; i < POOLS; i++) {
		pools[i] = make(2);
		warm_model_init(&models[i], 2, 5);
	}
	for (unsigned i = 0; i < scale(20000); i++) {
		unsigned k = random_below(&random, POOLS);
		struct warm_op op;

		warm_op_random(&op, &models[k], &random, &slots);
		ck_assert(warm_both(pools[k], &models[k], &op));
	}
	for (unsigned i = 0; i < POOLS; i++) {
		struct warm_op op = { .kind = WARM_DRAIN_ALL };

		ck_assert(warm_both(pools[i], &models[i], &op));
		ck_assert_int_eq(lend_warm_pool_destroy(pools[i]), 0);
	}
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}
END_TEST

/* A thread that is stopped. */

static struct {
	lend_warm_pool *pool;
	int step;
	_Atomic(bool) armed;
	sem_t parked, released;
	struct warm_op op;
} park;

static void
park_here(int step)
{
	if (step == park.step && exchange_acq_rel(&park.armed, false)) {
		sem_post(&park.parked);
		while (sem_wait(&park.released))
			;
	}
}

static void *
be_parked(void *arg)
{
	/* Pairs with the exchange in park_here(). */
	store_release(&park.armed, true);
	warm_pool_do(park.pool, &park.op);
	return arg;
}

/* What others do meanwhile: all of it returns. */
static unsigned
live_on(lend_warm_pool *pool)
{
	uint64_t random = 9;
	unsigned done = 0;

	for (; done < 2000; done++) {
		struct warm_op op = {
			.kind = (enum warm_kind)random_below(&random,
							     WARM_KINDS),
			.id = random_below(&random, 6),
			.arg = 1 + random_below(&random, 3),
		};

		warm_pool_do(pool, &op);
	}
	return done;
}

/* Something of everything that a value may hold. */
static void
prepare(lend_warm_pool *pool)
{
	static const struct warm_op ops[] = {
		{ .kind = WARM_BEGIN, .id = 5, .arg = 2 },
		{ .kind = WARM_BEGIN, .id = 4, .arg = 2 },
		{ .kind = WARM_BEGIN, .id = 3, .arg = 2 },
		{ .kind = WARM_BEGIN, .id = 2, .arg = 2 },
		{ .kind = WARM_BEGIN, .id = 1, .arg = 2 },
		{ .kind = WARM_BEGIN, .id = 0, .arg = 2 },
		{ .kind = WARM_OFFER, .id = 0, .arg = 1 },
	};

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct warm_op op = ops[i];

		warm_pool_do(pool, &op);
	}
}

static void
park_in(enum warm_kind kind, int step)
{
	struct warm_op drain = { .kind = WARM_DRAIN_ALL };
	pthread_t thread;

	park.pool = make(2);
	park.step = step;
	/* One that changes something, so that it comes to every step. */
	park.op = (struct warm_op) { .kind = kind, .arg = 5 };
	prepare(park.pool);
	sem_init(&park.parked, 0, 0);
	sem_init(&park.released, 0, 0);
	warm_hook = park_here;
	ck_assert_int_eq(pthread_create(&thread, NULL, be_parked, NULL), 0);
	while (sem_wait(&park.parked))
		;
	ck_assert_uint_eq(live_on(park.pool), 2000);
	sem_post(&park.released);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	warm_hook = NULL;
	warm_pool_do(park.pool, &drain);
	end(park.pool);
}

START_TEST(a_thread_stopped_anywhere_stops_nobody)
{
	/* The thread's first operation comes to every step. */
	for (int step = WARM_BEGUN; step <= WARM_INSTALLED; step++)
		park_in((enum warm_kind)_i, step);
}
END_TEST

#ifndef LEND_TSAN
/* fork(2): the child goes on with the pool as it was at one moment. */
static void
fork_while(size_t self, void *ctx)
{
	lend_warm_pool *pool = ctx;

	if (self > 0) {
		(void)live_on(pool);
		return;
	}
	for (int i = 0; i < 20; i++) {
		int status = -1;
		pid_t pid = fork();

		if (pid == 0) {
			struct warm_op drain = { .kind = WARM_DRAIN_ALL };

			(void)live_on(pool);
			warm_pool_do(pool, &drain);
			_exit(lend_warm_pool_destroy(pool) ? 1 : 0);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			abort();
	}
}

/*
 * A new thread of the child, at the place where the parked one was: what that
 * one had not done is not done, though its record may hold all of it.
 */
static void *
claim_what_is_ready(void *arg)
{
	struct warm_op claim = { .kind = WARM_CLAIM };
	bool gone = park.step == WARM_INSTALLED &&
		    (park.op.kind == WARM_CLAIM || park.op.kind == WARM_DRAIN ||
		     park.op.kind == WARM_DRAIN_ALL);

	warm_pool_do(park.pool, &claim);
	if ((claim.slot == 0) != gone)
		_exit(2);
	return arg;
}

static void
fork_beside(enum warm_kind kind, int step)
{
	struct warm_op drain = { .kind = WARM_DRAIN_ALL };
	int status = -1;
	pthread_t thread;
	pid_t pid;

	park.pool = make(2);
	park.step = step;
	park.op = (struct warm_op) { .kind = kind, .arg = 5 };
	prepare(park.pool);
	sem_init(&park.parked, 0, 0);
	sem_init(&park.released, 0, 0);
	warm_hook = park_here;
	ck_assert_int_eq(pthread_create(&thread, NULL, be_parked, NULL), 0);
	while (sem_wait(&park.parked))
		;
	pid = fork();
	if (pid == 0) {
		warm_hook = NULL;
		if (pthread_create(&thread, NULL, claim_what_is_ready,
				   NULL) || pthread_join(thread, NULL))
			_exit(3);
		(void)live_on(park.pool);
		warm_pool_do(park.pool, &drain);
		_exit(lend_warm_pool_destroy(park.pool) ? 1 : 0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_msg(status == 0, "step %d: status %#x", step, status);
	sem_post(&park.released);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	warm_hook = NULL;
	warm_pool_do(park.pool, &drain);
	end(park.pool);
}

START_TEST(a_child_forked_amid_an_operation_may_use_the_pool)
{
	for (int step = WARM_BEGUN; step <= WARM_INSTALLED; step++)
		fork_beside((enum warm_kind)_i, step);
}
END_TEST

START_TEST(a_child_of_fork_may_use_the_pool)
{
	struct warm_op drain = { .kind = WARM_DRAIN_ALL };
	lend_warm_pool *pool = make(2);

	crew_run(4, fork_while, pool);
	warm_pool_do(pool, &drain);
	end(pool);
}
END_TEST
#endif

int
main(void)
{
	Suite *suite = suite_create("warm_threads");
	TCase *tcase = watched_case(suite, "threads");

	tcase_add_loop_test(tcase, slots_are_conserved, 0,
			    sizeof(settings) / sizeof(settings[0]));
	tcase_add_test(tcase, threads_that_come_and_go_leave_nothing_behind);
	tcase_add_test(tcase, a_thread_may_use_many_pools);
	tcase_add_loop_test(tcase, a_thread_stopped_anywhere_stops_nobody, 0,
			    WARM_KINDS);
	/* Threads beside a fork are what the detector does not follow. */
#ifndef LEND_TSAN
	tcase_add_test(tcase, a_child_of_fork_may_use_the_pool);
	tcase_add_loop_test(tcase,
			    a_child_forked_amid_an_operation_may_use_the_pool,
			    0, WARM_KINDS);
#endif
	return suite_run(suite);
}
