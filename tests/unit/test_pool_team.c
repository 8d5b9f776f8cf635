/* SPDX-License-Identifier: MIT */
/*
 * The pool's teams: the caller and workers where those are idle.
 *
 * Threads other than the main one record what they see; the main thread
 * asserts.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* default attributes */
#endif
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exec/pool.h"
#include "lend/exec.h"
#include "support/suite.h"
#include "support/workers.h"

/* They meet; index 0 is the caller, the others are workers. */
START_TEST(a_team_is_the_caller_and_workers)
{
	size_t budget = (size_t)_i;
	lend_pool *pool = pool_at_rest(WIDTH);
	struct lend_exec exec = token_of(pool, budget);
	struct meeting meeting;

	meeting_start(&meeting, budget);
	ck_assert_int_eq(lend_exec_team(&exec, meet, &meeting), 0);
	ck_assert_int_eq(atomic_load(&meeting.strays), 0);
	for (size_t i = 0; i < WIDTH; i++)
		ck_assert_int_eq(atomic_load(&meeting.runs[i]), i < budget);
	for (size_t i = 0; i < budget; i++) {
		ck_assert_int_eq(pthread_equal(meeting.who[i],
					       pthread_self()) != 0, i == 0);
		for (size_t j = 0; j < i; j++)
			ck_assert(!pthread_equal(meeting.who[i],
						 meeting.who[j]));
	}
	ck_assert_uint_eq(look(pool).idle, WIDTH);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* What a broadcast has warmed on the workers is met again. */
START_TEST(a_team_has_the_workers_of_a_broadcast)
{
	struct lend_exec four, three;
	struct meeting meeting, team;
	lend_pool *pool = pool_at_rest(WIDTH);
	size_t found;

	four = token_of(pool, WIDTH);
	three = token_of(pool, WIDTH - 1);
	for (int round = 0; round < 50; round++) {
		meeting_start(&meeting, WIDTH - 1);
		ck_assert_int_eq(lend_exec_broadcast(&three, meet, &meeting),
				 0);
		meeting_start(&team, WIDTH);
		ck_assert_int_eq(lend_exec_team(&four, meet, &team), 0);
		found = 0;
		for (size_t i = 1; i < WIDTH; i++)
			for (size_t j = 0; j < WIDTH - 1; j++)
				found += pthread_equal(team.who[i],
						       meeting.who[j]) != 0;
		ck_assert_uint_eq(found, WIDTH - 1);
	}
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* What calls from inside of a team's function say, by index. */
struct inside {
	struct lend_exec exec, other;
	atomic_int runs;
	int broadcast[WIDTH], team[WIDTH], destroy[WIDTH];
	int fork[WIDTH];
};

static void
call_all(struct inside *inside, size_t i)
{
	inside->broadcast[i] = lend_exec_broadcast(&inside->exec, count_run,
						   &inside->runs);
	inside->team[i] = lend_exec_team(&inside->exec, count_run,
					 &inside->runs);
	inside->destroy[i] = lend_pool_destroy(inside->exec.pool);
}

static void
call_inside(size_t index, void *ctx)
{
	struct inside *inside = ctx;

	call_all(inside, index);
	inside->fork[index] = lend_exec_fork(&inside->exec, 1, count_job,
					     &inside->runs);
}

static void
assert_all_refused(const struct inside *inside, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		ck_assert_int_eq(inside->broadcast[i], -EDEADLK);
		ck_assert_int_eq(inside->team[i], -EDEADLK);
		ck_assert_int_eq(inside->destroy[i], -EDEADLK);
	}
}

/* Threads are idle as soon as there are any: nothing is left to chance. */
START_TEST(the_first_team_has_its_caller)
{
	for (int i = 0; i < 50; i++) {
		lend_pool *pool = pool_of(WIDTH);
		struct lend_exec exec = token_of(pool, WIDTH);
		struct meeting meeting;

		meeting_start(&meeting, WIDTH);
		ck_assert_int_eq(lend_exec_team(&exec, meet, &meeting), 0);
		ck_assert(pthread_equal(meeting.who[0], pthread_self()));
		ck_assert_uint_eq(look(pool).idle, WIDTH);
		ck_assert_int_eq(lend_pool_destroy(pool), 0);
	}
}
END_TEST

/* "counts as a worker of the pool meanwhile", and not any longer. */
START_TEST(the_caller_is_a_worker_meanwhile)
{
	lend_pool *pool = pool_at_rest(WIDTH);
	struct inside inside = { .exec = token_of(pool, 3) };

	for (int round = 1; round <= 3; round++) {
		ck_assert_int_eq(lend_exec_team(&inside.exec, call_inside,
						&inside), 0);
		assert_all_refused(&inside, 3);
		for (size_t i = 0; i < 3; i++)
			ck_assert_int_eq(inside.fork[i], 0);
		ck_assert_int_eq(atomic_load(&inside.runs), 3);
		ck_assert_int_eq(lend_exec_broadcast(&inside.exec, count_run,
						     &inside.runs), 0);
		ck_assert_int_eq(atomic_load(&inside.runs), 6);
		atomic_store(&inside.runs, 0);
	}
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

static void
call_first(size_t index, void *ctx)
{
	if (index == 0)
		call_all(ctx, 0);
}

static void
call_through_other(size_t index, void *ctx)
{
	struct inside *inside = ctx;

	if (index == 0)
		inside->fork[0] = lend_exec_team(&inside->other, call_first,
						 inside);
}

/* In a team of another pool it is still one of the first one's. */
START_TEST(teams_of_two_pools_nest)
{
	lend_pool *pool = pool_at_rest(2), *other = pool_at_rest(2);
	struct inside inside = { .exec = token_of(pool, 2),
				 .other = token_of(other, 2) };

	inside.fork[0] = -1;
	ck_assert_int_eq(lend_exec_team(&inside.exec, call_through_other,
					&inside), 0);
	ck_assert_int_eq(inside.fork[0], 0);
	assert_all_refused(&inside, 1);
	/* The same from a worker, not only a team's caller. */
	memset(inside.broadcast, 0, sizeof(inside.broadcast));
	ck_assert_int_eq(lend_exec_broadcast(&inside.exec, call_through_other,
					     &inside), 0);
	assert_all_refused(&inside, 1);
	ck_assert_int_eq(atomic_load(&inside.runs), 0);
	ck_assert_int_eq(lend_pool_destroy(other), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* As for broadcasts: no address space holds the stack that each would get. */
START_TEST(threads_that_cannot_start_are_reported)
{
	pthread_attr_t before, huge;
	atomic_int runs = 0;
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec one = token_of(pool, 1), two = token_of(pool, 2);

	ck_assert_int_eq(pthread_getattr_default_np(&before), 0);
	ck_assert_int_eq(pthread_attr_init(&huge), 0);
	ck_assert_int_eq(pthread_attr_setstacksize(&huge, (size_t)1 << 50), 0);
	ck_assert_int_eq(pthread_setattr_default_np(&huge), 0);
	ck_assert_int_eq(lend_exec_team(&two, count_run, &runs), -EAGAIN);
	ck_assert_int_eq(atomic_load(&runs), 0);
	ck_assert_int_eq(lend_exec_team(&one, count_run, &runs), 0);
	ck_assert_int_eq(atomic_load(&runs), 1);
	ck_assert_int_eq(pthread_setattr_default_np(&before), 0);
	ck_assert_int_eq(lend_exec_team(&two, count_run, &runs), 0);
	ck_assert_int_eq(atomic_load(&runs), 3);
	pthread_attr_destroy(&huge);
	pthread_attr_destroy(&before);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* A client on a thread of its own, whose team is held. */
struct leader {
	struct lend_exec exec;
	struct hold held;
	pthread_t self;
	atomic_bool takes_part;
	atomic_bool returned;
	int error;
};

static void
hold_team(size_t index, void *ctx)
{
	struct leader *leader = ctx;

	if (pthread_equal(leader->self, pthread_self()))
		atomic_store(&leader->takes_part, true);
	hold(index, &leader->held);
	pthread_testcancel();
}

static void *
lead(void *arg)
{
	struct leader *leader = arg;

	leader->self = pthread_self();
	leader->error = lend_exec_team(&leader->exec, hold_team, leader);
	atomic_store(&leader->returned, true);
	return NULL;
}

/* A caller that is cancelled stays until its workers are done. */
START_TEST(a_team_is_no_cancellation_point)
{
	lend_pool *pool = pool_at_rest(2);
	struct leader leader = { .exec = token_of(pool, 2), .error = -1 };
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, lead, &leader), 0);
	await_inside(&leader.held, 2);
	ck_assert(atomic_load(&leader.takes_part));
	ck_assert_int_eq(pthread_cancel(thread), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), -EBUSY);
	atomic_store(&leader.held.open, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(atomic_load(&leader.returned));
	ck_assert_int_eq(leader.error, 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

static void
leader_start(struct leader *leader, pthread_t *thread, lend_pool *pool)
{
	memset(leader, 0, sizeof(*leader));
	leader->exec = token_of(pool, 2);
	leader->error = -1;
	ck_assert_int_eq(pthread_create(thread, NULL, lead, leader), 0);
}

static void
leader_end(struct leader *leader, pthread_t thread)
{
	atomic_store(&leader->held.open, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(atomic_load(&leader->held.inside), 2);
	ck_assert_int_eq(leader->error, 0);
}

static void
await_gangs(lend_pool *pool, size_t gangs)
{
	while (look(pool).gangs != gangs)
		sched_yield();
}

/* Workers that come to a work are not asleep, and the caller would be. */
START_TEST(a_team_that_cannot_go_is_of_workers)
{
	struct hold held = { 0 };
	struct client busy;
	lend_pool *pool = pool_at_rest(2);
	struct leader leader;
	pthread_t thread;

	client_start(&busy, pool, 2, hold, &held);
	await_inside(&held, 2);
	leader_start(&leader, &thread, pool);
	await_gangs(pool, 1);
	ck_assert_int_eq(atomic_load(&leader.held.inside), 0);
	atomic_store(&held.open, true);
	client_end(&busy);
	leader_end(&leader, thread);
	ck_assert(!atomic_load(&leader.takes_part));
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* Two threads of two seats work; a worker that sleeps is none too many. */
START_TEST(no_more_work_than_there_are_seats)
{
	lend_pool *pool = pool_at_rest(2);
	struct leader first, second;
	pthread_t threads[2];

	leader_start(&first, &threads[0], pool);
	await_inside(&first.held, 2);
	ck_assert(atomic_load(&first.takes_part));
	leader_start(&second, &threads[1], pool);
	await_gangs(pool, 1);
	ck_assert_uint_eq(look(pool).idle, 1);
	ck_assert(look(pool).sound);
	ck_assert_int_eq(atomic_load(&second.held.inside), 0);
	leader_end(&first, threads[0]);
	leader_end(&second, threads[1]);
	ck_assert(!atomic_load(&second.takes_part));
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* Many clients: each calls for teams of all sizes, which meet. */

#define CLIENTS 6
#define ROUNDS 150

struct crowd {
	lend_pool *pool;
	atomic_int runs, errors;
};

struct party {
	struct crowd *crowd;
	pthread_barrier_t barrier;
};

static void
meet_party(size_t index, void *ctx)
{
	struct party *party = ctx;

	(void)index;
	atomic_fetch_add(&party->crowd->runs, 1);
	pthread_barrier_wait(&party->barrier);
}

static void *
crowd_main(void *arg)
{
	struct crowd *crowd = arg;

	for (size_t i = 0; i < ROUNDS; i++) {
		struct party party = { .crowd = crowd };
		size_t budget = 1 + i % WIDTH;
		struct lend_exec exec;
		int error = lend_exec_on_pool(&exec, crowd->pool, budget);

		pthread_barrier_init(&party.barrier, NULL, (unsigned)budget);
		if (error)
			atomic_fetch_add(&crowd->errors, 1);
		else if (i % 5 == 4 ?
			 lend_exec_broadcast(&exec, meet_party, &party) :
			 lend_exec_team(&exec, meet_party, &party))
			atomic_fetch_add(&crowd->errors, 1);
		pthread_barrier_destroy(&party.barrier);
	}
	return NULL;
}

START_TEST(teams_of_many_clients_do_not_deadlock)
{
	struct crowd crowd = { .pool = pool_of(WIDTH) };
	pthread_t thread[CLIENTS];
	int expected = 0;

	for (int i = 0; i < ROUNDS; i++)
		expected += CLIENTS * (1 + i % WIDTH);
	for (int i = 0; i < CLIENTS; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, crowd_main,
						&crowd), 0);
	for (int i = 0; i < CLIENTS; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	ck_assert_int_eq(atomic_load(&crowd.errors), 0);
	ck_assert_int_eq(atomic_load(&crowd.runs), expected);
	ck_assert(look(crowd.pool).sound);
	ck_assert_int_eq(lend_pool_destroy(crowd.pool), 0);
}
END_TEST

/* fork(2) in a team's function. */

#define CHILD_PATIENCE 60

struct parting {
	struct lend_exec exec;
	pthread_barrier_t barrier;
	pid_t child;
};

static void
part(size_t index, void *ctx)
{
	struct parting *parting = ctx;

	/* Both run, so that the child lacks the worker in the midst of it. */
	pthread_barrier_wait(&parting->barrier);
	if (index == 0) {
		parting->child = fork();
		if (parting->child == 0) {
			alarm(CHILD_PATIENCE);
			return;
		}
	}
	pthread_barrier_wait(&parting->barrier);
}

/* In the child the team's caller does not wait for workers it has not. */
/* In the child the pool has no threads, and may have others. */
static bool
is_as_new(lend_pool *pool)
{
	struct lend_exec exec = token_of(pool, 2);
	atomic_int runs = 0;

	if (look(pool).started)
		return false;
#ifdef LEND_TSAN
	/* It ends a child that starts threads. */
	return true;
#endif
	return lend_exec_team(&exec, count_run, &runs) == 0 &&
	       atomic_load(&runs) == 2 && look(pool).sound &&
	       look(pool).idle == 2;
}

START_TEST(a_team_that_forks_ends_in_the_child_too)
{
	lend_pool *pool = pool_at_rest(2);
	struct parting parting = { .exec = token_of(pool, 2) };
	int error, status = -1;

	pthread_barrier_init(&parting.barrier, NULL, 2);
	error = lend_exec_team(&parting.exec, part, &parting);
	if (parting.child == 0)
		_exit(error || !is_as_new(pool) || lend_pool_destroy(pool));
	ck_assert_int_eq(error, 0);
	ck_assert_int_eq(waitpid(parting.child, &status, 0), parting.child);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("pool_team");
	TCase *tcase = suite_case(suite, "team");

	tcase_add_loop_test(tcase, a_team_is_the_caller_and_workers, 1,
			    WIDTH + 1);
	tcase_add_test(tcase, a_team_has_the_workers_of_a_broadcast);
	tcase_add_test(tcase, the_caller_is_a_worker_meanwhile);
	tcase_add_test(tcase, teams_of_two_pools_nest);
	tcase_add_test(tcase, threads_that_cannot_start_are_reported);
	tcase_add_test(tcase, the_first_team_has_its_caller);
	tcase_add_test(tcase, a_team_is_no_cancellation_point);
	tcase_add_test(tcase, a_team_that_cannot_go_is_of_workers);
	tcase_add_test(tcase, no_more_work_than_there_are_seats);
	tcase_add_test(tcase, teams_of_many_clients_do_not_deadlock);
	tcase_add_test(tcase, a_team_that_forks_ends_in_the_child_too);
	return suite_run(suite);
}
