/* SPDX-License-Identifier: MIT */
/*
 * The pool and fork(2).  In a child nothing is asserted: its exit status
 * tells.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lend/exec.h"
#include "support/process.h"
#include "support/suite.h"
#include "support/workers.h"

/*
 * ThreadSanitizer's runtime does not support threads in the child of a
 * process that had some.
 */
#if defined(__SANITIZE_THREAD__)
#define CHILD_THREADS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define CHILD_THREADS 0
#endif
#endif
#ifndef CHILD_THREADS
#define CHILD_THREADS 1
#endif

/*
 * AddressSanitizer (seen with gcc 12's) does not guard its allocator's locks
 * at a fork, and a thread takes them while it starts, before it comes to its
 * function.  In a child forked while another thread held one, every new
 * thread waits for ever in __asan::AsanThread::ThreadStart, for a lock of
 * __sanitizer::SizeClassAllocator64.  So under it no fork here meets a thread
 * that starts.
 */
#if defined(__SANITIZE_ADDRESS__)
#define FORK_AMID_STARTS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FORK_AMID_STARTS 0
#endif
#endif
#ifndef FORK_AMID_STARTS
#define FORK_AMID_STARTS 1
#endif

#define CHILD_PATIENCE 60

static int
child_status(pid_t child)
{
	int status = 0;

	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* In a child.  0: the pool serves in this process. */
static int
try_pool(void *pool)
{
	struct meeting meeting;
	atomic_int runs = 0;
	struct lend_exec exec;

	alarm(CHILD_PATIENCE);
	if (lend_exec_on_pool(&exec, pool, WIDTH))
		return 1;
	meeting_start(&meeting, WIDTH);
	if (lend_exec_broadcast(&exec, meet, &meeting))
		return 2;
	for (size_t i = 0; i < WIDTH; i++)
		if (atomic_load(&meeting.runs[i]) != 1)
			return 3;
	if (lend_exec_fork(&exec, 9, count_job, &runs) ||
	    atomic_load(&runs) != 9)
		return 4;
	return lend_pool_destroy(pool) ? 5 : 0;
}

/* The child starts the pool's threads anew; the parent's live on. */
START_TEST(a_forked_child_can_use_the_pool)
{
	struct meeting meeting;
	lend_pool *pool = pool_of(WIDTH), *gone = pool_of(1);
	struct lend_exec exec = token_of(pool, WIDTH);

	ck_assert_int_eq(lend_pool_destroy(gone), 0);
	meeting_start(&meeting, WIDTH);
	ck_assert_int_eq(lend_exec_broadcast(&exec, meet, &meeting), 0);
	ck_assert_int_eq(process_child(try_pool, pool), 0);
	meeting_start(&meeting, WIDTH);
	ck_assert_int_eq(lend_exec_broadcast(&exec, meet, &meeting), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

struct load {
	struct lend_exec exec;
	atomic_bool started;	/* its thread, and all of the pool's */
	atomic_bool stop;
	int errors;
};

static void
do_nothing(size_t index, void *ctx)
{
	(void)index;
	(void)ctx;
}

static void *
load_main(void *arg)
{
	struct load *load = arg;

	while (!atomic_load(&load->stop)) {
		load->errors += lend_exec_broadcast(&load->exec, do_nothing,
						    NULL) != 0;
		atomic_store(&load->started, true);
	}
	return NULL;
}

/* However busy it was, and whoever held its locks, at that moment. */
START_TEST(a_child_forked_under_load_can_use_the_pool)
{
	lend_pool *pool = pool_of(WIDTH);
	struct load load = { .exec = token_of(pool, WIDTH) };
	struct client busy;
	struct hold held = { 0 };
	pthread_t thread;
	int bad = 0;

	ck_assert_int_eq(pthread_create(&thread, NULL, load_main, &load), 0);
	while (!FORK_AMID_STARTS && !atomic_load(&load.started))
		sched_yield();
	for (int i = 0; i < 40; i++)
		bad += process_child(try_pool, pool) != 0;
	atomic_store(&load.stop, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(load.errors, 0);
	ck_assert_int_eq(bad, 0);
	/* All of them running, for sure. */
	client_start(&busy, pool, WIDTH, hold, &held);
	await_inside(&held, WIDTH);
	ck_assert_int_eq(process_child(try_pool, pool), 0);
	atomic_store(&held.open, true);
	client_end(&busy);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

struct parting {
	pthread_t caller;
	pthread_barrier_t barrier;
	bool in_child;
	pid_t child;
};

static void
part_in_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct parting *parting = ctx;

	(void)index;
	(void)child;
	if (parting->in_child)
		return;
	/* Both jobs run: one of them on a worker that the child lacks. */
	pthread_barrier_wait(&parting->barrier);
	if (pthread_equal(pthread_self(), parting->caller)) {
		parting->child = fork();
		if (parting->child == 0) {
			parting->in_child = true;
			alarm(CHILD_PATIENCE);
			return;
		}
	}
	pthread_barrier_wait(&parting->barrier);
}

/* In the child the fork's caller does not wait for helpers it has not. */
START_TEST(a_job_that_forks_ends_in_the_child_too)
{
	struct parting parting = { .caller = pthread_self() };
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec exec = token_of(pool, 2);
	int error;

	pthread_barrier_init(&parting.barrier, NULL, 2);
	error = lend_exec_fork(&exec, 2, part_in_job, &parting);
	if (parting.in_child)
		_exit(error ? 9 : CHILD_THREADS ? try_pool(pool) : 0);
	ck_assert_int_eq(error, 0);
	ck_assert_int_eq(child_status(parting.child), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

struct queued {
	lend_pool *pool;
	struct lend_exec exec;
	struct hold held;	/* the other client's jobs */
	bool in_child;
	pid_t child;
};

static void
hold_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct queued *queued = ctx;

	(void)child;
	hold(index, &queued->held);
}

static void *
queue_main(void *arg)
{
	struct queued *queued = arg;

	return lend_exec_fork(&queued->exec, 2, hold_job, queued) ? arg : NULL;
}

static void
part_when_queued(size_t index, const struct lend_exec *child, void *ctx)
{
	struct queued *queued = ctx;
	pthread_t thread;

	(void)child;
	if (index != 0)
		return;
	/* Another offer behind that of this job's fork. */
	if (pthread_create(&thread, NULL, queue_main, queued))
		return;
	await_inside(&queued->held, 1);
	queued->child = fork();
	if (queued->child == 0) {
		queued->in_child = true;
		alarm(CHILD_PATIENCE);
		return;
	}
	atomic_store(&queued->held.open, true);
	pthread_join(thread, NULL);
}

/* In the child no offer is left, and none is taken out of the new queue. */
START_TEST(a_job_that_forks_leaves_no_offers_to_the_child)
{
	struct hold held = { 0 };
	struct client busy;
	struct queued queued = { .pool = pool_of(WIDTH) };

	queued.exec = token_of(queued.pool, 2);
	client_start(&busy, queued.pool, WIDTH, hold, &held);
	await_inside(&held, WIDTH);
	ck_assert_int_eq(lend_exec_fork(&queued.exec, 2, part_when_queued,
					&queued), 0);
	if (queued.in_child)
		_exit(look(queued.pool).offers ? 9 :
		      CHILD_THREADS ? try_pool(queued.pool) : 0);
	ck_assert_int_gt(queued.child, 0);
	ck_assert_int_eq(child_status(queued.child), 0);
	atomic_store(&held.open, true);
	client_end(&busy);
	ck_assert_int_eq(lend_pool_destroy(queued.pool), 0);
}
END_TEST

struct worker_parting {
	struct lend_exec exec;
	pid_t child;
	int error;
};

static void
exit_with_error(void *arg)
{
	struct worker_parting *parting = arg;

	_exit(parting->error == -EDEADLK ? 0 : 1);
}

static void
part_in_worker(size_t index, void *ctx)
{
	struct worker_parting *parting = ctx;
	atomic_int runs = 0;
	pthread_key_t key;

	(void)index;
	parting->child = fork();
	if (parting->child != 0)
		return;
	alarm(CHILD_PATIENCE);
	parting->error = lend_exec_broadcast(&parting->exec, count_run, &runs);
	/* The thread ends when it comes back to the pool: so says the key. */
	if (pthread_key_create(&key, exit_with_error) ||
	    pthread_setspecific(key, parting))
		_exit(8);
}

/* In the child of a worker that worker is no loose thread: it ends. */
START_TEST(a_worker_that_forks_ends_in_the_child)
{
	lend_pool *pool = pool_of(2);
	struct worker_parting parting = { .exec = token_of(pool, 2) };
	struct lend_exec one = token_of(pool, 1);

	ck_assert_int_eq(lend_exec_broadcast(&one, part_in_worker, &parting),
			 0);
	ck_assert_int_eq(child_status(parting.child), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

static void
add_child(TCase *tcase)
{
	tcase_add_test(tcase, a_job_that_forks_ends_in_the_child_too);
	tcase_add_test(tcase, a_job_that_forks_leaves_no_offers_to_the_child);
	tcase_add_test(tcase, a_worker_that_forks_ends_in_the_child);
	if (!CHILD_THREADS)
		return;
	tcase_add_test(tcase, a_forked_child_can_use_the_pool);
	tcase_add_test(tcase, a_child_forked_under_load_can_use_the_pool);
}

int
main(void)
{
	Suite *suite = suite_create("pool_child");

	add_child(suite_case(suite, "child"));
	return suite_run(suite);
}
