/* SPDX-License-Identifier: MIT */
/*
 * Worker loans: a checkout on a thread whose loan of that arena is out gets
 * fresh buffers, private to that call, freed at its return.
 */
#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lend/lend.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define DEEPEST 200

/* Pages that every loan of a tower has: one of each buffer. */
#define A_BYTES 4096
#define TILE_BYTES 4096
#define ELEMENTS 512
#define LOAN_BYTES ((size_t)3 * 4096)

/* Loans on top of each other, number 0 the slot's. */
struct tower {
	lend_arena *arena;
	int depth;
	struct lend_worker loan[DEEPEST];
};

static void
mark(struct lend_worker *loan, int i)
{
	pattern_write(loan->a, A_BYTES, (uint64_t)i);
	pattern_write(loan->tile, TILE_BYTES, (uint64_t)i + 1000);
	pattern_write(loan->scatter, 8 * ELEMENTS, (uint64_t)i + 2000);
}

static bool
is_marked(const struct lend_worker *loan, int i)
{
	return pattern_holds(loan->a, A_BYTES, (uint64_t)i) &&
	       pattern_holds(loan->tile, TILE_BYTES, (uint64_t)i + 1000) &&
	       pattern_holds(loan->scatter, 8 * ELEMENTS,
			     (uint64_t)i + 2000);
}

static void
tower_build(struct tower *tower, lend_arena *arena, int depth)
{
	tower->arena = arena;
	tower->depth = depth;
	for (int i = 0; i < depth; i++) {
		tower->loan[i] = lent(arena, A_BYTES, TILE_BYTES, ELEMENTS);
		mark(&tower->loan[i], i);
	}
}

/* Every one still has what was written to it: none shares with another. */
static void
tower_stands(const struct tower *tower)
{
	for (int i = 0; i < tower->depth; i++)
		if (!is_marked(&tower->loan[i], i))
			ck_abort_msg("loan %d of %d", i, tower->depth);
}

static void
tower_take_down(struct tower *tower)
{
	for (int i = tower->depth; i-- > 0;) {
		ck_assert(is_marked(&tower->loan[i], i));
		returned(tower->arena, &tower->loan[i]);
	}
}

/* To depth 8, and to depth 200: nesting has no limit. */
static const int depths[] = { 2, 8, DEEPEST };

static int
compare_addresses(const void *one, const void *two)
{
	const char *const *a = one, *const *b = two;

	return *a < *b ? -1 : *a > *b;
}

/* Every buffer of every loan is its own, page-aligned, and can be written. */
START_TEST(nested_loans_are_distinct)
{
	static struct tower tower;
	static char *page[3 * DEEPEST];
	int pages = 0;

	tower_build(&tower, arena_new(), depths[_i]);
	tower_stands(&tower);
	for (int i = 0; i < tower.depth; i++) {
		page[pages++] = tower.loan[i].a;
		page[pages++] = tower.loan[i].tile;
		page[pages++] = (char *)tower.loan[i].scatter;
	}
	qsort(page, (size_t)pages, sizeof(page[0]), compare_addresses);
	for (int i = 0; i < pages; i++) {
		ck_assert_uint_eq((uintptr_t)page[i] % 4096, 0);
		if (i)
			ck_assert_int_ge(page[i] - page[i - 1], 4096);
	}
	tower_take_down(&tower);
	stats_settled(tower.arena);
	arena_end(tower.arena);
}
END_TEST

/* They are in nobody's account, and counted as what they are. */
START_TEST(nested_loans_are_not_in_the_accounts)
{
	static struct tower tower;
	size_t nested = (size_t)depths[_i] - 1;
	struct lend_stats stats, after;

	tower_build(&tower, arena_new(), depths[_i]);
	stats = stats_of(tower.arena);
	ck_assert_uint_eq(stats.retained_bytes, LOAN_BYTES);
	ck_assert_uint_eq(stats.leased_bytes, LOAN_BYTES);
	ck_assert_uint_eq(stats.slots_out, 1);
	ck_assert_uint_eq(stats.slots_idle, 0);
	ck_assert_uint_eq(stats.growths, 3);
	ck_assert_uint_eq(stats.reentrant, nested);
	ck_assert_uint_eq(outstanding(), (nested + 1) * LOAN_BYTES);
	tower_take_down(&tower);
	stats.leased_bytes = 0;
	stats.slots_out = 0;
	stats.slots_idle = 1;
	after = stats_of(tower.arena);
	stats_same(&stats, &after);
	stats_settled(tower.arena);
	arena_end(tower.arena);
}
END_TEST

static void
count_record(const struct lend_trace_record *record, void *ctx)
{
	(void)record;
	++*(int *)ctx;
}

START_TEST(nested_loans_are_not_traced)
{
	static struct tower tower;
	int records = 0;

	tower_build(&tower, arena_traced(), depths[_i]);
	/* A block and tile of the slot. */
	ck_assert_int_eq(lend_trace_take(tower.arena, count_record, &records),
			 2);
	ck_assert_int_eq(records, 2);
	tower_take_down(&tower);
	ck_assert_int_eq(lend_trace_take(tower.arena, count_record, &records),
			 0);
	arena_end(tower.arena);
}
END_TEST

/* Their storage goes at the return, one by one. */
START_TEST(nested_loans_are_freed_at_return)
{
	static struct tower tower;

	tower_build(&tower, arena_new(), depths[_i]);
	for (int i = tower.depth; i-- > 1;) {
		ck_assert_uint_eq(outstanding(),
				  ((size_t)i + 1) * LOAN_BYTES);
		returned(tower.arena, &tower.loan[i]);
		ck_assert_uint_eq(outstanding(), (size_t)i * LOAN_BYTES);
	}
	/* The slot's own stays with the arena. */
	returned(tower.arena, &tower.loan[0]);
	ck_assert_uint_eq(outstanding(), LOAN_BYTES);
	arena_end(tower.arena);
}
END_TEST

/* Any order of returns will do: each of them frees its own. */
START_TEST(nested_loans_return_in_any_order)
{
	static struct tower tower;
	bool out[DEEPEST];
	uint64_t state = (uint64_t)_i;
	int left = depths[_i], depth = depths[_i];

	tower_build(&tower, arena_new(), depth);
	memset(out, true, sizeof(out));
	while (left > 0) {
		int i = (int)random_below(&state, (unsigned)depth);

		if (!out[i])
			continue;
		ck_assert(is_marked(&tower.loan[i], i));
		returned(tower.arena, &tower.loan[i]);
		out[i] = false;
		left--;
		ck_assert_uint_eq(stats_of(tower.arena).slots_out, out[0]);
		/* The slot's storage counts whether it is out or not. */
		ck_assert_uint_eq(outstanding(),
				  ((size_t)left + !out[0]) * LOAN_BYTES);
	}
	stats_settled(tower.arena);
	arena_end(tower.arena);
}
END_TEST

/*
 * The slot's loan may be returned before the nested ones: the next checkout
 * is then the slot's again, with its old buffers.
 */
START_TEST(the_slot_serves_again_while_nested_loans_are_out)
{
	lend_arena *arena = arena_new();
	struct lend_worker first = lent(arena, A_BYTES, TILE_BYTES, ELEMENTS);
	struct lend_worker nested = lent(arena, A_BYTES, TILE_BYTES, ELEMENTS);
	struct lend_worker again;

	mark(&nested, 7);
	returned(arena, &first);
	for (int i = 0; i < 10; i++) {
		again = lent(arena, A_BYTES, TILE_BYTES, ELEMENTS);
		ck_assert_ptr_eq(again.a, first.a);
		mark(&again, i);
		returned(arena, &again);
	}
	ck_assert_uint_eq(stats_of(arena).reentrant, 1);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	ck_assert(is_marked(&nested, 7));
	returned(arena, &nested);
	ck_assert_uint_eq(outstanding(), 0);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* A nested loan has what it asks for, not what the slot has. */
START_TEST(nested_loans_have_the_size_that_they_ask_for)
{
	static const size_t sizes[] = { 1, 4097, 70000, 3000000 };
	lend_arena *arena = arena_new();
	struct lend_worker slot = lent(arena, 100, 100, 100), nested;
	size_t before = outstanding();

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct lend_req req = worker_req(sizes[i], sizes[i] / 2 + 1,
						 sizes[i] / 8 + 1);

		nested = checkout(arena, &req);
		use(&nested, &req);
		ck_assert_uint_eq((uintptr_t)nested.a % 4096, 0);
		ck_assert_uint_eq((uintptr_t)nested.tile % 4096, 0);
		ck_assert_uint_eq((uintptr_t)nested.scatter % 4096, 0);
		ck_assert_uint_eq(nested.scatter_length, 0);
		ck_assert_uint_eq(nested.scatter_capacity,
				  scatter_bytes(req.worker_scatter) / 8);
		ck_assert_uint_eq(outstanding() - before,
				  page_buffer_bytes(req.a_bytes) +
				  page_buffer_bytes(req.tile_bytes) +
				  scatter_bytes(req.worker_scatter));
		returned(arena, &nested);
		ck_assert_uint_eq(outstanding(), before);
	}
	returned(arena, &slot);
	arena_end(arena);
}
END_TEST

/* A component of zero allocates nothing here either, and is null. */
START_TEST(nested_loans_of_nothing)
{
	lend_arena *arena = arena_new();
	struct lend_worker slot = lent(arena, 1, 1, 1), nested;

	nested = lent(arena, 0, 0, 0);
	ck_assert_ptr_null(nested.a);
	ck_assert_ptr_null(nested.tile);
	ck_assert_ptr_null(nested.scatter);
	ck_assert_uint_eq(nested.scatter_capacity, 0);
	ck_assert_uint_eq(fault_counts().extent_allocs, 3);
	returned(arena, &nested);
	nested = lent(arena, 0, 1, 0);
	ck_assert_ptr_null(nested.a);
	ck_assert_ptr_nonnull(nested.tile);
	ck_assert_uint_eq(fault_counts().extent_allocs, 4);
	returned(arena, &nested);
	returned(arena, &slot);
	arena_end(arena);
}
END_TEST

/* A size that no buffer can have is refused before anything changes. */
START_TEST(a_nested_loan_that_overflows_changes_nothing)
{
	struct lend_req req = worker_req(4096, SIZE_MAX, 0);
	lend_arena *arena = arena_new();
	struct lend_worker slot = lent(arena, 1, 1, 1), nested;
	struct lend_stats before = stats_of(arena), after;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(lend_worker_checkout(arena, &req, &nested),
				 -EOVERFLOW);
		after = stats_of(arena);
		stats_same(&before, &after);
		ck_assert_uint_eq(fault_counts().extent_allocs, 3);
	}
	returned(arena, &slot);
	arena_end(arena);
}
END_TEST

/* Each arena nests for itself. */
START_TEST(nesting_in_one_arena_is_none_in_another)
{
	lend_arena *one = arena_new(), *two = arena_new();
	struct lend_worker loan[4];

	loan[0] = lent(one, 4096, 0, 0);
	loan[1] = lent(two, 4096, 0, 0);
	loan[2] = lent(one, 4096, 0, 0);
	loan[3] = lent(two, 4096, 0, 0);
	ck_assert_uint_eq(stats_of(one).reentrant, 1);
	ck_assert_uint_eq(stats_of(two).reentrant, 1);
	ck_assert_uint_eq(stats_of(one).leased_bytes, 4096);
	ck_assert_uint_eq(stats_of(two).leased_bytes, 4096);
	returned(two, &loan[1]);
	returned(one, &loan[2]);
	returned(two, &loan[3]);
	returned(one, &loan[0]);
	arena_end(one);
	arena_end(two);
}
END_TEST

/* Bookkeeping is used again: many nested loans cost as much as the deepest. */
START_TEST(bookkeeping_of_nested_loans_is_used_again)
{
	lend_arena *arena = arena_new();
	static struct tower tower;
	size_t pages = 0;

	for (unsigned i = 0; i < scale(200); i++) {
		tower_build(&tower, arena, 20);
		tower_take_down(&tower);
		if (i == 0)
			pages = fault_counts().pages_allocs;
	}
	ck_assert_uint_eq(fault_counts().pages_allocs, pages);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* Destroy is refused while a nested loan is out, even if the slot's is in. */
START_TEST(destroy_waits_for_nested_loans)
{
	lend_arena *arena = arena_new();
	struct lend_worker slot = lent(arena, A_BYTES, TILE_BYTES, ELEMENTS);
	struct lend_worker nested = lent(arena, A_BYTES, TILE_BYTES, ELEMENTS);

	returned(arena, &slot);
	ck_assert_int_eq(lend_arena_destroy(arena), -EBUSY);
	ck_assert_uint_eq(outstanding(), 2 * LOAN_BYTES);
	mark(&nested, 1);
	returned(arena, &nested);
	arena_end(arena);
}
END_TEST

struct towers {
	lend_arena *arena;
	unsigned rounds;
	int errors[CREW_MAX];
};

static void
nest_and_return(size_t self, void *ctx)
{
	struct towers *all = ctx;
	struct lend_req req = worker_req(A_BYTES, TILE_BYTES, ELEMENTS);
	struct lend_worker loan[6];
	int base = (int)self * 100;

	for (unsigned round = 0; round < all->rounds; round++) {
		for (int i = 0; i < 6; i++) {
			if (lend_worker_checkout(all->arena, &req, &loan[i])) {
				all->errors[self]++;
				return;
			}
			mark(&loan[i], base + i);
		}
		for (int j = 0; j < 6; j++) {
			/* Any order: 0 1 2 3 4 5, 1 2 3 4 5 0, ... */
			int i = (j + (int)round) % 6;

			all->errors[self] += !is_marked(&loan[i], base + i);
			all->errors[self] += lend_worker_return(all->arena,
								&loan[i]) != 0;
		}
	}
}

/* Many threads nest at once in one arena, each for itself. */
START_TEST(threads_nest_at_once)
{
	struct towers all = { .arena = arena_new(), .rounds = scale(500) };
	struct lend_stats stats;

	crew_run(4, nest_and_return, &all);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(all.errors[i], 0);
	stats = stats_of(all.arena);
	ck_assert_uint_eq(stats.reentrant, (uint64_t)4 * 5 * all.rounds);
	ck_assert_uint_eq(stats.abandoned, 0);
	ck_assert_uint_le(stats.slots_idle, 4);
	stats_settled(all.arena);
	arena_end(all.arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("worker_nested");
	TCase *tower = watched_case(suite, "tower");
	TCase *loan = watched_case(suite, "loan");

	tcase_add_loop_test(tower, nested_loans_are_distinct, 0, 3);
	tcase_add_loop_test(tower, nested_loans_are_not_in_the_accounts, 0, 3);
	tcase_add_loop_test(tower, nested_loans_are_not_traced, 0, 3);
	tcase_add_loop_test(tower, nested_loans_are_freed_at_return, 0, 3);
	tcase_add_loop_test(tower, nested_loans_return_in_any_order, 0, 3);
	tcase_add_test(tower, bookkeeping_of_nested_loans_is_used_again);
	tcase_add_test(tower, threads_nest_at_once);
	tcase_add_test(loan,
		       the_slot_serves_again_while_nested_loans_are_out);
	tcase_add_test(loan, nested_loans_have_the_size_that_they_ask_for);
	tcase_add_test(loan, nested_loans_of_nothing);
	tcase_add_test(loan, a_nested_loan_that_overflows_changes_nothing);
	tcase_add_test(loan, nesting_in_one_arena_is_none_in_another);
	tcase_add_test(loan, destroy_waits_for_nested_loans);
	return suite_run_also(suite, confs);
}
