/* SPDX-License-Identifier: MIT */
/* Worker loans: whose slot it is, and when it has storage. */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "base/os.h"
#include "lend/lend.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/scale.h"
#include "support/suite.h"

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

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("worker");
	TCase *slot = watched_case(suite, "slot");
	TCase *arenas = watched_case(suite, "arenas");

	tcase_add_test(slot,
		       the_slot_is_made_at_the_first_call_and_found_again);
	tcase_add_test(slot, each_thread_has_a_slot_of_its_own);
	tcase_add_loop_test(slot, no_storage_is_a_null_pointer, 0, 8);
	tcase_add_test(slot, team_components_are_ignored);
	tcase_add_test(slot,
		       reuse_gives_the_same_buffers_and_allocates_nothing);
	tcase_add_test(slot, buffers_are_allocated_by_their_thread);
	tcase_add_test(arenas, loans_of_several_arenas_at_once);
	tcase_add_test(arenas, two_arenas_never_mix);
	return suite_run_also(suite, confs);
}
