/* SPDX-License-Identifier: MIT */
/*
 * Forks of tokens of all kinds: jobs, budgets, nesting.
 */
#include <check.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "lend/exec.h"
#include "support/suite.h"
#include "support/tokens.h"
#include "support/workers.h"

#define JOBS 40

struct shares {
	atomic_int runs[JOBS];
	size_t budget[JOBS];
};

static void
record_share(size_t index, const struct lend_exec *child, void *ctx)
{
	struct shares *shares = ctx;

	atomic_fetch_add(&shares->runs[index], 1);
	shares->budget[index] = lend_exec_budget(child);
}

/*
 * "runs n jobs, each with a child token": each once.  Budgets are handed out
 * whole, the first ones getting the remainder; with more jobs than budget it
 * is 1 each.
 */
START_TEST(fork_hands_out_the_budget)
{
	struct lend_exec exec = token((enum kind)_i, WIDTH);
	size_t budget = lend_exec_budget(&exec);

	for (size_t n = 0; n <= JOBS; n++) {
		struct shares shares;
		size_t sum = 0;

		memset(&shares, 0, sizeof(shares));
		ck_assert_int_eq(lend_exec_fork(&exec, n, record_share,
						&shares), 0);
		for (size_t i = 0; i < JOBS; i++) {
			ck_assert_int_eq(atomic_load(&shares.runs[i]), i < n);
			sum += shares.budget[i];
		}
		ck_assert_uint_eq(sum, n == 0 ? 0 : n > budget ? n : budget);
		for (size_t i = 1; i < n; i++) {
			ck_assert_uint_ge(shares.budget[i], 1);
			ck_assert_uint_le(shares.budget[i],
					  shares.budget[i - 1]);
			ck_assert_uint_le(shares.budget[0],
					  shares.budget[i] + 1);
		}
	}
}
END_TEST

#define MANY 50000

static atomic_uchar many_runs[MANY];

static void
count_many(size_t index, const struct lend_exec *child, void *ctx)
{
	(void)child;
	(void)ctx;
	atomic_fetch_add(&many_runs[index], 1);
}

/* Jobs so short that the lanes are always at the counter. */
START_TEST(fork_runs_each_of_many_jobs_once)
{
	struct lend_exec exec = token((enum kind)_i, WIDTH);

	memset(many_runs, 0, sizeof(many_runs));
	for (int round = 1; round <= 5; round++) {
		size_t wrong = 0;

		ck_assert_int_eq(lend_exec_fork(&exec, MANY, count_many, NULL),
				 0);
		for (size_t i = 0; i < MANY; i++)
			wrong += atomic_load(&many_runs[i]) != round;
		ck_assert_uint_eq(wrong, 0);
	}
}
END_TEST

#define DEPTH 3

struct nest {
	struct gauge *levels;	/* one per depth, over the whole tree */
	struct gauge own;	/* the children of this one parent */
	size_t depth;
	uint64_t seed;
	atomic_int *leaves;
	atomic_int *wrong;
};

static void nest_job(size_t index, const struct lend_exec *child, void *ctx);

static void
nest_fork(const struct lend_exec *exec, struct nest *nest)
{
	/* Fewer jobs than budget, as many, and more. */
	size_t n = 1 + nest->seed % 7;

	if (lend_exec_fork(exec, n, nest_job, nest) ||
	    atomic_load(&nest->own.most) > lend_exec_budget(exec))
		atomic_fetch_add(nest->wrong, 1);
}

static void
nest_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct nest *parent = ctx;
	struct gauge *level = &parent->levels[parent->depth];
	size_t budget = lend_exec_budget(child);
	struct nest nest = {
		.levels = parent->levels,
		.depth = parent->depth + 1,
		.seed = (parent->seed + index + 1) * 0x9e3779b97f4a7c15u >> 7,
		.leaves = parent->leaves,
		.wrong = parent->wrong,
	};

	gauge_add(level, budget);
	gauge_add(&parent->own, budget);
	sched_yield();
	if (nest.depth < DEPTH)
		nest_fork(child, &nest);
	else
		atomic_fetch_add(parent->leaves, 1);
	gauge_sub(&parent->own, budget);
	gauge_sub(level, budget);
}

/*
 * "the children's budgets never add up to more than the parent's, at any
 * nesting": for each parent, and over each level of the tree.
 */
START_TEST(budgets_never_exceed_the_parents)
{
	size_t most = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct lend_exec exec = token((enum kind)_i, WIDTH);
		struct gauge levels[DEPTH];
		atomic_int leaves = 0, wrong = 0;
		struct nest nest = { .levels = levels, .leaves = &leaves,
				     .wrong = &wrong, .seed = seed };

		memset(levels, 0, sizeof(levels));
		nest_fork(&exec, &nest);
		ck_assert_int_eq(atomic_load(&wrong), 0);
		ck_assert_int_gt(atomic_load(&leaves), 0);
		for (size_t i = 0; i < DEPTH; i++) {
			size_t level = atomic_load(&levels[i].most);

			ck_assert_uint_le(level, lend_exec_budget(&exec));
			most = level > most ? level : most;
		}
	}
	/* The gauge did see budgets in use. */
	ck_assert_uint_ge(most, _i == SERIAL ? 1 : WIDTH);
}
END_TEST

static void
gauge_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct gauge *gauge = ctx;

	(void)index;
	gauge_add(gauge, lend_exec_budget(child));
	sched_yield();
	gauge_sub(gauge, lend_exec_budget(child));
}

/* With many jobs, at most `budget` of them run at a time. */
START_TEST(fork_runs_no_more_jobs_than_its_budget)
{
	for (size_t wish = 1; wish <= WIDTH; wish++) {
		struct lend_exec exec = token((enum kind)_i, wish);
		struct gauge gauge = { .sum = 0 };

		ck_assert_int_eq(lend_exec_fork(&exec, 400, gauge_job, &gauge),
				 0);
		ck_assert_uint_ge(atomic_load(&gauge.most), 1);
		ck_assert_uint_le(atomic_load(&gauge.most),
				  lend_exec_budget(&exec));
	}
}
END_TEST

struct threads_seen {
	pthread_t caller;
	atomic_int others;
	size_t last;
	size_t disorder;
};

static void
see_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct threads_seen *seen = ctx;

	(void)child;
	if (!pthread_equal(pthread_self(), seen->caller))
		atomic_fetch_add(&seen->others, 1);
	seen->disorder += index != seen->last++;
}

static void
see_range(size_t begin, size_t end, void *ctx)
{
	struct threads_seen *seen = ctx;

	if (!pthread_equal(pthread_self(), seen->caller))
		atomic_fetch_add(&seen->others, 1);
	seen->disorder += begin != seen->last;
	seen->last = end;
}

/* A budget of 1 is the calling thread, whatever the token stands for. */
START_TEST(a_budget_of_one_stays_on_the_calling_thread)
{
	struct lend_exec exec = token((enum kind)_i, 1);
	struct threads_seen seen = { .caller = pthread_self() };

	ck_assert_int_eq(lend_exec_fork(&exec, 20, see_job, &seen), 0);
	ck_assert_uint_eq(seen.last, 20);
	ck_assert_uint_eq(seen.disorder, 0);
	seen.last = 0;
	ck_assert_int_eq(lend_exec_for_ranges(&exec, 1000, 3, see_range,
					      &seen), 0);
	ck_assert_uint_eq(seen.last, 1000);
	ck_assert_uint_eq(seen.disorder, 0);
	ck_assert_int_eq(atomic_load(&seen.others), 0);
}
END_TEST

static void
add_fork(TCase *tcase)
{
	tcase_add_loop_test(tcase, fork_hands_out_the_budget, 0, KINDS);
	tcase_add_loop_test(tcase, fork_runs_each_of_many_jobs_once, 0, KINDS);
	tcase_add_loop_test(tcase, budgets_never_exceed_the_parents, 0, KINDS);
	tcase_add_loop_test(tcase, fork_runs_no_more_jobs_than_its_budget, 0,
			    KINDS);
	tcase_add_loop_test(tcase, a_budget_of_one_stays_on_the_calling_thread,
			    0, KINDS);
}

int
main(void)
{
	Suite *suite = suite_create("exec_fork");

	add_fork(tokens_case(suite, "fork"));
	return suite_run(suite);
}
