/* SPDX-License-Identifier: MIT */
/* Worker loans: how large the buffers are, and how they grow. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "lend/lend.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/process.h"
#include "support/suite.h"

#define MIB ((size_t)1 << 20)

/* Sizes around pages, huge pages, powers of two. */
static const size_t sizes[] = {
	1, 7, 8, 63, 4095, 4096, 4097, 8191, 8192, 8193, 12288, 20000, 65535,
	65537, 100000, MIB - 1, MIB, MIB + 1, 2 * MIB - 4096, 2 * MIB,
	2 * MIB + 1, 3 * MIB, 5 * MIB + 123,
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/*
 * Every buffer is page-aligned and has at least what was asked for: all of it
 * can be written.
 */
START_TEST(buffers_are_aligned_and_large_enough)
{
	size_t size = sizes[_i];
	struct lend_req req = worker_req(size, sizes[(_i + 5) % SIZES],
					 (size + 7) / 8);
	lend_arena *arena = arena_new();
	struct lend_worker loan = checkout(arena, &req);

	ck_assert_uint_eq((uintptr_t)loan.a % 4096, 0);
	ck_assert_uint_eq((uintptr_t)loan.tile % 4096, 0);
	ck_assert_uint_eq((uintptr_t)loan.scatter % 4096, 0);
	ck_assert_uint_ge(loan.scatter_capacity, req.worker_scatter);
	use(&loan, &req);
	/* None of them lies in another. */
	ck_assert_int_eq(((unsigned char *)loan.a)[0], 0xa5);
	ck_assert_int_eq(((unsigned char *)loan.a)[req.a_bytes - 1], 0xa5);
	ck_assert_int_eq(((unsigned char *)loan.tile)[0], 0x5a);
	ck_assert_int_eq(((unsigned char *)loan.tile)[req.tile_bytes - 1],
			 0x5a);
	returned(arena, &loan);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* A page buffer is the next power of two long, and at least a page. */
START_TEST(page_buffers_are_powers_of_two)
{
	size_t size = sizes[_i];
	lend_arena *arena = arena_new();
	struct lend_worker loan = lent(arena, size, 0, 0);

	ck_assert_uint_eq(stats_of(arena).retained_bytes,
			  page_buffer_bytes(size));
	returned(arena, &loan);
	arena_end(arena);
	arena = arena_new();
	loan = lent(arena, 0, size, 0);
	ck_assert_uint_eq(stats_of(arena).retained_bytes,
			  page_buffer_bytes(size));
	returned(arena, &loan);
	arena_end(arena);
}
END_TEST

/*
 * The first scatter scratch takes the need, rounded up to whole pages, as the
 * backend rounds extents; what it has is told.
 */
START_TEST(scatter_takes_the_need)
{
	size_t elements = (sizes[_i] + 7) / 8;
	lend_arena *arena = arena_new();
	struct lend_worker loan = lent(arena, 0, 0, elements);
	size_t bytes = loan.scatter_capacity * 8;

	ck_assert_uint_eq(bytes, scatter_bytes(elements));
	ck_assert_uint_ge(bytes, 8 * elements);
	ck_assert_uint_le(bytes, 8 * elements / 4 * 5 + 4096);
	ck_assert_uint_eq(bytes % 4096, 0);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, bytes);
	returned(arena, &loan);
	arena_end(arena);
}
END_TEST

/* When it grows it doubles, or takes the need where that is more. */
START_TEST(scatter_doubles_or_takes_the_need)
{
	lend_arena *arena = arena_new();
	struct lend_worker loan = lent(arena, 0, 0, 512);

	ck_assert_uint_eq(loan.scatter_capacity, 512);
	returned(arena, &loan);
	loan = lent(arena, 0, 0, 513);
	ck_assert_uint_eq(loan.scatter_capacity, 1024);
	returned(arena, &loan);
	loan = lent(arena, 0, 0, 1025);
	ck_assert_uint_eq(loan.scatter_capacity, 2048);
	returned(arena, &loan);
	/* Four times as much is asked for, and a little. */
	loan = lent(arena, 0, 0, 8193);
	ck_assert_uint_eq(loan.scatter_capacity, scatter_bytes(8193) / 8);
	ck_assert_uint_lt(loan.scatter_capacity, 16384);
	returned(arena, &loan);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* Buffers grow and never shrink: a smaller request finds them as they are. */
START_TEST(buffers_are_grow_only)
{
	lend_arena *arena = arena_new();
	struct lend_worker large = lent(arena, 100000, 50000, 3000), loan;
	struct lend_stats before, after;
	size_t allocs;

	returned(arena, &large);
	before = stats_of(arena);
	allocs = fault_counts().extent_allocs;
	ck_assert_uint_eq(before.growths, 3);
	for (size_t i = 0; i < SIZES && sizes[i] <= 65535; i++) {
		loan = lent(arena, sizes[i], sizes[i] / 2, sizes[i] / 30);
		ck_assert_ptr_eq(loan.a, large.a);
		ck_assert_ptr_eq(loan.tile, large.tile);
		ck_assert_ptr_eq(loan.scatter, large.scatter);
		ck_assert_uint_eq(loan.scatter_capacity,
				  large.scatter_capacity);
		returned(arena, &loan);
	}
	loan = lent(arena, 0, 0, 0);
	ck_assert_ptr_eq(loan.a, large.a);
	returned(arena, &loan);
	/* Up to the last byte of what they have. */
	loan = lent(arena, 131072, 65536, large.scatter_capacity);
	returned(arena, &loan);
	after = stats_of(arena);
	stats_same(&before, &after);
	ck_assert_uint_eq(fault_counts().extent_allocs, allocs);
	arena_end(arena);
}
END_TEST

/* Only what is too small grows; the others stay where they are. */
START_TEST(only_what_is_too_small_grows)
{
	lend_arena *arena = arena_new();
	struct lend_worker one = lent(arena, 4096, 4096, 512), two;

	returned(arena, &one);
	two = lent(arena, 4096, 4097, 512);
	ck_assert_ptr_eq(two.a, one.a);
	ck_assert_ptr_eq(two.scatter, one.scatter);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, 4 * 4096);
	ck_assert_uint_eq(stats_of(arena).growths, 4);
	/* What it replaced has been given back. */
	ck_assert_uint_eq(outstanding(), 4 * 4096);
	returned(arena, &two);
	arena_end(arena);
}
END_TEST

/*
 * Never zeroed, never copied: after a checkout, even one that grew a buffer
 * which had been written all over, no page of the new one has been touched.
 */
START_TEST(fresh_buffers_are_not_touched)
{
	lend_arena *arena = arena_new();
	struct lend_worker loan = lent(arena, 4 * MIB, 4 * MIB, MIB / 2);

	for (int round = 0; round < 2; round++) {
		ck_assert_uint_eq(process_present(loan.a, 4 * MIB), 0);
		ck_assert_uint_eq(process_present(loan.tile, 4 * MIB), 0);
		ck_assert_uint_eq(process_present(loan.scatter, 4 * MIB), 0);
		/* Nor by a return. */
		returned(arena, &loan);
		loan = lent(arena, 4 * MIB, 4 * MIB, MIB / 2);
	}
	memset(loan.a, 1, 4 * MIB);
	memset(loan.tile, 1, 4 * MIB);
	memset(loan.scatter, 1, 4 * MIB);
	ck_assert_uint_eq(process_present(loan.a, 4 * MIB), 4 * MIB);
	returned(arena, &loan);
	loan = lent(arena, 8 * MIB, 8 * MIB, MIB);
	ck_assert_uint_eq(process_present(loan.a, 8 * MIB), 0);
	ck_assert_uint_eq(process_present(loan.tile, 8 * MIB), 0);
	ck_assert_uint_eq(process_present(loan.scatter, 8 * MIB), 0);
	returned(arena, &loan);
	arena_end(arena);
}
END_TEST

/* Settled at every checkout and return: exact whenever nothing is out. */
START_TEST(accounts_follow_every_checkout_and_return)
{
	lend_arena *arena = arena_new();
	struct lend_stats stats = stats_of(arena);
	size_t grown = 0;

	ck_assert_uint_eq(stats.retained_bytes + stats.leased_bytes, 0);
	for (size_t i = 0; i < SIZES; i++) {
		struct lend_worker loan = lent(arena, sizes[i], sizes[i] / 3,
					       sizes[i] / 9);

		stats = stats_of(arena);
		ck_assert_uint_ge(stats.growths, grown);
		grown = stats.growths;
		ck_assert_uint_eq(stats.retained_bytes, outstanding());
		ck_assert_uint_eq(stats.leased_bytes, outstanding());
		ck_assert_uint_eq(stats.retained_bytes,
				  page_buffer_bytes(sizes[i]) +
				  page_buffer_bytes(sizes[i] / 3) +
				  loan.scatter_capacity * 8);
		ck_assert_uint_eq(stats.panel_bytes, 0);
		returned(arena, &loan);
		stats_settled(arena);
	}
	arena_end(arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("worker_size");
	TCase *first = watched_case(suite, "first");
	TCase *growth = watched_case(suite, "growth");

	tcase_add_loop_test(first, buffers_are_aligned_and_large_enough, 0,
			    SIZES);
	tcase_add_loop_test(first, page_buffers_are_powers_of_two, 0, SIZES);
	tcase_add_loop_test(first, scatter_takes_the_need, 0, SIZES);
	tcase_add_test(growth, scatter_doubles_or_takes_the_need);
	tcase_add_test(growth, buffers_are_grow_only);
	tcase_add_test(growth, only_what_is_too_small_grows);
	tcase_add_test(growth, fresh_buffers_are_not_touched);
	tcase_add_test(growth, accounts_follow_every_checkout_and_return);
	return suite_run_also(suite, confs);
}
