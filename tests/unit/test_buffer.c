/* SPDX-License-Identifier: MIT */
/*
 * Plain buffers on one thread: their sizes, where a borrow finds one, what
 * the accounts say.
 */
#include "lend/buffer.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "arena/buffer_class.h"
#include "base/util.h"
#include "mem/extent.h"
#include "mem/init.h"
#include "support/audit.h"
#include "support/buffers.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/random.h"
#include "support/records.h"
#include "support/scale.h"
#include "support/suite.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)

/* Whether the own cache keeps so many bytes. */
static bool
cached(size_t bytes)
{
	return bytes <= lend__conf.buffer_cache;
}

/* "At most four per doubling", each the least that is large enough. */
START_TEST(classes_are_four_to_a_doubling)
{
	ck_assert_uint_eq(buffer_class(1), 0);
	ck_assert_uint_eq(buffer_class_bytes(0), 4096);
	for (uint32_t class = 1; class < BUFFER_CLASSES; class++) {
		size_t bytes = buffer_class_bytes(class);
		size_t below = buffer_class_bytes(class - 1);

		ck_assert_uint_gt(bytes, below);
		ck_assert_uint_eq(bytes % 4096, 0);
		ck_assert_uint_eq(buffer_class(bytes), class);
		ck_assert_uint_eq(buffer_class(below + 1), class);
		if (class >= 8)
			ck_assert_uint_eq(buffer_class_bytes(class - 4) * 2,
					  bytes);
	}
	ck_assert_uint_eq(buffer_class_bytes(BUFFER_CLASSES - 1),
			  BUFFER_BYTES_MAX);
}
END_TEST

/* "The next larger ones up to 25 % waste." */
START_TEST(what_serves_wastes_a_quarter_at_most)
{
	uint64_t random = 1;

	for (int i = 0; i < 100000; i++) {
		size_t bytes = 1 + (random_next(&random) >> 17 >>
				    random_below(&random, 46));
		uint32_t own = buffer_class(bytes);
		uint32_t last = buffer_class_last(bytes);

		ck_assert_uint_ge(last, own);
		if (bytes > 16 * KIB || last > own)
			ck_assert_uint_le(buffer_class_bytes(last) - bytes,
					  bytes / 4);
		if (last + 1 < BUFFER_CLASSES)
			ck_assert_uint_gt(buffer_class_bytes(last + 1) - bytes,
					  bytes / 4);
	}
}
END_TEST

/* "Page-aligned, of at least that size"; "its capacity can be asked." */
START_TEST(a_buffer_is_what_was_asked_for)
{
	static const size_t sizes[] = {
		1, 4095, 4096, 4097, 5000, 16 * KIB, 16 * KIB + 1, 100000,
		MIB, MIB + 1, 2 * MIB, 5 * MIB + 17, 33 * MIB
	};
	lend_arena *arena = arena_new();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		char *buffer = borrowed(arena, sizes[i]);
		size_t capacity = capacity_of(buffer);

		ck_assert_uint_eq((uintptr_t)buffer % 4096, 0);
		ck_assert_uint_ge(capacity, sizes[i]);
		ck_assert_uint_eq(capacity, outstanding());
		ck_assert_uint_eq(capacity, extent_size(buffer_class_bytes(
				  buffer_class(sizes[i]))));
		ck_assert_uint_eq(capacity, lend_buffer_size(sizes[i]));
		buffer[0] = 1;
		buffer[capacity - 1] = 2;
		ck_assert_uint_eq(stats_of(arena).leased_bytes, capacity);
		ck_assert_uint_eq(stats_of(arena).buffer_bytes, capacity);
		ck_assert_uint_eq(stats_of(arena).buffers_out, 1);
		ck_assert_uint_eq(stats_of(arena).buffers_idle, 0);
		ck_assert_ptr_null(audit_arena(arena).wrong);
		given_back(buffer);
		ck_assert_uint_eq(stats_of(arena).buffers_out, 0);
		ck_assert_uint_eq(stats_of(arena).buffers_idle, 1);
		stats_settled(arena);
		ck_assert_int_eq(lend_arena_trim(arena), 0);
		ck_assert_uint_eq(outstanding(), 0);
	}
	arena_end(arena);
}
END_TEST

/* Once it is there, a loan asks the backend for nothing. */
START_TEST(sizes_that_no_buffer_has_are_none)
{
	ck_assert_uint_eq(lend_buffer_size(0), 0);
	ck_assert_uint_eq(lend_buffer_size(BUFFER_BYTES_MAX + 1), 0);
	ck_assert_uint_eq(lend_buffer_size(SIZE_MAX), 0);
	ck_assert_uint_ge(lend_buffer_size(BUFFER_BYTES_MAX),
			  BUFFER_BYTES_MAX);
}
END_TEST

START_TEST(a_returned_buffer_is_lent_again)
{
	static const size_t sizes[] = { 1, 16 * KIB, 300 * KIB, 8 * MIB };
	lend_arena *arena = arena_new();

	for (size_t i = 0; i < 4; i++) {
		char *first = borrowed(arena, sizes[i]);
		struct fault_counts before, after;
		uint64_t growths;

		given_back(first);
		growths = stats_of(arena).growths;
		before = fault_counts();
		for (int n = 0; n < 100; n++) {
			char *again = borrowed(arena, sizes[i] - (n & (sizes[i] > 1)));

			ck_assert_ptr_eq(again, first);
			given_back(again);
		}
		after = fault_counts();
		counts_same(&before, &after);
		ck_assert_uint_eq(stats_of(arena).growths, growths);
	}
	ck_assert_ptr_null(audit_arena(arena).wrong);
	arena_end(arena);
}
END_TEST

/* In a cache the one that was returned last comes first: it is warmest. */
START_TEST(the_last_returned_is_lent_first)
{
	lend_arena *arena = arena_new();
	char *buffer[8];

	for (int i = 0; i < 8; i++)
		buffer[i] = borrowed(arena, 64 * KIB);
	for (int i = 0; i < 8; i++)
		given_back(buffer[i]);
	for (int i = 7; i >= 0; i--)
		if (borrowed(arena, 64 * KIB) != buffer[i])
			ck_assert(!cached(8 * 64 * KIB));
	for (int i = 0; i < 8; i++)
		given_back(buffer[i]);
	arena_end(arena);
}
END_TEST

START_TEST(a_larger_one_serves_within_a_quarter)
{
	lend_arena *arena = arena_new();
	char *more = borrowed(arena, MIB + 256 * KIB);
	char *most = borrowed(arena, MIB + 512 * KIB);
	char *own;

	given_back(most);
	own = borrowed(arena, MIB);
	ck_assert_ptr_ne(own, most);
	given_back(own);
	/* Its own class first. */
	given_back(more);
	ck_assert_ptr_eq(borrowed(arena, MIB), own);
	ck_assert_ptr_eq(borrowed(arena, MIB), more);
	ck_assert_uint_eq(capacity_of(more), MIB + 256 * KIB);
	/* No smaller one, for nothing at all. */
	given_back(more);
	ck_assert_ptr_eq(borrowed(arena, MIB + 256 * KIB + 1), most);
	ck_assert_ptr_eq(borrowed(arena, MIB + 1), more);
	given_back(own);
	given_back(more);
	given_back(most);
	ck_assert_uint_eq(stats_of(arena).buffers_idle, 3);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* What does not fit in the cache makes the others go to the lists. */
START_TEST(a_cache_is_bounded)
{
	lend_arena *arena = arena_new();
	size_t bytes = lend__conf.buffer_cache / 4 + 4096;
	char *buffer[9];

	bytes = size_min(bytes, 4 * MIB);
	for (int i = 0; i < 9; i++)
		buffer[i] = borrowed(arena, bytes);
	for (int i = 0; i < 9; i++) {
		given_back(buffer[i]);
		/* It looks at the bound. */
		ck_assert_ptr_null(audit_arena(arena).wrong);
	}
	ck_assert_uint_eq(stats_of(arena).buffers_idle, 9);
	stats_settled(arena);
	for (int i = 0; i < 9; i++)
		(void)borrowed(arena, bytes);
	ck_assert_uint_eq(stats_of(arena).growths, 9);
	for (int i = 0; i < 9; i++)
		given_back(buffer[i]);
	arena_end(arena);
}
END_TEST

/* So that what a thread no longer uses is there for others. */
START_TEST(a_full_cache_lets_all_go)
{
	lend_arena *arena = arena_new();
	size_t bytes = lend__conf.buffer_cache / 4 & ~(size_t)4095;
	char *buffer[4], *large, *other;

	if (bytes == 0) {
		arena_end(arena);
		return;
	}
	for (int i = 0; i < 4; i++)
		buffer[i] = borrowed(arena, bytes);
	bytes = capacity_of(buffer[0]);
	large = borrowed(arena, lend__conf.buffer_cache + 1);
	other = borrowed(arena, 2 * bytes);
	for (int i = 0; cached((size_t)(i + 1) * bytes); i++)
		given_back(buffer[i]);
	/* For what is too large for any cache nothing has to go. */
	given_back(large);
	ck_assert(!listed(arena, bytes));
	given_back(other);
	ck_assert(listed(arena, bytes));
	ck_assert(!listed(arena, 2 * bytes));
	give_back_all(arena);
	ck_assert_ptr_null(audit_arena(arena).wrong);
	arena_end(arena);
}
END_TEST

/* One loan more, of several arenas: each has its own. */
START_TEST(arenas_do_not_share_buffers)
{
	lend_arena *arena[3] = { arena_new(), arena_new(), arena_new() };
	char *buffer[3], *again;

	for (int i = 0; i < 3; i++) {
		buffer[i] = borrowed(arena[i], 128 * KIB);
		pattern_stain(buffer[i], 128 * KIB, 77);
	}
	for (int i = 0; i < 3; i++)
		given_back(buffer[i]);
	for (int i = 2; i >= 0; i--) {
		ck_assert_uint_eq(stats_of(arena[i]).buffers_idle, 1);
		again = borrowed(arena[i], 128 * KIB);
		ck_assert_ptr_eq(again, buffer[i]);
		given_back(again);
	}
	/* What one of them had does not come to another. */
	arena_end(arena[0]);
	for (int i = 0; i < 10; i++) {
		again = borrowed(arena[1], 64 * KIB + i * 16 * KIB);
		if (again != buffer[1])
			ck_assert_uint_eq(pattern_count(again, 64 * KIB, 77),
					  0);
	}
	ck_assert_int_eq(lend_arena_destroy(arena[1]), -EBUSY);
	give_back_all(arena[1]);
	arena_end(arena[1]);
	arena_end(arena[2]);
}
END_TEST

START_TEST(a_growth_is_traced)
{
	lend_arena *arena = arena_traced();
	char *buffer = borrowed(arena, 100000);

	given_back(buffer);
	(void)borrowed(arena, 100000);
	ck_assert_uint_eq(taken(arena), 1);
	ck_assert_int_eq(taken_record(0)->buffer, LEND_BUFFER_PLAIN);
	ck_assert_uint_eq(taken_record(0)->capacity, capacity_of(buffer));
	given_back(buffer);
	ck_assert_uint_eq(taken(arena), 0);
	arena_end(arena);
}
END_TEST

/* A worker loan and a buffer loan do not disturb each other. */
START_TEST(loans_of_all_kinds_go_together)
{
	lend_arena *arena = arena_new();
	struct lend_worker loan = lent(arena, 50000, 5000, 100);
	char *buffer = borrowed(arena, 70000);
	size_t worker = stats_of(arena).leased_bytes - capacity_of(buffer);

	ck_assert_uint_eq(stats_of(arena).slots_out, 1);
	returned(arena, &loan);
	ck_assert_uint_eq(stats_of(arena).leased_bytes, capacity_of(buffer));
	ck_assert_uint_eq(stats_of(arena).retained_bytes,
			  capacity_of(buffer) + worker);
	loan = lent(arena, 50000, 5000, 100);
	given_back(buffer);
	ck_assert_uint_eq(stats_of(arena).leased_bytes, worker);
	returned(arena, &loan);
	stats_settled(arena);
	ck_assert_ptr_null(audit_arena(arena).wrong);
	arena_end(arena);
}
END_TEST

#define OUT 40

/*
 * "Accounts ... exact after 10^5 random operations": against a model that
 * knows what is out, and what each class had out at most.
 */
START_TEST(the_accounts_are_exact_after_much)
{
	lend_arena *arena = arena_new();
	char *out[OUT] = { NULL };
	size_t bytes[OUT], leased = 0;
	uint64_t random = 5;

	for (unsigned i = scale(100000); i > 0; i--) {
		unsigned at = random_below(&random, OUT);
		struct lend_stats stats;

		if (out[at]) {
			ck_assert(pattern_holds(out[at], 8, at));
			given_back(out[at]);
			leased -= bytes[at];
			out[at] = NULL;
		} else {
			out[at] = borrowed(arena, 1 +
					   random_size(&random, MIB));
			bytes[at] = capacity_of(out[at]);
			leased += bytes[at];
			pattern_write(out[at], 8, at);
		}
		if (random_below(&random, 1000) == 0)
			ck_assert_int_eq(lend_arena_trim(arena), 0);
		if (random_below(&random, 100))
			continue;
		stats = stats_of(arena);
		ck_assert_uint_eq(stats.leased_bytes, leased);
		ck_assert_uint_eq(stats.retained_bytes, outstanding());
		ck_assert_ptr_null(audit_arena(arena).wrong);
	}
	give_back_all(arena);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* With a cache that keeps it, an idle buffer is in no list. */
START_TEST(the_cache_is_where_it_waits)
{
	lend_arena *arena = arena_new();
	char *buffer = borrowed(arena, 64 * KIB);

	given_back(buffer);
	ck_assert_int_eq(listed(arena, 64 * KIB), !cached(64 * KIB));
	arena_end(arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = {
		"membarrier:false", "buffer_cache:0", "buffer_cache:300K",
		"backend:mmap", NULL
	};
	Suite *suite = suite_create("buffer");
	TCase *class = suite_case(suite, "class");
	TCase *loan = watched_case(suite, "loan");

	tcase_add_test(class, classes_are_four_to_a_doubling);
	tcase_add_test(class, what_serves_wastes_a_quarter_at_most);
	tcase_add_test(class, sizes_that_no_buffer_has_are_none);
	tcase_add_test(loan, a_buffer_is_what_was_asked_for);
	tcase_add_test(loan, a_returned_buffer_is_lent_again);
	tcase_add_test(loan, the_last_returned_is_lent_first);
	tcase_add_test(loan, a_larger_one_serves_within_a_quarter);
	tcase_add_test(loan, a_cache_is_bounded);
	tcase_add_test(loan, a_full_cache_lets_all_go);
	tcase_add_test(loan, the_cache_is_where_it_waits);
	tcase_add_test(loan, arenas_do_not_share_buffers);
	tcase_add_test(loan, a_growth_is_traced);
	tcase_add_test(loan, loans_of_all_kinds_go_together);
	tcase_add_test(loan, the_accounts_are_exact_after_much);
	return suite_run_also(suite, confs);
}
