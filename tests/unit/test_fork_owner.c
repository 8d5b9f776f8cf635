/* SPDX-License-Identifier: MIT */
/*
 * fork(2), seen by what stands around loans: callbacks, limits, traces,
 * workspaces and pools, arenas that the child makes.
 */
#include <check.h>
#include <errno.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lend/lend.h"
#include "support/crew.h"
#include "support/demand.h"
#include "support/family.h"
#include "support/fault.h"
#include "support/pattern.h"
#include "support/suite.h"

#define KIB ((size_t)1024)

static const struct lend_req req = {
	.a_bytes = 64 * KIB, .tile_bytes = 16 * KIB, .worker_scatter = 512,
	.b_bytes = 128 * KIB, .team_scatter = 512, .barriers = 2
};

/* Callbacks. */

static void
fork_inside(struct lend_worker *loan, void *ctx)
{
	pid_t *pid = ctx;

	pattern_write(loan->a, req.a_bytes, 1);
	*pid = fork();
	demand(pattern_holds(loan->a, req.a_bytes, 1));
	pattern_write(loan->tile, req.tile_bytes, (uint64_t)*pid);
}

/* "Returns the slot whatever ends the callback", in both processes. */
START_TEST(callback_ends_in_both)
{
	lend_arena *arena;
	pid_t pid = -1;
	int status;

	ck_assert_int_eq(lend_arena_create(&arena, NULL), 0);
	ck_assert_int_eq(lend_with_worker(arena, &req, fork_inside, &pid), 0);
	if (pid == 0) {
		demand(stats_now(arena).slots_out == 0);
		demand(stats_now(arena).abandoned == 0);
		demand_accounts();
		demand_end(arena);
		_exit(0);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	demand(stats_now(arena).slots_out == 0);
	demand_end(arena);
}
END_TEST

/* Limits. */

struct shared {
	struct crew crew;
	lend_arena *arena;
	struct lend_worker loan;
	lend_workspace *ws;
	lend_pool *pool;
	struct lend_stats before;
	size_t records;
	size_t foreign;		/* records of other threads */
};

static void
hold_and_wait(size_t index, void *ctx)
{
	struct shared *shared = ctx;
	struct lend_worker loan;

	(void)index;
	demand(lend_worker_checkout(shared->arena, &req, &loan) == 0);
	demand(lend_worker_scatter_resize(shared->arena, &loan, 2048) == 0);
	crew_step(&shared->crew);
	crew_step(&shared->crew);
	demand(lend_worker_return(shared->arena, &loan) == 0);
}

/* What the heir of a slot has besides A, and room for a larger A. */
#define LIMIT (req.tile_bytes + 2048 * sizeof(int64_t) + 256 * KIB)

/*
 * What abandoned loans had is idle now: a growth up to the ceiling gets it,
 * one beyond does not.  demand_accounts() knows the limit.
 */
static void
limit_is_exact(void *arg)
{
	struct shared *shared = arg;
	struct lend_req all = { .a_bytes = 256 * KIB };
	struct lend_req more = { .a_bytes = 256 * KIB + 1 };
	struct lend_worker loan;

	demand(stats_now(shared->arena).abandoned == 2);
	demand_accounts();
	demand(lend_worker_checkout(shared->arena, &more, &loan) == -EDQUOT);
	demand(lend_worker_checkout(shared->arena, &all, &loan) == 0);
	demand(stats_now(shared->arena).retained_bytes == LIMIT);
	demand_accounts();
	demand(lend_worker_return(shared->arena, &loan) == 0);
	demand_end(shared->arena);
}

START_TEST(limit_holds_in_the_child)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct shared shared = { .records = 0 };

	options.limit = LIMIT;
	ck_assert_int_eq(lend_arena_create(&shared.arena, &options), 0);
	crew_start(&shared.crew, 2, hold_and_wait, &shared);
	crew_step(&shared.crew);
	ck_assert_int_eq(family_fork(limit_is_exact, &shared), 0);
	crew_step(&shared.crew);
	crew_join(&shared.crew);
	demand_end(shared.arena);
}
END_TEST

/* Traces. */

static void
count_record(const struct lend_trace_record *record, void *ctx)
{
	struct shared *shared = ctx;

	demand(record->capacity > 0);
	shared->records++;
	shared->foreign += record->thread != (pid_t)syscall(SYS_gettid);
}

static size_t
take_records(struct shared *shared)
{
	shared->records = 0;
	shared->foreign = 0;
	demand(lend_trace_take(shared->arena, count_record, shared) ==
	       (ssize_t)shared->records);
	return shared->records;
}

/* Each of the three threads has grown A and tile. */
static void
records_are_inherited(void *arg)
{
	struct shared *shared = arg;
	struct lend_req larger = { .a_bytes = 4 * req.a_bytes };

	demand(take_records(shared) == 6);
	demand(take_records(shared) == 0);
	/* One by this thread, which has another id now. */
	demand(lend_worker_return(shared->arena, &shared->loan) == 0);
	demand(lend_worker_checkout(shared->arena, &larger,
				    &shared->loan) == 0);
	demand(take_records(shared) == 1);
	demand(shared->foreign == 0);
	demand(lend_worker_return(shared->arena, &shared->loan) == 0);
	demand_end(shared->arena);
}

START_TEST(trace_goes_on_in_both)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct shared shared = { .records = 0 };

	options.trace = true;
	ck_assert_int_eq(lend_arena_create(&shared.arena, &options), 0);
	ck_assert_int_eq(lend_worker_checkout(shared.arena, &req,
					      &shared.loan), 0);
	crew_start(&shared.crew, 2, hold_and_wait, &shared);
	crew_step(&shared.crew);
	ck_assert_int_eq(family_fork(records_are_inherited, &shared), 0);
	/* What the child took, the parent still has. */
	ck_assert_uint_eq(take_records(&shared), 6);
	ck_assert_uint_eq(shared.foreign, 4);
	crew_step(&shared.crew);
	crew_join(&shared.crew);
	ck_assert_int_eq(lend_worker_return(shared.arena, &shared.loan), 0);
	demand_end(shared.arena);
}
END_TEST

/* Workspaces and pools. */

#define WIDTH 3

static void
execute(size_t index, void *ctx)
{
	struct shared *shared = ctx;
	lend_arena *arena = lend_workspace_arena(shared->ws);
	struct lend_worker loan;

	demand(lend_workspace_admit(shared->ws, &req) == 0);
	demand(lend_worker_checkout(arena, &req, &loan) == 0);
	pattern_write(loan.a, req.a_bytes, index);
	demand(pattern_holds(loan.a, req.a_bytes, index));
	demand(lend_worker_return(arena, &loan) == 0);
}

static void
execute_team(struct shared *shared)
{
	lend_arena *arena = lend_workspace_arena(shared->ws);
	struct lend_team lease;

	demand(lend_team_take(arena, &req, 2, 1, &lease) == 0);
	demand(lend_team_panel(arena, &lease, req.b_bytes) == 0);
	pattern_write(lease.panel, req.b_bytes, 3);
	demand(lend_team_return(arena, &lease) == 0);
}

/* "Allocates nothing": what the parent warmed is warm, for new workers too. */
static void
workspace_is_warm(void *arg)
{
	struct shared *shared = arg;
	size_t allocs = fault_counts().extent_allocs;
	struct lend_exec exec;

	execute(WIDTH, shared);
	execute_team(shared);
	demand(lend_exec_on_pool(&exec, shared->pool, WIDTH) == 0);
	if (CHILD_STARTS_THREADS) {
		demand(lend_exec_broadcast(&exec, execute, shared) == 0);
		demand(lend_workspace_prepare_for(shared->ws, &exec) == 0);
	}
	demand(fault_counts().extent_allocs == allocs);
	demand_accounts();
	demand(lend_pool_destroy(shared->pool) == 0);
	demand(lend_workspace_destroy(shared->ws) == 0);
}

START_TEST(workspace_stays_warm)
{
	struct shared shared = { .records = 0 };
	struct lend_exec exec;

	ck_assert_int_eq(lend_workspace_create(&shared.ws, &req, NULL), 0);
	ck_assert_int_eq(lend_pool_create(&shared.pool, WIDTH), 0);
	ck_assert_int_eq(lend_exec_on_pool(&exec, shared.pool, WIDTH), 0);
	ck_assert_int_eq(lend_workspace_prepare_for(shared.ws, &exec), 0);
	ck_assert_int_eq(family_fork(workspace_is_warm, &shared), 0);
	workspace_is_warm(&shared);
}
END_TEST

/* Arenas of the child. */

static void
make_and_end(void *arg)
{
	lend_arena *old = arg, *new = NULL;
	struct lend_worker loan;

	demand(lend_arena_create(&new, NULL) == 0);
	demand(lend_arena_key(new) != lend_arena_key(old));
	demand(lend_worker_checkout(new, &req, &loan) == 0);
	demand(lend_worker_return(old, &loan) == -EXDEV);
	demand(lend_worker_return(new, &loan) == 0);
	demand_accounts();
	/* The old one's place is used again, its key is not. */
	demand_end(old);
	demand(lend_arena_create(&old, NULL) == 0);
	demand(lend_arena_key(old) != lend_arena_key(new));
	demand(lend_worker_checkout(old, &req, &loan) == 0);
	demand(stats_now(old).slots_out == 1);
	demand(lend_worker_return(old, &loan) == 0);
	demand_end(old);
	demand_end(new);
}

START_TEST(arenas_are_made_in_the_child)
{
	struct lend_worker loan;
	lend_arena *arena;

	ck_assert_int_eq(lend_arena_create(&arena, NULL), 0);
	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan), 0);
	ck_assert_int_eq(lend_worker_return(arena, &loan), 0);
	ck_assert_int_eq(family_fork(make_and_end, arena), 0);
	demand_end(arena);
}
END_TEST

static const char *const protocols[] = { "membarrier:false", NULL };

int
main(void)
{
	Suite *suite = suite_create("fork of owners");
	TCase *owners = family_case(suite, "owners");

	tcase_add_test(owners, callback_ends_in_both);
	tcase_add_test(owners, limit_holds_in_the_child);
	tcase_add_test(owners, trace_goes_on_in_both);
	tcase_add_test(owners, workspace_stays_warm);
	tcase_add_test(owners, arenas_are_made_in_the_child);
	return suite_run_also(suite, protocols);
}
