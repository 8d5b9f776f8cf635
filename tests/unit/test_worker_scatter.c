/* SPDX-License-Identifier: MIT */
/* Worker loans: the scatter scratch, grown during the loan. */
#include <check.h>
#include <errno.h>
#include <stdint.h>

#include "lend/lend.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/suite.h"

/* The scratch of a nested loan is a scratch like any other: _i says which. */
enum { OUTER, NESTED, KINDS };

/* A loan to try things on, and the one around it if it is nested. */
struct stage {
	lend_arena *arena;
	struct lend_worker outer, loan;
	size_t allocs;		/* extents that were allocated before */
};

static void
stage_begin(struct stage *stage, int kind, size_t elements)
{
	stage->arena = arena_traced();
	if (kind == NESTED)
		stage->outer = lent(stage->arena, 1, 1, 1);
	stage->loan = lent(stage->arena, 0, 0, elements);
	stage->allocs = fault_counts().extent_allocs;
}

static void
stage_end(struct stage *stage, int kind)
{
	returned(stage->arena, &stage->loan);
	if (kind == NESTED)
		returned(stage->arena, &stage->outer);
	stats_settled(stage->arena);
	arena_end(stage->arena);
}

static void
resize(struct stage *stage, size_t length)
{
	struct lend_worker *loan = &stage->loan;

	ck_assert_int_eq(lend_worker_scatter_resize(stage->arena, loan,
						    length), 0);
	ck_assert_uint_eq(loan->scatter_length, length);
	ck_assert_uint_ge(loan->scatter_capacity, length);
	if (length)
		ck_assert_ptr_nonnull(loan->scatter);
	ck_assert_uint_eq((uintptr_t)loan->scatter % 4096, 0);
}

static void
write_elements(struct lend_worker *loan, size_t from, size_t to)
{
	for (size_t i = from; i < to; i++)
		loan->scatter[i] = (int64_t)(i * 1000003);
}

/* Elements 0 .. n - 1 are what write_elements wrote. */
static void
assert_elements(const struct lend_worker *loan, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (loan->scatter[i] != (int64_t)(i * 1000003))
			ck_abort_msg("element %zu of %zu", i, n);
}

/* Whatever a loan did with its length, the next one starts empty. */
START_TEST(the_scratch_starts_each_loan_empty)
{
	lend_arena *arena = arena_new();

	for (int i = 0; i < 5; i++) {
		struct lend_worker loan = lent(arena, 0, 0, 100), nested;

		ck_assert_uint_eq(loan.scatter_length, 0);
		ck_assert_int_eq(lend_worker_scatter_resize(arena, &loan, 77),
				 0);
		nested = lent(arena, 0, 0, 100);
		ck_assert_uint_eq(nested.scatter_length, 0);
		ck_assert_int_eq(lend_worker_scatter_resize(arena, &nested,
							    78), 0);
		returned(arena, &nested);
		ck_assert_uint_eq(loan.scatter_length, 77);
		loan.scatter_length = 99;
		returned(arena, &loan);
	}
	arena_end(arena);
}
END_TEST

/* Elements below both lengths keep their values. */
START_TEST(resize_keeps_elements)
{
	static const size_t lengths[] = {
		1, 100, 512, 513, 700, 1024, 5000, 40000, 40001, 300000
	};
	struct stage stage;
	size_t written = 0;

	stage_begin(&stage, _i, 1);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		resize(&stage, lengths[i]);
		assert_elements(&stage.loan, written);
		write_elements(&stage.loan, written, lengths[i]);
		written = lengths[i];
	}
	assert_elements(&stage.loan, written);
	stage_end(&stage, _i);
}
END_TEST

/* Within its capacity, shorter or longer, nothing moves and nothing is paid. */
START_TEST(resize_within_the_capacity_moves_nothing)
{
	struct stage stage;
	int64_t *scatter;
	size_t capacity;

	stage_begin(&stage, _i, 1000);
	scatter = stage.loan.scatter;
	capacity = stage.loan.scatter_capacity;
	resize(&stage, capacity);
	write_elements(&stage.loan, 0, capacity);
	resize(&stage, 10);
	resize(&stage, 0);
	resize(&stage, 10);
	resize(&stage, capacity);
	assert_elements(&stage.loan, 10);
	ck_assert_ptr_eq(stage.loan.scatter, scatter);
	ck_assert_uint_eq(stage.loan.scatter_capacity, capacity);
	ck_assert_uint_eq(fault_counts().extent_allocs, stage.allocs);
	stage_end(&stage, _i);
}
END_TEST

/* After a shortening, only what was below the shorter length must survive. */
START_TEST(resize_keeps_what_is_below_both_lengths)
{
	struct stage stage;

	stage_begin(&stage, _i, 512);
	resize(&stage, 512);
	write_elements(&stage.loan, 0, 512);
	resize(&stage, 300);
	resize(&stage, 100000);
	assert_elements(&stage.loan, 300);
	stage_end(&stage, _i);
}
END_TEST

/* The length is the caller's word: an absurd one does no harm. */
START_TEST(a_length_beyond_the_capacity_is_not_believed)
{
	struct stage stage;

	stage_begin(&stage, _i, 512);
	write_elements(&stage.loan, 0, 512);
	stage.loan.scatter_length = SIZE_MAX;
	resize(&stage, 5000);
	assert_elements(&stage.loan, 512);
	stage.loan.scatter_length = SIZE_MAX;
	resize(&stage, 6);
	assert_elements(&stage.loan, 6);
	stage_end(&stage, _i);
}
END_TEST

/* A scratch that has no storage gets some, or none for no elements. */
START_TEST(resize_of_no_storage)
{
	struct stage stage;

	stage_begin(&stage, _i, 0);
	ck_assert_ptr_null(stage.loan.scatter);
	resize(&stage, 0);
	ck_assert_ptr_null(stage.loan.scatter);
	ck_assert_uint_eq(fault_counts().extent_allocs, stage.allocs);
	resize(&stage, 3);
	write_elements(&stage.loan, 0, 3);
	ck_assert_uint_eq(stage.loan.scatter_capacity, 512);
	ck_assert_uint_eq(fault_counts().extent_allocs, stage.allocs + 1);
	stage_end(&stage, _i);
}
END_TEST

/* It doubles, or takes the need where that is more. */
START_TEST(resize_doubles_or_takes_the_need)
{
	struct stage stage;

	stage_begin(&stage, _i, 512);
	resize(&stage, 513);
	ck_assert_uint_eq(stage.loan.scatter_capacity, 1024);
	resize(&stage, 1025);
	ck_assert_uint_eq(stage.loan.scatter_capacity, 2048);
	resize(&stage, 8193);
	ck_assert_uint_eq(stage.loan.scatter_capacity,
			  scatter_bytes(8193) / 8);
	stage_end(&stage, _i);
}
END_TEST

/* What was replaced is given back at once. */
START_TEST(resize_leaves_nothing_behind)
{
	struct stage stage;
	size_t rest;

	stage_begin(&stage, _i, 512);
	rest = outstanding() - 4096;
	for (size_t n = 512; n < 200000; n *= 3) {
		resize(&stage, n);
		ck_assert_uint_eq(outstanding(),
				  rest + stage.loan.scatter_capacity * 8);
	}
	stage_end(&stage, _i);
}
END_TEST

/*
 * While the loan is out the slot counts at the capacity that it had at
 * checkout; at the return the account settles.
 */
START_TEST(the_account_settles_at_return)
{
	lend_arena *arena = arena_new();
	struct lend_worker loan = lent(arena, 4096, 0, 512);
	struct lend_stats stats;

	for (size_t n = 1000; n < 100000; n *= 3) {
		ck_assert_int_eq(lend_worker_scatter_resize(arena, &loan, n),
				 0);
		stats = stats_of(arena);
		ck_assert_uint_eq(stats.retained_bytes, 8192);
		ck_assert_uint_eq(stats.leased_bytes, 8192);
	}
	returned(arena, &loan);
	stats = stats_of(arena);
	ck_assert_uint_eq(stats.retained_bytes,
			  4096 + loan.scatter_capacity * 8);
	stats_settled(arena);
	/* The next loan has it, and is counted with it from the start. */
	loan = lent(arena, 0, 0, 1);
	ck_assert_uint_gt(loan.scatter_capacity, 80000);
	ck_assert_uint_eq(stats_of(arena).leased_bytes,
			  stats.retained_bytes);
	returned(arena, &loan);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* Each loan settles for itself, grown or not, by whatever way it came. */
START_TEST(the_account_settles_at_each_return)
{
	lend_arena *arena = arena_new();
	size_t n = 1;

	for (int i = 0; i < 12; i++, n *= 2) {
		struct lend_worker loan = lent(arena, 0, 0, i % 3 ? n : 0);

		if (i % 2)
			ck_assert_int_eq(lend_worker_scatter_resize(
					 arena, &loan, 3 * n), 0);
		if (i % 4 == 3)
			ck_assert_int_eq(lend_arena_trim(arena), 0);
		returned(arena, &loan);
		stats_settled(arena);
		if (i % 4 == 1)
			ck_assert_int_eq(lend_arena_trim(arena), 0);
		stats_settled(arena);
	}
	arena_end(arena);
}
END_TEST

/* A nested loan's scratch is in nobody's account, and goes at its return. */
START_TEST(a_nested_scratch_is_in_no_account)
{
	struct stage stage;
	struct lend_stats before, after;
	size_t rest;

	stage_begin(&stage, NESTED, 512);
	before = stats_of(stage.arena);
	rest = outstanding() - 4096;
	resize(&stage, 100000);
	after = stats_of(stage.arena);
	stats_same(&before, &after);
	returned(stage.arena, &stage.loan);
	ck_assert_uint_eq(outstanding(), rest);
	after = stats_of(stage.arena);
	stats_same(&before, &after);
	returned(stage.arena, &stage.outer);
	stats_settled(stage.arena);
	arena_end(stage.arena);
}
END_TEST

static void
no_record(const struct lend_trace_record *record, void *ctx)
{
	(void)record;
	(void)ctx;
}

/* The trace tells of page buffers, which the scratch is not. */
START_TEST(a_scratch_is_not_traced)
{
	struct stage stage;

	stage_begin(&stage, OUTER, 512);
	resize(&stage, 100000);
	ck_assert_int_eq(lend_trace_take(stage.arena, no_record, NULL), 0);
	stage_end(&stage, OUTER);
}
END_TEST

/* A length that no buffer can have: refused, and the loan is as it was. */
START_TEST(a_length_that_overflows_changes_nothing)
{
	static const size_t lengths[] = {
		SIZE_MAX, SIZE_MAX - 511, SIZE_MAX / 2, SIZE_MAX / 8,
		SIZE_MAX / 8 + 1, SIZE_MAX / 8 + 2, SIZE_MAX / 16 + 1,
	};
	struct stage stage;
	struct lend_worker was;
	struct lend_stats before, after;

	stage_begin(&stage, _i, 512);
	resize(&stage, 500);
	write_elements(&stage.loan, 0, 500);
	was = stage.loan;
	before = stats_of(stage.arena);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		ck_assert_int_eq(lend_worker_scatter_resize(stage.arena,
							    &stage.loan,
							    lengths[i]),
				 -EOVERFLOW);
		ck_assert_mem_eq(&stage.loan, &was, sizeof(was));
	}
	assert_elements(&stage.loan, 500);
	after = stats_of(stage.arena);
	stats_same(&before, &after);
	ck_assert_uint_eq(fault_counts().extent_allocs, stage.allocs);
	stage_end(&stage, _i);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("worker_scatter");
	TCase *any = watched_case(suite, "any loan");
	TCase *account = watched_case(suite, "account");

	tcase_add_test(any, the_scratch_starts_each_loan_empty);
	tcase_add_loop_test(any, resize_keeps_elements, 0, KINDS);
	tcase_add_loop_test(any, resize_within_the_capacity_moves_nothing, 0,
			    KINDS);
	tcase_add_loop_test(any, resize_keeps_what_is_below_both_lengths, 0,
			    KINDS);
	tcase_add_loop_test(any, a_length_beyond_the_capacity_is_not_believed,
			    0, KINDS);
	tcase_add_loop_test(any, resize_of_no_storage, 0, KINDS);
	tcase_add_loop_test(any, resize_doubles_or_takes_the_need, 0, KINDS);
	tcase_add_loop_test(any, resize_leaves_nothing_behind, 0, KINDS);
	tcase_add_loop_test(any, a_length_that_overflows_changes_nothing, 0,
			    KINDS);
	tcase_add_test(account, the_account_settles_at_return);
	tcase_add_test(account, the_account_settles_at_each_return);
	tcase_add_test(account, a_nested_scratch_is_in_no_account);
	tcase_add_test(account, a_scratch_is_not_traced);
	return suite_run_also(suite, confs);
}
