/* SPDX-License-Identifier: MIT */
/*
 * fork(2): "a child may use every arena its parent had".  The forking
 * thread's loans are in the child what they were; those of other threads are
 * settled and counted as abandoned; what lay idle is for new threads to take.
 *
 * The parent's threads rest while it forks.  In test_fork_busy.c they do not.
 */
#include <check.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "lend/lend.h"
#include "support/crew.h"
#include "support/demand.h"
#include "support/family.h"
#include "support/fault.h"
#include "support/pattern.h"
#include "support/suite.h"

static const struct lend_req little = {
	.a_bytes = 5000, .tile_bytes = 3000, .worker_scatter = 100,
	.team_scatter = 100, .barriers = 2
};
static const struct lend_req large = {
	.a_bytes = 50000, .tile_bytes = 30000, .worker_scatter = 5000,
	.team_scatter = 5000, .barriers = 200
};

#define LENGTH 1000
#define PANEL 20000

/* Everything that one thread can have out. */
struct loans {
	lend_arena *arena;
	struct lend_worker worker, nested[2];
	struct lend_team lease;
};

static void
worker_out(lend_arena *arena, struct lend_worker *loan, uint64_t seed)
{
	demand(lend_worker_checkout(arena, &little, loan) == 0);
	demand(lend_worker_scatter_resize(arena, loan, LENGTH) == 0);
	pattern_write(loan->a, 4096, seed);
	pattern_write(loan->scatter, LENGTH * sizeof(int64_t), seed);
}

static void
worker_in(lend_arena *arena, struct lend_worker *loan, uint64_t seed)
{
	demand(loan->scatter_length == LENGTH);
	demand(pattern_holds(loan->a, 4096, seed));
	demand(pattern_holds(loan->scatter, LENGTH * sizeof(int64_t), seed));
	demand(lend_worker_return(arena, loan) == 0);
}

static void
team_out(lend_arena *arena, struct lend_team *lease, uint64_t seed)
{
	demand(lend_team_take(arena, &little, 2, 2, lease) == 0);
	demand(lend_team_panel(arena, lease, PANEL) == 0);
	demand(lend_team_scatter_resize(arena, lease, LENGTH) == 0);
	pattern_write(lease->panel, 4096, seed);
	pattern_write(lease->scatter, LENGTH * sizeof(int64_t), seed);
}

static void
team_in(lend_arena *arena, struct lend_team *lease, uint64_t seed)
{
	demand(lease->scatter_length == LENGTH);
	demand(pattern_holds(lease->panel, 4096, seed));
	demand(pattern_holds(lease->scatter, LENGTH * sizeof(int64_t), seed));
	demand(lend_team_return(arena, lease) == 0);
}

static void
all_out(struct loans *loans, uint64_t seed)
{
	worker_out(loans->arena, &loans->worker, seed);
	for (uint64_t i = 0; i < 2; i++)
		worker_out(loans->arena, &loans->nested[i], seed + 1 + i);
	team_out(loans->arena, &loans->lease, seed + 3);
}

/* In another order than they were taken. */
static void
all_in(struct loans *loans, uint64_t seed)
{
	worker_in(loans->arena, &loans->nested[0], seed + 1);
	team_in(loans->arena, &loans->lease, seed + 3);
	worker_in(loans->arena, &loans->worker, seed);
	worker_in(loans->arena, &loans->nested[1], seed + 2);
}

/* Each kind of loan once, without a loan out before. */
static void
use_arena(lend_arena *arena)
{
	struct loans loans = { .arena = arena };

	all_out(&loans, 1000);
	demand(lend_arena_destroy(arena) == -EBUSY);
	all_in(&loans, 1000);
	demand_accounts();
}

/* Own loans. */

static void
own_loans_serve(void *arg)
{
	struct loans *loans = arg;
	struct lend_stats stats = stats_now(loans->arena);
	struct lend_worker deeper;

	demand(stats.slots_out == 1 && stats.sets_out == 1);
	demand(stats.abandoned == 0);
	demand_accounts();
	/* They are out, so a trim leaves them, and another is re-entrant. */
	demand(lend_arena_trim(loans->arena) == 0);
	demand(stats_now(loans->arena).leased_bytes == stats.leased_bytes);
	demand(lend_worker_checkout(loans->arena, &large, &deeper) == 0);
	demand(stats_now(loans->arena).reentrant == stats.reentrant + 1);
	pattern_write(deeper.a, large.a_bytes, 9);
	demand(lend_worker_return(loans->arena, &deeper) == 0);
	demand(lend_team_panel(loans->arena, &loans->lease, 1) == 0);
	all_in(loans, 1);
	demand(lend_worker_return(loans->arena, &loans->worker) ==
	       -EALREADY);
	demand(lend_team_return(loans->arena, &loans->lease) == -EALREADY);
	demand(stats_now(loans->arena).abandoned == 0);
	demand(stats_now(loans->arena).leased_bytes == 0);
	demand_accounts();
	use_arena(loans->arena);
	demand_end(loans->arena);
}

START_TEST(own_loans_are_as_they_were)
{
	struct loans loans;

	ck_assert_int_eq(lend_arena_create(&loans.arena, NULL), 0);
	all_out(&loans, 1);
	ck_assert_int_eq(family_fork(own_loans_serve, &loans), 0);
	/* The child's returns were not the parent's. */
	own_loans_serve(&loans);
}
END_TEST

/* Each generation returns the loans as its parent left them. */
static void
generation(void *arg)
{
	struct loans *loans = arg;

	worker_in(loans->arena, &loans->nested[0], 2);
	worker_out(loans->arena, &loans->nested[0], 2);
	if (loans->worker.scatter_length == LENGTH) {
		loans->worker.scatter_length = 0;
		demand(family_fork(generation, loans) == 0);
		loans->worker.scatter_length = LENGTH;
	} else {
		loans->worker.scatter_length = LENGTH;
	}
	own_loans_serve(loans);
}

START_TEST(grandchildren_are_children)
{
	struct loans loans;

	ck_assert_int_eq(lend_arena_create(&loans.arena, NULL), 0);
	all_out(&loans, 1);
	ck_assert_int_eq(family_fork(generation, &loans), 0);
	all_in(&loans, 1);
	demand_end(loans.arena);
}
END_TEST

/* Others' loans. */

#define OTHERS 3

struct others {
	struct crew crew;
	struct crew heirs;	/* threads of the child */
	lend_arena *arena;
	struct loans own;	/* the forking thread's */
	struct loans loans[OTHERS];
	struct lend_stats before;
	int status;		/* the child's, where a thread forks */
};

/* Takes everything, waits for the fork, returns it. */
static void
lend_and_wait(size_t index, void *ctx)
{
	struct others *others = ctx;
	struct loans *loans = &others->loans[index];

	loans->arena = others->arena;
	all_out(loans, 100 * index);
	crew_step(&others->crew);
	crew_step(&others->crew);
	all_in(loans, 100 * index);
}

/* Loans of dead threads: a handle that still names one is refused. */
static void
handles_are_dead(struct loans *loans)
{
	demand(lend_worker_return(loans->arena, &loans->worker) ==
	       -EALREADY);
	demand(lend_worker_return(loans->arena, &loans->nested[1]) ==
	       -EALREADY);
	demand(lend_worker_scatter_resize(loans->arena, &loans->nested[0],
					  5) == -EALREADY);
	demand(lend_team_panel(loans->arena, &loans->lease, 5) == -EALREADY);
	demand(lend_team_return(loans->arena, &loans->lease) == -EALREADY);
}

/* New threads get the slots of the dead ones, whatever state those were in. */
static void
inherit(size_t index, void *ctx)
{
	struct others *others = ctx;
	struct loans loans = { .arena = others->arena };

	all_out(&loans, 10 * index);
	crew_step(&others->heirs);
	all_in(&loans, 10 * index);
}

static void
slots_are_inherited(struct others *others)
{
	struct lend_stats stats = stats_now(others->arena);

	crew_start(&others->heirs, OTHERS, inherit, others);
	crew_step(&others->heirs);
	crew_join(&others->heirs);
	demand(stats_now(others->arena).adopted == stats.adopted + OTHERS);
	demand(stats_now(others->arena).slots_idle == stats.slots_idle);
	demand_accounts();
}

static void
others_loans_are_settled(void *arg)
{
	struct others *others = arg;
	struct lend_stats stats = stats_now(others->arena);

	/* A slot, two re-entrant loans, a set of each. */
	demand(stats.abandoned == 4 * OTHERS);
	demand(stats.slots_out == 1 && stats.slots_idle == OTHERS);
	demand(stats.sets_out == 1 && stats.sets_idle == OTHERS);
	demand(stats.reentrant == others->before.reentrant);
	demand(stats.growths == others->before.growths);
	demand(stats.leased_bytes < others->before.leased_bytes);
	demand_accounts();
	for (int i = 0; i < OTHERS; i++)
		handles_are_dead(&others->loans[i]);
	demand(stats_now(others->arena).abandoned == 4 * OTHERS);
	if (CHILD_STARTS_THREADS)
		slots_are_inherited(others);
	/* Idle now, so this takes it; our own loans it leaves. */
	demand(lend_arena_trim(others->arena) == 0);
	demand(stats_now(others->arena).retained_bytes ==
	       stats_now(others->arena).leased_bytes);
	all_in(&others->own, 1);
	use_arena(others->arena);
	demand_end(others->arena);
}

START_TEST(others_loans_are_abandoned)
{
	struct others others = { .status = 0 };

	ck_assert_int_eq(lend_arena_create(&others.arena, NULL), 0);
	others.own.arena = others.arena;
	all_out(&others.own, 1);
	crew_start(&others.crew, OTHERS, lend_and_wait, &others);
	crew_step(&others.crew);
	others.before = stats_now(others.arena);
	ck_assert_uint_eq(others.before.slots_out, 1 + OTHERS);
	ck_assert_int_eq(family_fork(others_loans_are_settled, &others), 0);
	/* To the parent nothing has happened. */
	ck_assert_uint_eq(stats_now(others.arena).abandoned, 0);
	crew_step(&others.crew);
	crew_join(&others.crew);
	all_in(&others.own, 1);
	ck_assert_uint_eq(stats_now(others.arena).abandoned, 0);
	demand_end(others.arena);
}
END_TEST

/* The same, but it is not the main thread that forks. */
static void
fork_beside_others(size_t index, void *ctx)
{
	struct others *others = ctx;

	(void)index;
	others->own.arena = others->arena;
	all_out(&others->own, 1);
	others->before = stats_now(others->arena);
	others->status = family_fork(others_loans_are_settled, others);
	all_in(&others->own, 1);
}

START_TEST(any_thread_may_fork)
{
	struct others others = { .status = 0 };
	struct loans main_loans;
	struct crew forker;

	ck_assert_int_eq(lend_arena_create(&others.arena, NULL), 0);
	crew_start(&others.crew, OTHERS - 1, lend_and_wait, &others);
	crew_step(&others.crew);
	/* The main thread is one of the others. */
	others.loans[OTHERS - 1].arena = others.arena;
	all_out(&others.loans[OTHERS - 1], 500);
	crew_start(&forker, 1, fork_beside_others, &others);
	crew_join(&forker);
	ck_assert_int_eq(others.status, 0);
	main_loans = others.loans[OTHERS - 1];
	all_in(&main_loans, 500);
	crew_step(&others.crew);
	crew_join(&others.crew);
	demand_end(others.arena);
}
END_TEST

/* Idle storage. */

/* Meets the others while all have a loan out. */
static void
warm_together(size_t index, void *ctx)
{
	struct others *others = ctx;
	struct lend_worker loan;

	(void)index;
	demand(lend_worker_checkout(others->arena, &large, &loan) == 0);
	crew_step(&others->crew);
	demand(lend_worker_return(others->arena, &loan) == 0);
	crew_step(&others->crew);
	/* In the parent: until the fork is over. */
	crew_step(&others->crew);
}

static void
warm_again(size_t index, void *ctx)
{
	struct others *others = ctx;
	struct lend_worker loan;

	demand(lend_worker_checkout(others->arena, &large, &loan) == 0);
	pattern_write(loan.a, large.a_bytes, index);
	crew_step(&others->heirs);
	crew_step(&others->heirs);
	demand(pattern_holds(loan.a, large.a_bytes, index));
	demand(lend_worker_return(others->arena, &loan) == 0);
}

static void
idle_slots_are_adopted(void *arg)
{
	struct others *others = arg;
	struct lend_stats stats;

	demand_accounts();
	crew_start(&others->heirs, OTHERS, warm_again, others);
	crew_step(&others->heirs);
	stats = stats_now(others->arena);
	demand(stats.slots_out == OTHERS && stats.slots_idle == 0);
	demand(stats.adopted == others->before.adopted + OTHERS);
	demand(stats.growths == others->before.growths);
	demand(stats.retained_bytes == others->before.retained_bytes);
	demand(stats.leased_bytes == stats.retained_bytes);
	crew_step(&others->heirs);
	crew_join(&others->heirs);
	demand_accounts();
	demand_end(others->arena);
}

START_TEST(idle_storage_is_adopted)
{
	struct others others = { .status = 0 };

	ck_assert_int_eq(lend_arena_create(&others.arena, NULL), 0);
	crew_start(&others.crew, OTHERS, warm_together, &others);
	crew_step(&others.crew);
	crew_step(&others.crew);
	others.before = stats_now(others.arena);
	ck_assert_uint_eq(others.before.slots_idle, OTHERS);
	ck_assert_int_eq(family_fork(idle_slots_are_adopted, &others), 0);
	crew_step(&others.crew);
	crew_join(&others.crew);
	demand_end(others.arena);
}
END_TEST

static const char *const protocols[] = { "membarrier:false", NULL };

int
main(void)
{
	Suite *suite = suite_create("fork");
	TCase *loans = family_case(suite, "loans");

	tcase_add_test(loans, own_loans_are_as_they_were);
	tcase_add_test(loans, grandchildren_are_children);
	tcase_add_test(loans, others_loans_are_abandoned);
	tcase_add_test(loans, any_thread_may_fork);
	if (CHILD_STARTS_THREADS)
		tcase_add_test(loans, idle_storage_is_adopted);
	return suite_run_also(suite, protocols);
}
