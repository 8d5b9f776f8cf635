/* SPDX-License-Identifier: MIT */
/*
 * Worker loans: what is refused, with which error, and that it changes
 * nothing.
 */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "lend/lend.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/suite.h"

#define BYTES 8192

/*
 * Everything that must not change: the accounts, what the backend has given,
 * the handle.
 */
struct shot {
	struct lend_stats stats;
	struct fault_counts counts;
	struct lend_worker loan;
};

static struct shot
shoot(lend_arena *arena, const struct lend_worker *loan)
{
	struct shot shot = { stats_of(arena), fault_counts(), *loan };

	return shot;
}

static void
assert_unchanged(const struct shot *shot, lend_arena *arena,
		 const struct lend_worker *loan)
{
	struct shot now = shoot(arena, loan);

	stats_same(&shot->stats, &now.stats);
	ck_assert_uint_eq(now.counts.extent_allocs,
			  shot->counts.extent_allocs);
	ck_assert_uint_eq(now.counts.extent_frees,
			  shot->counts.extent_frees);
	ck_assert_mem_eq(&now.loan, &shot->loan, sizeof(now.loan));
}

/* Neither returned nor resized, and nothing changed. */
static void
assert_refused(lend_arena *arena, struct lend_worker *loan, int error)
{
	struct shot shot = shoot(arena, loan);

	ck_assert_int_eq(lend_worker_return(arena, loan), error);
	assert_unchanged(&shot, arena, loan);
	ck_assert_int_eq(lend_worker_scatter_resize(arena, loan, 10), error);
	assert_unchanged(&shot, arena, loan);
	ck_assert_int_eq(lend_worker_scatter_resize(arena, loan, 100000),
			 error);
	assert_unchanged(&shot, arena, loan);
}

static struct lend_worker
some_loan(lend_arena *arena)
{
	return lent(arena, BYTES, BYTES, BYTES / 8);
}

/* A loan of either kind: the slot's, or one nested in it. */
enum { SLOT, NESTED, KINDS };

struct stage {
	lend_arena *arena;
	struct lend_worker outer, loan;
};

static void
stage_begin(struct stage *stage, int kind)
{
	stage->arena = arena_new();
	if (kind == NESTED)
		stage->outer = some_loan(stage->arena);
	stage->loan = some_loan(stage->arena);
}

static void
stage_end(struct stage *stage, int kind)
{
	if (kind == NESTED)
		returned(stage->arena, &stage->outer);
	stats_settled(stage->arena);
	arena_end(stage->arena);
}

START_TEST(a_second_return_is_refused)
{
	struct stage stage;

	stage_begin(&stage, _i);
	returned(stage.arena, &stage.loan);
	for (int i = 0; i < 3; i++)
		assert_refused(stage.arena, &stage.loan, -EALREADY);
	stage_end(&stage, _i);
}
END_TEST

/* Of all copies of a handle exactly one return succeeds. */
START_TEST(one_of_all_copies_is_returned)
{
	struct stage stage;
	struct lend_worker copy[5];

	stage_begin(&stage, _i);
	for (int i = 0; i < 5; i++)
		copy[i] = stage.loan;
	returned(stage.arena, &copy[2]);
	for (int i = 0; i < 5; i++)
		assert_refused(stage.arena, &copy[i], -EALREADY);
	assert_refused(stage.arena, &stage.loan, -EALREADY);
	stage_end(&stage, _i);
}
END_TEST

/* An old handle does not end a later loan of the same buffers. */
START_TEST(a_second_return_after_later_loans_is_refused)
{
	struct stage stage;
	struct lend_worker old[10], later;

	stage_begin(&stage, _i);
	for (int i = 0; i < 10; i++) {
		old[i] = stage.loan;
		returned(stage.arena, &stage.loan);
		for (int j = 0; j <= i; j++)
			assert_refused(stage.arena, &old[j], -EALREADY);
		stage.loan = some_loan(stage.arena);
		pattern_write(stage.loan.a, BYTES, (uint64_t)i);
		for (int j = 0; j <= i; j++)
			assert_refused(stage.arena, &old[j], -EALREADY);
		/* Nor do they hinder it. */
		ck_assert(pattern_holds(stage.loan.a, BYTES, (uint64_t)i));
		later = some_loan(stage.arena);
		assert_refused(stage.arena, &old[i], -EALREADY);
		returned(stage.arena, &later);
	}
	returned(stage.arena, &stage.loan);
	stage_end(&stage, _i);
}
END_TEST

/* A trim between makes no difference. */
START_TEST(a_second_return_after_a_trim_is_refused)
{
	struct stage stage;

	stage_begin(&stage, _i);
	returned(stage.arena, &stage.loan);
	ck_assert_int_eq(lend_arena_trim(stage.arena), 0);
	assert_refused(stage.arena, &stage.loan, -EALREADY);
	stage_end(&stage, _i);
}
END_TEST

START_TEST(null_is_invalid)
{
	struct lend_req req = worker_req(1, 1, 1);
	struct stage stage;
	struct lend_worker other;
	struct shot shot;

	stage_begin(&stage, SLOT);
	memset(&other, 0x77, sizeof(other));
	shot = shoot(stage.arena, &other);
	ck_assert_int_eq(lend_worker_checkout(NULL, &req, &other), -EINVAL);
	ck_assert_int_eq(lend_worker_checkout(stage.arena, NULL, &other),
			 -EINVAL);
	ck_assert_int_eq(lend_worker_checkout(stage.arena, &req, NULL),
			 -EINVAL);
	ck_assert_int_eq(lend_worker_return(NULL, &stage.loan), -EINVAL);
	ck_assert_int_eq(lend_worker_return(stage.arena, NULL), -EINVAL);
	ck_assert_int_eq(lend_worker_return(NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_worker_scatter_resize(NULL, &stage.loan, 1),
			 -EINVAL);
	ck_assert_int_eq(lend_worker_scatter_resize(stage.arena, NULL, 1),
			 -EINVAL);
	assert_unchanged(&shot, stage.arena, &other);
	returned(stage.arena, &stage.loan);
	stage_end(&stage, SLOT);
}
END_TEST

/* A handle that was never lent, and ones that never could be. */
START_TEST(a_handle_that_is_none_is_refused)
{
	struct stage stage;
	struct lend_worker zero, wild;

	stage_begin(&stage, _i);
	memset(&zero, 0, sizeof(zero));
	assert_refused(stage.arena, &zero, -EALREADY);
	wild = stage.loan;
	wild.key = UINT64_MAX;
	assert_refused(stage.arena, &wild, -EXDEV);
	for (int bit = 0; bit < 64; bit++) {
		wild = stage.loan;
		wild.number ^= (uint64_t)1 << bit;
		assert_refused(stage.arena, &wild, -EALREADY);
	}
	wild.number = UINT64_MAX;
	assert_refused(stage.arena, &wild, -EALREADY);
	wild.number = 0;
	assert_refused(stage.arena, &wild, -EALREADY);
	/* The true one is none the worse for it. */
	returned(stage.arena, &stage.loan);
	stage_end(&stage, _i);
}
END_TEST

/* Return to another arena, used by the thread or not, at the same depth. */
START_TEST(a_return_to_the_wrong_arena_is_refused)
{
	struct stage stage, other;
	lend_arena *unused = arena_new();

	stage_begin(&stage, _i);
	stage_begin(&other, _i);
	assert_refused(unused, &stage.loan, -EXDEV);
	assert_refused(other.arena, &stage.loan, -EXDEV);
	assert_refused(stage.arena, &other.loan, -EXDEV);
	returned(stage.arena, &stage.loan);
	/* Returned or not: it is not that arena's. */
	assert_refused(other.arena, &stage.loan, -EXDEV);
	returned(other.arena, &other.loan);
	assert_refused(other.arena, &stage.loan, -EXDEV);
	if (_i == NESTED) {
		returned(stage.arena, &stage.outer);
		returned(other.arena, &other.outer);
	}
	arena_end(stage.arena);
	arena_end(other.arena);
	arena_end(unused);
}
END_TEST

/* An arena that is gone: another one in its place does not take its loans. */
START_TEST(a_handle_of_an_arena_that_is_gone_is_refused)
{
	struct stage stage, other;

	stage_begin(&stage, _i);
	returned(stage.arena, &stage.loan);
	stage_end(&stage, _i);
	stage_begin(&other, _i);
	ck_assert_uint_ne(stage.loan.key, other.loan.key);
	assert_refused(other.arena, &stage.loan, -EXDEV);
	returned(other.arena, &other.loan);
	assert_refused(other.arena, &stage.loan, -EXDEV);
	stage_end(&other, _i);
}
END_TEST

/* What another thread does with the loan of the main thread. */
struct thief {
	lend_arena *arena;
	struct lend_worker loan;	/* a copy */
	int slot;		/* what it has of its own, see below */
	int returns, resizes;
	int errors;
};

enum { NO_SLOT, IDLE_SLOT, LOAN_OUT, NESTED_OUT, THIEVES };

static void *
steal(void *arg)
{
	struct thief *thief = arg;
	struct lend_req req = worker_req(BYTES, BYTES, BYTES / 8);
	struct lend_worker own[2], copy;
	int loans = thief->slot == NESTED_OUT ? 2 : thief->slot != NO_SLOT;

	for (int i = 0; i < loans; i++)
		thief->errors += lend_worker_checkout(thief->arena, &req,
						      &own[i]) != 0;
	if (thief->slot == IDLE_SLOT)
		thief->errors += lend_worker_return(thief->arena,
						    &own[--loans]) != 0;
	copy = thief->loan;
	thief->returns = lend_worker_return(thief->arena, &copy);
	thief->resizes = lend_worker_scatter_resize(thief->arena, &copy,
						    100000);
	thief->errors += memcmp(&copy, &thief->loan, sizeof(copy)) != 0;
	while (loans-- > 0)
		thief->errors += lend_worker_return(thief->arena,
						    &own[loans]) != 0;
	return NULL;
}

/* A worker loan is returned by the thread that took it. */
START_TEST(a_return_by_another_thread_is_refused)
{
	struct stage stage;
	size_t leased, kept;

	stage_begin(&stage, _i);
	leased = stats_of(stage.arena).leased_bytes;
	pattern_write(stage.loan.a, BYTES, 42);
	for (int slot = NO_SLOT; slot < THIEVES; slot++) {
		struct thief thief = { stage.arena, stage.loan, slot, 0, 0, 0 };

		in_thread(steal, &thief);
		ck_assert_int_eq(thief.returns, -EPERM);
		ck_assert_int_eq(thief.resizes, -EPERM);
		ck_assert_int_eq(thief.errors, 0);
		ck_assert_uint_eq(stats_of(stage.arena).leased_bytes, leased);
		ck_assert(pattern_holds(stage.loan.a, BYTES, 42));
	}
	/* Its owner can still resize and return it. */
	ck_assert_int_eq(lend_worker_scatter_resize(stage.arena, &stage.loan,
						    2000), 0);
	returned(stage.arena, &stage.loan);
	kept = outstanding();
	for (int slot = NO_SLOT; slot < THIEVES; slot++) {
		struct thief thief = { stage.arena, stage.loan, slot, 0, 0, 0 };

		/* Now there is nothing left to return, for anybody. */
		in_thread(steal, &thief);
		ck_assert_int_eq(thief.returns, -EALREADY);
		ck_assert_int_eq(thief.resizes, -EALREADY);
		ck_assert_int_eq(thief.errors, 0);
	}
	ck_assert_uint_eq(outstanding(), kept);
	stage_end(&stage, _i);
}
END_TEST

struct storm {
	lend_arena *arena;
	struct crew crew;
	struct lend_worker loan;	/* the main thread's */
	int wrong[CREW_MAX];
};

static void
try_to_return(size_t self, void *ctx)
{
	struct storm *storm = ctx;
	struct lend_worker copy = storm->loan;

	for (int i = 0; i < 1000; i++) {
		int error = lend_worker_return(storm->arena, &copy);

		/* The owner returns it in the meantime. */
		storm->wrong[self] += error != -EPERM && error != -EALREADY;
	}
	storm->wrong[self] += lend_worker_return(storm->arena, &copy) == 0;
}

/* However many try at once, the owner's return is the one that counts. */
START_TEST(returns_by_others_at_once_are_refused)
{
	static struct storm storm;
	struct stage stage;

	memset(&storm, 0, sizeof(storm));
	stage_begin(&stage, _i);
	storm.arena = stage.arena;
	storm.loan = stage.loan;
	crew_start(&storm.crew, 3, try_to_return, &storm);
	pattern_write(stage.loan.a, BYTES, 42);
	ck_assert(pattern_holds(stage.loan.a, BYTES, 42));
	returned(stage.arena, &stage.loan);
	crew_join(&storm.crew);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(storm.wrong[i], 0);
	stage_end(&stage, _i);
}
END_TEST

/* Sizes that no buffer can have, each in each component. */
START_TEST(a_checkout_that_overflows_changes_nothing)
{
	static const struct lend_req reqs[] = {
		{ .a_bytes = SIZE_MAX },
		{ .a_bytes = SIZE_MAX / 2 + 1 },
		{ .a_bytes = SIZE_MAX / 2 + 2 },
		{ .a_bytes = SIZE_MAX - 4095 },
		{ .tile_bytes = SIZE_MAX },
		{ .tile_bytes = SIZE_MAX / 2 + 1 },
		{ .worker_scatter = SIZE_MAX },
		{ .worker_scatter = SIZE_MAX / 8 },
		/* Times 8, these wrap to something small. */
		{ .worker_scatter = SIZE_MAX / 8 + 1 },
		{ .worker_scatter = SIZE_MAX / 8 + 2 },
		/* Beside components that could be had. */
		{ .a_bytes = 100000, .tile_bytes = SIZE_MAX },
		{ .a_bytes = 100000, .tile_bytes = 100000,
		  .worker_scatter = SIZE_MAX },
		{ .a_bytes = SIZE_MAX, .tile_bytes = SIZE_MAX,
		  .worker_scatter = SIZE_MAX },
	};
	lend_arena *arena = arena_new();
	struct lend_worker first = some_loan(arena), loan;

	returned(arena, &first);
	memset(&loan, 0x77, sizeof(loan));
	for (size_t i = 0; i < sizeof(reqs) / sizeof(reqs[0]); i++) {
		struct shot shot = shoot(arena, &loan);

		ck_assert_int_eq(lend_worker_checkout(arena, &reqs[i], &loan),
				 -EOVERFLOW);
		assert_unchanged(&shot, arena, &loan);
		stats_settled(arena);
	}
	/* The slot is back, with what it had. */
	loan = some_loan(arena);
	ck_assert_ptr_eq(loan.a, first.a);
	ck_assert_ptr_eq(loan.tile, first.tile);
	ck_assert_ptr_eq(loan.scatter, first.scatter);
	returned(arena, &loan);
	arena_end(arena);
}
END_TEST

/* The same at a thread's first call: no loan, no storage, no growth. */
START_TEST(a_first_checkout_that_overflows_lends_nothing)
{
	struct lend_req req = worker_req(4096, 4096, SIZE_MAX);
	lend_arena *arena = arena_new();
	struct lend_worker loan;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan),
				 -EOVERFLOW);
		stats_settled(arena);
		ck_assert_uint_eq(stats_of(arena).growths, 0);
		ck_assert_uint_eq(stats_of(arena).retained_bytes, 0);
		ck_assert_uint_eq(fault_counts().extent_allocs, 0);
	}
	loan = some_loan(arena);
	returned(arena, &loan);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("worker_refuse");
	TCase *again = watched_case(suite, "again");
	TCase *wrong = watched_case(suite, "wrong");

	tcase_add_loop_test(again, a_second_return_is_refused, 0, KINDS);
	tcase_add_loop_test(again, one_of_all_copies_is_returned, 0, KINDS);
	tcase_add_loop_test(again,
			    a_second_return_after_later_loans_is_refused, 0,
			    KINDS);
	tcase_add_loop_test(again, a_second_return_after_a_trim_is_refused, 0,
			    KINDS);
	tcase_add_test(wrong, null_is_invalid);
	tcase_add_loop_test(wrong, a_handle_that_is_none_is_refused, 0,
			    KINDS);
	tcase_add_loop_test(wrong, a_return_to_the_wrong_arena_is_refused, 0,
			    KINDS);
	tcase_add_loop_test(wrong,
			    a_handle_of_an_arena_that_is_gone_is_refused, 0,
			    KINDS);
	tcase_add_loop_test(wrong, a_return_by_another_thread_is_refused, 0,
			    KINDS);
	tcase_add_loop_test(wrong, returns_by_others_at_once_are_refused, 0,
			    KINDS);
	tcase_add_test(wrong, a_checkout_that_overflows_changes_nothing);
	tcase_add_test(wrong, a_first_checkout_that_overflows_lends_nothing);
	return suite_run_also(suite, confs);
}
