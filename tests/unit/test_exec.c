/* SPDX-License-Identifier: MIT */
/*
 * Tokens: serial, of a pool, of a host's threads; and their broadcasts.  What
 * is said of a token is tried on all three kinds where it holds for all.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "lend/exec.h"
#include "support/suite.h"
#include "support/tokens.h"
#include "support/workers.h"

/* Tokens. */

/* "1 .. the pool's width; a larger wish is clamped" */
START_TEST(budget_is_clamped_to_the_width)
{
	struct lend_exec exec;

	for (size_t budget = 1; budget <= 2 * WIDTH; budget++) {
		size_t clamped = budget < WIDTH ? budget : WIDTH;

		exec = token(POOL, budget);
		ck_assert_uint_eq(lend_exec_budget(&exec), clamped);
		exec = token(HOST, budget);
		ck_assert_uint_eq(lend_exec_budget(&exec), clamped);
	}
	exec = token(POOL, SIZE_MAX);
	ck_assert_uint_eq(lend_exec_budget(&exec), WIDTH);
	exec = token(HOST, SIZE_MAX);
	ck_assert_uint_eq(lend_exec_budget(&exec), WIDTH);
	exec = token(SERIAL, 0);
	ck_assert_uint_eq(lend_exec_budget(&exec), 1);
}
END_TEST

/* "zero is an error" */
START_TEST(bad_tokens_are_refused)
{
	struct lend_exec exec;

	memset(&exec, 0xff, sizeof(exec));
	ck_assert_int_eq(lend_exec_on_pool(&exec, tokens_pool, 0), -EINVAL);
	ck_assert_int_eq(lend_exec_on_pool(&exec, NULL, 1), -EINVAL);
	ck_assert_int_eq(lend_exec_on_pool(NULL, tokens_pool, 1), -EINVAL);
	ck_assert_int_eq(lend_exec_on_host(&exec, &threads_host, 0), -EINVAL);
	ck_assert_int_eq(lend_exec_on_host(&exec, NULL, 1), -EINVAL);
	ck_assert_int_eq(lend_exec_on_host(NULL, &threads_host, 1), -EINVAL);
	/* Nothing was written. */
	ck_assert_uint_eq(exec.budget, SIZE_MAX);
}
END_TEST

/* Never more than what it is made of, and of the same kind. */
START_TEST(a_token_is_narrowed)
{
	struct lend_exec exec = token(_i, WIDTH), narrow;
	size_t budget = lend_exec_budget(&exec);

	for (size_t wish = 1; wish <= 2 * WIDTH; wish++) {
		ck_assert_int_eq(lend_exec_narrow(&exec, wish, &narrow), 0);
		ck_assert_uint_eq(lend_exec_budget(&narrow),
				  wish < budget ? wish : budget);
		ck_assert_ptr_eq(narrow.pool, exec.pool);
		ck_assert_ptr_eq(narrow.host, exec.host);
	}
	memset(&narrow, 0xff, sizeof(narrow));
	ck_assert_int_eq(lend_exec_narrow(&exec, 0, &narrow), -EINVAL);
	ck_assert_int_eq(lend_exec_narrow(NULL, 1, &narrow), -EINVAL);
	ck_assert_int_eq(lend_exec_narrow(&exec, 1, NULL), -EINVAL);
	ck_assert_uint_eq(narrow.budget, SIZE_MAX);
}
END_TEST

START_TEST(bad_host_tables_are_refused)
{
	struct lend_exec_host bad[8];
	struct lend_exec exec;

	for (size_t i = 0; i < 8; i++)
		bad[i] = threads_host;
	bad[0].size = 0;
	bad[1].size--;
	bad[2].size++;
	bad[3].width = NULL;
	bad[4].broadcast = NULL;
	bad[5].parallel = NULL;
	bad[6].is_worker = NULL;
	for (size_t i = 0; i < 7; i++)
		ck_assert_int_eq(lend_exec_on_host(&exec, &bad[i], 1), -EINVAL);
	ck_assert_int_eq(lend_exec_on_host(&exec, &bad[7], 1), 0);
	/* A host for which no budget makes sense. */
	threads.width = 0;
	ck_assert_int_eq(lend_exec_on_host(&exec, &threads_host, 1), -EINVAL);
}
END_TEST

START_TEST(null_arguments_are_refused)
{
	struct lend_exec exec = token((enum kind)_i, WIDTH);
	atomic_int runs = 0;

	ck_assert_int_eq(lend_exec_broadcast(NULL, count_run, &runs), -EINVAL);
	ck_assert_int_eq(lend_exec_broadcast(&exec, NULL, &runs), -EINVAL);
	ck_assert_int_eq(lend_exec_team(NULL, count_run, &runs), -EINVAL);
	ck_assert_int_eq(lend_exec_team(&exec, NULL, &runs), -EINVAL);
	ck_assert_int_eq(lend_exec_fork(NULL, 1, count_job, &runs), -EINVAL);
	ck_assert_int_eq(lend_exec_fork(&exec, 1, NULL, &runs), -EINVAL);
	ck_assert_int_eq(lend_exec_for_ranges(NULL, 1, 1, count_range, &runs),
			 -EINVAL);
	ck_assert_int_eq(lend_exec_for_ranges(&exec, 1, 0, count_range, &runs),
			 -EINVAL);
	ck_assert_int_eq(lend_exec_for_ranges(&exec, 1, 1, NULL, &runs),
			 -EINVAL);
	ck_assert_int_eq(atomic_load(&runs), 0);
}
END_TEST

/* A token that nobody made is bad input, not a budget of none. */
START_TEST(unmade_tokens_are_refused)
{
	struct lend_exec exec;
	atomic_int runs = 0;

	memset(&exec, 0, sizeof(exec));
	ck_assert_int_eq(lend_exec_broadcast(&exec, count_run, &runs),
			 -EINVAL);
	ck_assert_int_eq(lend_exec_team(&exec, count_run, &runs), -EINVAL);
	ck_assert_int_eq(lend_exec_fork(&exec, 1, count_job, &runs), -EINVAL);
	ck_assert_int_eq(lend_exec_for_ranges(&exec, 1, 1, count_range, &runs),
			 -EINVAL);
	ck_assert_int_eq(atomic_load(&runs), 0);
}
END_TEST

/* Broadcast. */

typedef int gang_fn(const struct lend_exec *exec, lend_exec_fn *fn, void *ctx);

/* With every budget, all of a gang run at the same time. */
static void
all_meet(enum kind kind, gang_fn *gang)
{
	for (size_t wish = 1; wish <= WIDTH; wish++) {
		struct lend_exec exec = token(kind, wish);
		size_t budget = lend_exec_budget(&exec);
		struct meeting meeting;

		meeting_start(&meeting, budget);
		ck_assert_int_eq(gang(&exec, meet, &meeting), 0);
		ck_assert_int_eq(atomic_load(&meeting.strays), 0);
		for (size_t i = 0; i < WIDTH; i++)
			ck_assert_int_eq(atomic_load(&meeting.runs[i]),
					 i < budget);
		if (kind == SERIAL)
			ck_assert(pthread_equal(meeting.who[0],
						pthread_self()));
	}
	ck_assert_int_eq(atomic_load(&threads.broadcasts),
			 kind == HOST ? WIDTH : 0);
}

/* "once on each of budget distinct workers, all at the same time" */
START_TEST(broadcast_meets)
{
	all_meet((enum kind)_i, lend_exec_broadcast);
}
END_TEST

/* A team is a broadcast but for who may be in it. */
START_TEST(a_team_meets)
{
	all_meet((enum kind)_i, lend_exec_team);
}
END_TEST

/* "or refuses and runs nothing", with the host's own reason. */
START_TEST(broadcast_hands_on_the_refusal_of_a_host)
{
	struct lend_exec exec = token(HOST, WIDTH);
	atomic_int runs = 0;

	threads.refusal = -EAGAIN;
	ck_assert_int_eq(lend_exec_broadcast(&exec, count_run, &runs),
			 -EAGAIN);
	ck_assert_int_eq(lend_exec_team(&exec, count_run, &runs), -EAGAIN);
	ck_assert_int_eq(atomic_load(&runs), 0);
}
END_TEST

struct inner {
	struct lend_exec exec;
	atomic_int runs;
	atomic_int error;
};

static void
broadcast_inside(size_t index, void *ctx)
{
	struct inner *inner = ctx;

	(void)index;
	atomic_store(&inner->error, lend_exec_broadcast(&inner->exec,
							count_run,
							&inner->runs));
}

/* "from a thread that is a worker", as the host tells. */
START_TEST(broadcast_refuses_a_worker)
{
	struct inner inner = { .exec = token((enum kind)_i, 2) };
	struct lend_exec one = token((enum kind)_i, 1);

	ck_assert_int_eq(lend_exec_broadcast(&one, broadcast_inside, &inner),
			 0);
	ck_assert_int_eq(atomic_load(&inner.error), -EDEADLK);
	ck_assert_int_eq(atomic_load(&inner.runs), 0);
	/* It is the thread that counts, not the token. */
	inner.exec = token(SERIAL, 1);
	ck_assert_int_eq(lend_exec_broadcast(&one, broadcast_inside, &inner),
			 0);
	ck_assert_int_eq(atomic_load(&inner.error), 0);
	ck_assert_int_eq(atomic_load(&inner.runs), 1);
}
END_TEST

struct forked {
	atomic_int runs;
	atomic_int jobs;
	atomic_int wrong;
	struct lend_exec kept;
};

static void
broadcast_grandchild(size_t index, const struct lend_exec *child, void *ctx)
{
	struct forked *forked = ctx;

	(void)index;
	if (lend_exec_broadcast(child, count_run, &forked->runs) != -EPERM ||
	    lend_exec_team(child, count_run, &forked->runs) != -EPERM)
		atomic_fetch_add(&forked->wrong, 1);
}

static void
broadcast_child(size_t index, const struct lend_exec *child, void *ctx)
{
	struct forked *forked = ctx;

	if (index == 0)
		forked->kept = *child;
	atomic_fetch_add(&forked->jobs, 1);
	if (lend_exec_broadcast(child, count_run, &forked->runs) != -EPERM ||
	    lend_exec_fork(child, 1, broadcast_grandchild, forked))
		atomic_fetch_add(&forked->wrong, 1);
}

/* "from a forked token": at any depth, on any thread, and in a copy. */
START_TEST(broadcast_refuses_a_forked_token)
{
	struct lend_exec exec = token((enum kind)_i, WIDTH);
	struct forked forked = { .jobs = 0 };

	ck_assert_int_eq(lend_exec_fork(&exec, 6, broadcast_child, &forked),
			 0);
	ck_assert_int_eq(atomic_load(&forked.jobs), 6);
	ck_assert_int_eq(atomic_load(&forked.wrong), 0);
	ck_assert_int_eq(lend_exec_broadcast(&forked.kept, count_run,
					     &forked.runs), -EPERM);
	ck_assert_int_eq(lend_exec_team(&forked.kept, count_run,
					&forked.runs), -EPERM);
	ck_assert_int_eq(atomic_load(&forked.runs), 0);
	/* The parent is what it was. */
	ck_assert_int_eq(lend_exec_broadcast(&exec, count_run, &forked.runs),
			 0);
	ck_assert_int_eq(atomic_load(&forked.runs),
			 (int)lend_exec_budget(&exec));
}
END_TEST

/* "A host that has its own threads plugs them in": they do the work. */
START_TEST(a_hosts_threads_do_the_work)
{
	struct lend_exec exec = token(HOST, WIDTH);
	struct meeting alone;
	atomic_int runs = 0;

	ck_assert_int_eq(lend_exec_fork(&exec, 6, count_job, &runs), 0);
	ck_assert_int_eq(atomic_load(&runs), 6);
	ck_assert_int_eq(atomic_load(&threads.parallels), 1);
	ck_assert_int_eq(lend_exec_for_ranges(&exec, 6, 1, count_range,
					      &runs), 0);
	ck_assert_int_eq(atomic_load(&runs), 12);
	ck_assert_int_eq(atomic_load(&threads.parallels), 2);
	/* One job needs none. */
	meeting_start(&alone, 1);
	ck_assert_int_eq(lend_exec_fork(&exec, 1, meet_job, &alone), 0);
	ck_assert(pthread_equal(alone.who[0], pthread_self()));
	ck_assert_int_eq(atomic_load(&threads.parallels), 2);
	ck_assert_int_eq(atomic_load(&threads.broadcasts), 0);
}
END_TEST

static void
add_tokens(TCase *tcase)
{
	tcase_add_test(tcase, budget_is_clamped_to_the_width);
	tcase_add_test(tcase, bad_tokens_are_refused);
	tcase_add_loop_test(tcase, a_token_is_narrowed, 0, KINDS);
	tcase_add_test(tcase, bad_host_tables_are_refused);
	tcase_add_loop_test(tcase, null_arguments_are_refused, 0, KINDS);
	tcase_add_test(tcase, unmade_tokens_are_refused);
	tcase_add_test(tcase, a_hosts_threads_do_the_work);
}

static void
add_broadcast(TCase *tcase)
{
	tcase_add_loop_test(tcase, broadcast_meets, 0, KINDS);
	tcase_add_loop_test(tcase, a_team_meets, 0, KINDS);
	tcase_add_test(tcase, broadcast_hands_on_the_refusal_of_a_host);
	tcase_add_loop_test(tcase, broadcast_refuses_a_worker, POOL, KINDS);
	tcase_add_loop_test(tcase, broadcast_refuses_a_forked_token, 0, KINDS);
}

int
main(void)
{
	Suite *suite = suite_create("exec");

	add_tokens(tokens_case(suite, "tokens"));
	add_broadcast(tokens_case(suite, "broadcast"));
	return suite_run(suite);
}
