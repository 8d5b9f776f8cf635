/* SPDX-License-Identifier: MIT */
/* Worker loans: slots and their buffers. */
#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/os.h"
#include "lend/lend.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/scale.h"
#include "support/suite.h"

#define MIB ((size_t)1 << 20)

/* A thread's first call makes its slot; every later one finds the same. */
START_TEST(the_slot_is_made_at_the_first_call_and_found_again)
{
	lend_arena *arena = arena_new();
	struct lend_stats stats = stats_of(arena);
	struct lend_worker loan;

	ck_assert_uint_eq(stats.slots_idle + stats.slots_out, 0);
	for (int i = 0; i < 100; i++) {
		loan = lent(arena, 1, 1, 1);
		stats = stats_of(arena);
		ck_assert_uint_eq(stats.slots_out, 1);
		ck_assert_uint_eq(stats.slots_idle, 0);
		returned(arena, &loan);
		stats = stats_of(arena);
		ck_assert_uint_eq(stats.slots_out, 0);
		ck_assert_uint_eq(stats.slots_idle, 1);
	}
	ck_assert_uint_eq(stats.adopted, 0);
	ck_assert_uint_eq(stats.reentrant, 0);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

struct many {
	lend_arena *arena;
	struct crew crew;
	struct lend_worker loan[CREW_MAX];
	int errors[CREW_MAX];
};

static void
hold_a_loan(size_t self, void *ctx)
{
	struct many *many = ctx;
	struct lend_req req = worker_req(8192, 4096, 512);

	many->errors[self] = lend_worker_checkout(many->arena, &req,
						  &many->loan[self]);
	if (many->errors[self] == 0)
		use(&many->loan[self], &req);
	crew_step(&many->crew);
	/* The main thread looks. */
	crew_step(&many->crew);
	if (many->errors[self] == 0)
		many->errors[self] = lend_worker_return(many->arena,
							&many->loan[self]);
	crew_step(&many->crew);
	crew_step(&many->crew);
}

/* One slot for each thread, none of them shared. */
START_TEST(each_thread_has_a_slot_of_its_own)
{
	static struct many many;
	struct lend_stats stats;

	memset(&many, 0, sizeof(many));
	many.arena = arena_new();
	crew_start(&many.crew, 6, hold_a_loan, &many);
	crew_step(&many.crew);
	stats = stats_of(many.arena);
	ck_assert_uint_eq(stats.slots_out, 6);
	ck_assert_uint_eq(stats.leased_bytes, 6 * 4 * 4096);
	ck_assert_uint_eq(stats.retained_bytes, 6 * 4 * 4096);
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(many.errors[i], 0);
		for (int j = 0; j < i; j++) {
			ck_assert_ptr_ne(many.loan[i].a, many.loan[j].a);
			ck_assert_ptr_ne(many.loan[i].tile,
					 many.loan[j].tile);
			ck_assert_ptr_ne(many.loan[i].scatter,
					 many.loan[j].scatter);
		}
	}
	crew_step(&many.crew);
	crew_step(&many.crew);
	stats = stats_of(many.arena);
	ck_assert_uint_eq(stats.slots_idle, 6);
	ck_assert_uint_eq(stats.reentrant, 0);
	stats_settled(many.arena);
	crew_step(&many.crew);
	crew_join(&many.crew);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(many.errors[i], 0);
	arena_end(many.arena);
}
END_TEST

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

/* A component of zero never allocates, and is a null pointer. */
START_TEST(no_storage_is_a_null_pointer)
{
	bool a = _i & 1, tile = _i & 2, scatter = _i & 4;
	lend_arena *arena = arena_new();
	struct lend_worker loan;

	for (int round = 0; round < 2; round++) {
		loan = lent(arena, a ? 5000 : 0, tile ? 100 : 0,
			    scatter ? 10 : 0);
		ck_assert(!loan.a == !a);
		ck_assert(!loan.tile == !tile);
		ck_assert(!loan.scatter == !scatter);
		ck_assert(!loan.scatter_capacity == !scatter);
		ck_assert_uint_eq(fault_counts().extent_allocs,
				  (size_t)a + tile + scatter);
		ck_assert_uint_eq(stats_of(arena).growths,
				  (size_t)a + tile + scatter);
		returned(arena, &loan);
	}
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* The team's components of the request are no concern of a worker. */
START_TEST(team_components_are_ignored)
{
	struct lend_req req = {
		.b_bytes = SIZE_MAX, .team_scatter = SIZE_MAX,
		.barriers = SIZE_MAX
	};
	lend_arena *arena = arena_new();
	struct lend_worker loan = checkout(arena, &req);

	ck_assert_uint_eq(fault_counts().extent_allocs, 0);
	returned(arena, &loan);
	arena_end(arena);
}
END_TEST

/* The second loan that fits is the same storage, and asks nobody for any. */
START_TEST(reuse_gives_the_same_buffers_and_allocates_nothing)
{
	lend_arena *arena = arena_new();
	struct lend_worker first = lent(arena, 70000, 5000, 600), loan;
	struct fault_counts before, after;

	returned(arena, &first);
	before = fault_counts();
	for (unsigned i = 0; i < scale(10000); i++) {
		loan = lent(arena, 70000, 5000, 600);
		if (loan.a != first.a || loan.tile != first.tile ||
		    loan.scatter != first.scatter)
			ck_abort_msg("loan %u", i);
		returned(arena, &loan);
	}
	after = fault_counts();
	ck_assert_uint_eq(after.extent_allocs, before.extent_allocs);
	ck_assert_uint_eq(after.extent_frees, before.extent_frees);
	ck_assert_uint_eq(after.pages_allocs, before.pages_allocs);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

struct who {
	lend_arena *arena;
	pid_t thread;
	int errors;
	size_t records, of_others;
};

static void
check_who(const struct lend_trace_record *record, void *ctx)
{
	struct who *who = ctx;

	who->records++;
	who->of_others += record->thread != who->thread;
}

static void *
grow_and_tell(void *arg)
{
	struct who *who = arg;
	struct lend_req req = worker_req(70000, 70000, 0);
	struct lend_worker loan;

	who->thread = os_thread_id();
	who->errors = lend_worker_checkout(who->arena, &req, &loan);
	if (who->errors == 0)
		who->errors = lend_worker_return(who->arena, &loan);
	return NULL;
}

/* Buffers are allocated by the thread that will write them, not for it. */
START_TEST(buffers_are_allocated_by_their_thread)
{
	struct who who = { .arena = arena_traced() };
	struct lend_worker loan = lent(who.arena, 70000, 70000, 0);

	who.thread = os_thread_id();
	ck_assert_int_eq(lend_trace_take(who.arena, check_who, &who), 2);
	ck_assert_uint_eq(who.of_others, 0);
	in_thread(grow_and_tell, &who);
	ck_assert_int_eq(who.errors, 0);
	ck_assert_int_ne(who.thread, os_thread_id());
	ck_assert_int_eq(lend_trace_take(who.arena, check_who, &who), 2);
	ck_assert_uint_eq(who.of_others, 0);
	ck_assert_uint_eq(who.records, 4);
	returned(who.arena, &loan);
	arena_end(who.arena);
}
END_TEST

/* A thread may hold loans of several arenas, returned in any order. */
START_TEST(loans_of_several_arenas_at_once)
{
	enum { ARENAS = 5 };
	static const int order[ARENAS] = { 2, 0, 4, 3, 1 };
	lend_arena *arena[ARENAS];
	struct lend_worker loan[ARENAS], again;
	size_t all = 0;

	for (int i = 0; i < ARENAS; i++) {
		arena[i] = arena_new();
		loan[i] = lent(arena[i], 4096u << i, 4096, 0);
		pattern_write(loan[i].a, 4096u << i, (uint64_t)i);
		all += (4096u << i) + 4096;
	}
	ck_assert_uint_eq(outstanding(), all);
	for (int i = 0; i < ARENAS; i++) {
		struct lend_stats stats = stats_of(arena[i]);

		ck_assert(pattern_holds(loan[i].a, 4096u << i, (uint64_t)i));
		ck_assert_uint_eq(stats.leased_bytes, (4096u << i) + 4096);
		ck_assert_uint_eq(stats.retained_bytes, (4096u << i) + 4096);
		ck_assert_uint_eq(stats.slots_out, 1);
		/* Each is the slot's: none counts as nested in another's. */
		ck_assert_uint_eq(stats.reentrant, 0);
	}
	for (int i = 0; i < ARENAS; i++) {
		int which = order[i];

		returned(arena[which], &loan[which]);
		ck_assert_uint_eq(stats_of(arena[which]).leased_bytes, 0);
		again = lent(arena[which], 1, 1, 0);
		ck_assert_ptr_eq(again.a, loan[which].a);
		returned(arena[which], &again);
	}
	for (int i = 0; i < ARENAS; i++)
		arena_end(arena[i]);
}
END_TEST

/* What one arena lends comes back to it: another has buffers of its own. */
START_TEST(two_arenas_never_mix)
{
	lend_arena *one = arena_new(), *two = arena_new();
	struct lend_worker first[2], loan;

	first[0] = lent(one, 8192, 8192, 1024);
	first[1] = lent(two, 8192, 8192, 1024);
	ck_assert_ptr_ne(first[0].a, first[1].a);
	ck_assert_ptr_ne(first[0].tile, first[1].tile);
	ck_assert_ptr_ne(first[0].scatter, first[1].scatter);
	returned(one, &first[0]);
	returned(two, &first[1]);
	for (int i = 0; i < 100; i++) {
		loan = lent(i % 2 ? one : two, 8192, 8192, 1024);
		ck_assert_ptr_eq(loan.a, first[i % 2 ? 0 : 1].a);
		ck_assert_ptr_eq(loan.tile, first[i % 2 ? 0 : 1].tile);
		ck_assert_ptr_eq(loan.scatter, first[i % 2 ? 0 : 1].scatter);
		returned(i % 2 ? one : two, &loan);
	}
	/* Idle storage of the one does not serve the other's growth. */
	loan = lent(two, 100000, 0, 0);
	ck_assert_uint_eq(stats_of(one).retained_bytes, 3 * 8192);
	ck_assert_uint_eq(stats_of(two).retained_bytes, 131072 + 2 * 8192);
	ck_assert_uint_eq(outstanding(), 131072 + 5 * 8192);
	returned(two, &loan);
	arena_end(one);
	loan = lent(two, 1, 1, 1);
	use(&loan, &(struct lend_req){ 8192, 8192, 1024, 0, 0, 0 });
	returned(two, &loan);
	stats_settled(two);
	arena_end(two);
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
	Suite *suite = suite_create("worker");
	TCase *slot = watched_case(suite, "slot");
	TCase *size = watched_case(suite, "size");
	TCase *arenas = watched_case(suite, "arenas");

	tcase_add_test(slot,
		       the_slot_is_made_at_the_first_call_and_found_again);
	tcase_add_test(slot, each_thread_has_a_slot_of_its_own);
	tcase_add_loop_test(slot, no_storage_is_a_null_pointer, 0, 8);
	tcase_add_test(slot, team_components_are_ignored);
	tcase_add_test(slot,
		       reuse_gives_the_same_buffers_and_allocates_nothing);
	tcase_add_test(slot, buffers_are_allocated_by_their_thread);
	tcase_add_test(slot, fresh_buffers_are_not_touched);
	tcase_add_loop_test(size, buffers_are_aligned_and_large_enough, 0,
			    SIZES);
	tcase_add_loop_test(size, page_buffers_are_powers_of_two, 0, SIZES);
	tcase_add_loop_test(size, scatter_takes_the_need, 0, SIZES);
	tcase_add_test(size, scatter_doubles_or_takes_the_need);
	tcase_add_test(size, buffers_are_grow_only);
	tcase_add_test(size, only_what_is_too_small_grows);
	tcase_add_test(arenas, loans_of_several_arenas_at_once);
	tcase_add_test(arenas, two_arenas_never_mix);
	tcase_add_test(arenas, accounts_follow_every_checkout_and_return);
	return suite_run(suite);
}
