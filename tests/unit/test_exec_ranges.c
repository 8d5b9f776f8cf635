/* SPDX-License-Identifier: MIT */
/*
 * for_ranges on tokens of all kinds.
 */
#include <check.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "lend/exec.h"
#include "support/suite.h"
#include "support/tokens.h"
#include "support/workers.h"

#define TOTAL 1000

struct cover {
	atomic_int seen[TOTAL];
	atomic_int ranges;
	atomic_int short_ones;	/* below the grain, and not the last */
	atomic_int outside;
	size_t total;
	size_t grain;
};

static void
cover_range(size_t begin, size_t end, void *ctx)
{
	struct cover *cover = ctx;

	atomic_fetch_add(&cover->ranges, 1);
	if (begin >= end || end > cover->total) {
		atomic_fetch_add(&cover->outside, 1);
		return;
	}
	if (end - begin < cover->grain && end != cover->total)
		atomic_fetch_add(&cover->short_ones, 1);
	for (size_t i = begin; i < end; i++)
		atomic_fetch_add(&cover->seen[i], 1);
	sched_yield();
}

static struct cover cover;

static void
try_ranges(const struct lend_exec *exec, size_t total, size_t grain)
{
	memset(&cover, 0, sizeof(cover));
	cover.total = total;
	cover.grain = grain;
	ck_assert_int_eq(lend_exec_for_ranges(exec, total, grain, cover_range,
					      &cover), 0);
	ck_assert_int_eq(atomic_load(&cover.outside), 0);
	ck_assert_int_eq(atomic_load(&cover.short_ones), 0);
	for (size_t i = 0; i < TOTAL; i++)
		ck_assert_int_eq(atomic_load(&cover.seen[i]), i < total);
	if (total == 0)
		ck_assert_int_eq(atomic_load(&cover.ranges), 0);
}

/* "splits an index range": each index once, no range below the grain. */
START_TEST(ranges_cover_every_index_once)
{
	static const size_t totals[] = { 0, 1, 2, 3, 15, 16, 17, 100, 999,
					 TOTAL };
	static const size_t grains[] = { 1, 2, 3, 7, 64, 999, TOTAL,
					 TOTAL + 1, SIZE_MAX };
	struct lend_exec exec = token((enum kind)_i, 3);

	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++)
		for (size_t j = 0; j < sizeof(grains) / sizeof(grains[0]); j++)
			try_ranges(&exec, totals[i], grains[j]);
}
END_TEST

/* "over the budget": more than one range each, where the grain allows. */
START_TEST(ranges_are_enough_for_the_budget)
{
	struct lend_exec exec = token((enum kind)_i, WIDTH);

	try_ranges(&exec, TOTAL, 1);
	ck_assert_int_ge(atomic_load(&cover.ranges),
			 (int)lend_exec_budget(&exec));
	try_ranges(&exec, TOTAL, TOTAL / WIDTH);
	ck_assert_int_eq(atomic_load(&cover.ranges),
			 (int)lend_exec_budget(&exec));
}
END_TEST

#define RANGES_MAX 64

struct huge {
	atomic_size_t count;
	size_t begin[RANGES_MAX], end[RANGES_MAX];
};

static void
huge_range(size_t begin, size_t end, void *ctx)
{
	struct huge *huge = ctx;
	size_t i = atomic_fetch_add(&huge->count, 1);

	if (i < RANGES_MAX) {
		huge->begin[i] = begin;
		huge->end[i] = end;
	}
}

/* From 0 on, each range must begin where another one ended. */
static void
assert_chain(const struct huge *huge, size_t total, size_t grain)
{
	size_t count = atomic_load(&huge->count), at = 0;

	ck_assert_uint_le(count, RANGES_MAX);
	for (size_t step = 0; step < count; step++) {
		size_t i = 0;

		while (i < count && huge->begin[i] != at)
			i++;
		ck_assert_uint_lt(i, count);
		ck_assert_uint_gt(huge->end[i], at);
		ck_assert(huge->end[i] - at >= grain || huge->end[i] == total);
		at = huge->end[i];
	}
	ck_assert_uint_eq(at, total);
}

/* Near the end of size_t nothing wraps. */
START_TEST(ranges_do_not_overflow)
{
	static const size_t totals[] = { SIZE_MAX, SIZE_MAX - 1,
					 SIZE_MAX - 40, SIZE_MAX / 2 + 2 };
	static const size_t grains[] = { 1, SIZE_MAX / 3, SIZE_MAX / 2 + 1,
					 SIZE_MAX - 1, SIZE_MAX };
	struct lend_exec exec = token((enum kind)_i, 3);

	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 5; j++) {
			struct huge huge = { .count = 0 };

			ck_assert_int_eq(
				lend_exec_for_ranges(&exec, totals[i],
						     grains[j], huge_range,
						     &huge), 0);
			assert_chain(&huge, totals[i], grains[j]);
		}
}
END_TEST

/* A host may be as wide as it says: budgets do not overflow either. */
START_TEST(ranges_of_an_endless_host_do_not_overflow)
{
	struct lend_exec exec;

	threads.width = SIZE_MAX;
	exec = token(HOST, SIZE_MAX);
	ck_assert_uint_eq(lend_exec_budget(&exec), SIZE_MAX);
	/* Ranges: two, as the grain wants; no more threads than that. */
	try_ranges(&exec, TOTAL, TOTAL / 2);
	ck_assert_int_eq(atomic_load(&cover.ranges), 2);
	ck_assert_int_eq(atomic_load(&threads.parallels), 1);
}
END_TEST

static void
gauge_range(size_t begin, size_t end, void *ctx)
{
	(void)begin;
	(void)end;
	gauge_add(ctx, 1);
	sched_yield();
	gauge_sub(ctx, 1);
}

static void
range_in_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct gauge gauge = { .sum = 0 };

	(void)index;
	if (lend_exec_for_ranges(child, 100, 1, gauge_range, &gauge) ||
	    atomic_load(&gauge.most) > lend_exec_budget(child) ||
	    atomic_load(&gauge.most) == 0)
		atomic_fetch_add((atomic_int *)ctx, 1);
}

/* Ranges too keep to the budget, also a child's. */
START_TEST(ranges_keep_to_the_budget)
{
	struct lend_exec exec = token((enum kind)_i, 3);
	atomic_int wrong = 0;

	for (int i = 0; i < 20; i++) {
		struct gauge gauge = { .sum = 0 };

		ck_assert_int_eq(lend_exec_for_ranges(&exec, 100, 1,
						      gauge_range, &gauge), 0);
		ck_assert_uint_ge(atomic_load(&gauge.most), 1);
		ck_assert_uint_le(atomic_load(&gauge.most),
				  lend_exec_budget(&exec));
		ck_assert_int_eq(lend_exec_fork(&exec, 2, range_in_job,
						&wrong), 0);
	}
	ck_assert_int_eq(atomic_load(&wrong), 0);
}
END_TEST

static void
add_ranges(TCase *tcase)
{
	tcase_add_loop_test(tcase, ranges_cover_every_index_once, 0, KINDS);
	tcase_add_loop_test(tcase, ranges_are_enough_for_the_budget, 0, KINDS);
	tcase_add_loop_test(tcase, ranges_do_not_overflow, 0, KINDS);
	tcase_add_test(tcase, ranges_of_an_endless_host_do_not_overflow);
	tcase_add_loop_test(tcase, ranges_keep_to_the_budget, 0, KINDS);
}

int
main(void)
{
	Suite *suite = suite_create("exec_ranges");

	add_ranges(tokens_case(suite, "ranges"));
	return suite_run(suite);
}
