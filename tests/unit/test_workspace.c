/* SPDX-License-Identifier: MIT */
/*
 * Workspaces: the bound, who is warmed for it, who is refused.  That an
 * execution within the bound allocates nothing is in test_workspace_run.c.
 */
#include "lend/workspace.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/os.h"
#include "base/util.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/process.h"
#include "support/suite.h"
#include "support/workers.h"

static const struct lend_req bound = {
	.a_bytes = 100000, .tile_bytes = 20000, .worker_scatter = 3000,
	.b_bytes = 200000, .team_scatter = 2000, .barriers = 6,
};

static lend_workspace *
workspace_of(const struct lend_req *req)
{
	lend_workspace *ws = NULL;

	ck_assert_int_eq(lend_workspace_create(&ws, req, NULL), 0);
	ck_assert_ptr_nonnull(ws);
	return ws;
}

static void
workspace_end(lend_workspace *ws)
{
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
}

static void
assert_req(const lend_workspace *ws, const struct lend_req *req)
{
	size_t bytes;

	ck_assert_mem_eq(lend_workspace_req(ws), req, sizeof(*req));
	ck_assert_int_eq(lend_req_bytes(req, &bytes), 0);
	ck_assert_uint_eq(lend_workspace_have(ws), bytes);
}

static void
assert_present(void *start, size_t bytes)
{
	size_t whole = round_up(bytes, LEND_PAGE);

	ck_assert_ptr_nonnull(start);
	ck_assert_uint_eq(process_present(start, whole), whole);
}

/* What the calling thread gets is there, in memory, without growing. */
static void
assert_warm(lend_workspace *ws)
{
	const struct lend_req *req = lend_workspace_req(ws);
	lend_arena *arena = lend_workspace_arena(ws);
	struct fault_counts before = fault_counts(), after;
	struct lend_worker loan = checkout(arena, req);
	struct lend_team lease = take(arena, req);

	ck_assert_int_eq(lend_team_panel(arena, &lease, req->b_bytes), 0);
	after = fault_counts();
	counts_same(&before, &after);
	assert_present(loan.a, req->a_bytes);
	assert_present(loan.tile, req->tile_bytes);
	assert_present(loan.scatter, req->worker_scatter * 8);
	assert_present(lease.panel, req->b_bytes);
	assert_present(lease.scatter, req->team_scatter * 8);
	give_back(arena, &lease);
	checkin(arena, &loan);
}

/* "Warms the calling thread's slot and one team set with its panel." */
START_TEST(create_warms_a_slot_and_a_set)
{
	lend_workspace *ws = workspace_of(&bound);
	struct lend_stats stats = stats_of(lend_workspace_arena(ws));

	assert_req(ws, &bound);
	ck_assert_uint_eq(lend_workspace_slots(ws), 1);
	ck_assert_uint_eq(stats.slots_idle, 1);
	ck_assert_uint_eq(stats.sets_idle, 1);
	ck_assert_uint_ge(stats.panel_bytes, bound.b_bytes);
	ck_assert_uint_ge(stats.retained_bytes, lend_workspace_have(ws));
	ck_assert_uint_eq(lend_workspace_retained_bytes(ws),
			  stats.retained_bytes);
	stats_settled(lend_workspace_arena(ws));
	assert_warm(ws);
	workspace_end(ws);
	ck_assert_uint_eq(outstanding(), 0);
}
END_TEST

/* Of nothing: that is a bound as well. */
START_TEST(an_empty_bound_allocates_no_buffer)
{
	static const struct lend_req none;
	lend_workspace *ws = workspace_of(&none);

	assert_req(ws, &none);
	ck_assert_uint_eq(lend_workspace_have(ws), 0);
	ck_assert_uint_eq(lend_workspace_slots(ws), 1);
	ck_assert_uint_eq(lend_workspace_retained_bytes(ws), 0);
	ck_assert_uint_eq(outstanding(), 0);
	ck_assert_int_eq(lend_workspace_admit(ws, &none), 0);
	ck_assert_int_eq(lend_workspace_admit(ws, &bound), -ENOBUFS);
	workspace_end(ws);
}
END_TEST

START_TEST(the_options_are_its_arenas)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	lend_workspace *ws = NULL;

	options.limit = 10 << 20;
	ck_assert_int_eq(lend_workspace_create(&ws, &bound, &options), 0);
	ck_assert_uint_eq(stats_of(lend_workspace_arena(ws)).limit_bytes,
			  10 << 20);
	workspace_end(ws);
	ws = NULL;
	options.limit = 100000;
	ck_assert_int_eq(lend_workspace_create(&ws, &bound, &options),
			 -EDQUOT);
	options.size--;
	ck_assert_int_eq(lend_workspace_create(&ws, &bound, &options),
			 -EINVAL);
	ck_assert_ptr_null(ws);
	ck_assert_uint_eq(outstanding(), 0);
}
END_TEST

START_TEST(bad_bounds_are_refused)
{
	struct lend_req req = bound;
	lend_workspace *ws = NULL;

	ck_assert_int_eq(lend_workspace_create(NULL, &bound, NULL), -EINVAL);
	ck_assert_int_eq(lend_workspace_create(&ws, NULL, NULL), -EINVAL);
	req.a_bytes = SIZE_MAX;
	ck_assert_int_eq(lend_workspace_create(&ws, &req, NULL), -EOVERFLOW);
	req = bound;
	req.barriers = SIZE_MAX / 2;
	ck_assert_int_eq(lend_workspace_create(&ws, &req, NULL), -EOVERFLOW);
	ck_assert_ptr_null(ws);
	ck_assert_int_eq(lend_workspace_destroy(NULL), 0);
}
END_TEST

/* Whichever allocation fails: there is no workspace, and nothing is left. */
START_TEST(a_create_that_fails_leaves_nothing)
{
	lend_workspace *ws = NULL;
	unsigned long n = 0;
	int error;

	/* The directory and the thread's table have their pages. */
	workspace_end(workspace_of(&bound));
	do {
		size_t pages = fault_counts().pages_bytes;

		fault_fail_nth(FAULT_ANY, ++n);
		error = lend_workspace_create(&ws, &bound, NULL);
		if (fault_pending())
			break;
		ck_assert_int_eq(error, -ENOMEM);
		ck_assert_ptr_null(ws);
		ck_assert_uint_eq(outstanding(), 0);
		ck_assert_uint_eq(fault_counts().pages_bytes, pages);
	} while (n < 100);
	fault_fail_nth(0, 0);
	ck_assert_int_eq(error, 0);
	/* Arena, workspace, slot, descriptor, set, six buffers. */
	ck_assert_uint_eq(n - 1, 11);
	workspace_end(ws);
}
END_TEST

START_TEST(destroy_is_refused_with_a_loan_out)
{
	lend_workspace *ws = workspace_of(&bound);
	struct lend_worker loan = checkout(lend_workspace_arena(ws), &bound);

	ck_assert_int_eq(lend_workspace_destroy(ws), -EBUSY);
	assert_req(ws, &bound);
	checkin(lend_workspace_arena(ws), &loan);
	assert_warm(ws);
	workspace_end(ws);
}
END_TEST

/*
 * "Raises the bound to the component-wise maximum and warms again when it
 * changed; it never shrinks."
 */
START_TEST(reserve_raises_each_component)
{
	struct lend_req wish = { .a_bytes = 5, .tile_bytes = 50000,
				 .team_scatter = 9000 };
	struct lend_req both = bound;
	lend_workspace *ws = workspace_of(&bound);
	size_t before = lend_workspace_retained_bytes(ws);

	ck_assert_int_eq(lend_workspace_reserve(ws, &wish), 0);
	both.tile_bytes = 50000;
	both.team_scatter = 9000;
	assert_req(ws, &both);
	ck_assert_uint_gt(lend_workspace_retained_bytes(ws), before);
	assert_warm(ws);
	ck_assert_uint_eq(stats_of(lend_workspace_arena(ws)).sets_idle, 1);
	workspace_end(ws);
}
END_TEST

/* What is covered changes nothing, and costs nothing. */
START_TEST(reserve_of_what_is_covered_changes_nothing)
{
	struct lend_req less = { .a_bytes = 5, .tile_bytes = 20000 };
	lend_workspace *ws = workspace_of(&bound);
	struct lend_stats before = stats_of(lend_workspace_arena(ws)), after;
	struct fault_counts counts = fault_counts(), counts_after;

	ck_assert_int_eq(lend_workspace_reserve(ws, &less), 0);
	ck_assert_int_eq(lend_workspace_reserve(ws, &bound), 0);
	assert_req(ws, &bound);
	after = stats_of(lend_workspace_arena(ws));
	stats_same(&before, &after);
	counts_after = fault_counts();
	counts_same(&counts, &counts_after);
	workspace_end(ws);
}
END_TEST

/* "The bound is then what it was." */
START_TEST(a_reserve_that_fails_leaves_the_bound)
{
	struct lend_req more = { .a_bytes = 1 << 20, .b_bytes = 1 << 20 };
	struct lend_req wraps = { .a_bytes = SIZE_MAX - 1000 };
	lend_workspace *ws = workspace_of(&bound);

	ck_assert_int_eq(lend_workspace_reserve(NULL, &bound), -EINVAL);
	ck_assert_int_eq(lend_workspace_reserve(ws, NULL), -EINVAL);
	ck_assert_int_eq(lend_workspace_reserve(ws, &wraps), -EOVERFLOW);
	for (unsigned long n = 1; n <= 2; n++) {
		fault_fail_nth(FAULT_EXTENT, 1);
		ck_assert_int_eq(lend_workspace_reserve(ws, &more), -ENOMEM);
	}
	assert_req(ws, &bound);
	ck_assert_uint_eq(lend_workspace_slots(ws), 1);
	assert_warm(ws);
	ck_assert_int_eq(lend_workspace_admit(ws, &more), -ENOBUFS);
	ck_assert_int_eq(lend_workspace_reserve(ws, &more), 0);
	ck_assert_int_eq(lend_workspace_admit(ws, &more), 0);
	assert_warm(ws);
	workspace_end(ws);
}
END_TEST

/* "slots: 1 after create and after a reserve that raised it." */
START_TEST(slots_fall_back_when_the_bound_is_raised)
{
	struct lend_req more = { .tile_bytes = 30000 };
	lend_workspace *ws = workspace_of(&bound);
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec exec = token_of(pool, 3);

	ck_assert_int_eq(lend_workspace_prepare_for(ws, &exec), 0);
	ck_assert_uint_eq(lend_workspace_slots(ws), 3);
	ck_assert_int_eq(lend_workspace_reserve(ws, &bound), 0);
	ck_assert_uint_eq(lend_workspace_slots(ws), 3);
	ck_assert_int_eq(lend_workspace_reserve(ws, &more), 0);
	ck_assert_uint_eq(lend_workspace_slots(ws), 1);
	ck_assert_int_eq(lend_workspace_prepare_for(ws, &exec), 0);
	ck_assert_uint_eq(lend_workspace_slots(ws), 3);
	workspace_end(ws);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* One slot on each of `budget` workers, and the calling thread's. */
START_TEST(prepare_for_warms_as_many_as_the_budget)
{
	lend_workspace *ws = workspace_of(&bound);
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec exec = token_of(pool, WIDTH);
	struct lend_stats stats;

	ck_assert_int_eq(lend_workspace_prepare_for(ws, &exec), 0);
	ck_assert_uint_eq(lend_workspace_slots(ws), WIDTH);
	stats = stats_of(lend_workspace_arena(ws));
	ck_assert_uint_eq(stats.slots_idle, WIDTH + 1);
	ck_assert_uint_eq(stats.sets_idle, 1);
	stats_settled(lend_workspace_arena(ws));
	workspace_end(ws);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

START_TEST(prepare_for_a_serial_token_needs_no_more)
{
	lend_workspace *ws = workspace_of(&bound);
	struct lend_exec exec;

	lend_exec_serial(&exec);
	ck_assert_int_eq(lend_workspace_prepare_for(ws, &exec), 0);
	ck_assert_uint_eq(lend_workspace_slots(ws), 1);
	ck_assert_uint_eq(stats_of(lend_workspace_arena(ws)).slots_idle, 1);
	ck_assert_int_eq(lend_workspace_prepare_for(ws, NULL), -EINVAL);
	ck_assert_int_eq(lend_workspace_prepare_for(NULL, &exec), -EINVAL);
	workspace_end(ws);
}
END_TEST

struct refusal {
	lend_workspace *ws;
	struct lend_exec exec;
	int error;
	size_t slots;
	bool warm;	/* the caller's slot has what the bound asks for */
};

/* Prepares from here, and looks what this thread gets. */
static void
prepare_here(struct refusal *refusal, const struct lend_exec *exec)
{
	lend_arena *arena = lend_workspace_arena(refusal->ws);
	struct lend_worker loan;
	size_t before;

	refusal->error = lend_workspace_prepare_for(refusal->ws, exec);
	refusal->slots = lend_workspace_slots(refusal->ws);
	before = fault_counts().extent_allocs;
	if (lend_worker_checkout(arena, &bound, &loan) ||
	    lend_worker_return(arena, &loan))
		refusal->error = -EILSEQ;
	refusal->warm = fault_counts().extent_allocs == before;
}

static void
prepare_as_job(size_t index, const struct lend_exec *child, void *ctx)
{
	if (index == 0)
		prepare_here(ctx, child);
}

static void
prepare_as_worker(size_t index, void *ctx)
{
	struct refusal *refusal = ctx;

	if (index == 0)
		prepare_here(refusal, &refusal->exec);
}

static void
assert_refusal(const struct refusal *refusal)
{
	ck_assert_int_eq(refusal->error, 0);
	ck_assert_uint_eq(refusal->slots, 1);
	ck_assert(refusal->warm);
}

/*
 * "Where the executor cannot co-schedule (a forked token, a caller that is a
 * worker of the pool) only the calling thread's slot stays warm and slots
 * does not change."
 */
START_TEST(prepare_for_what_cannot_broadcast_warms_the_caller)
{
	struct refusal refusal = { .ws = workspace_of(&bound) };
	lend_pool *pool = pool_of(WIDTH);
	lend_arena *arena = lend_workspace_arena(refusal.ws);
	struct lend_exec one = token_of(pool, 1);

	refusal.exec = token_of(pool, WIDTH);
	ck_assert_int_eq(lend_exec_fork(&refusal.exec, 1, prepare_as_job,
					&refusal), 0);
	assert_refusal(&refusal);
	ck_assert_int_eq(lend_exec_broadcast(&one, prepare_as_worker,
					     &refusal), 0);
	assert_refusal(&refusal);
	/* The main thread's, the worker's. */
	ck_assert_uint_le(stats_of(arena).slots_idle, 2);
	workspace_end(refusal.ws);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* A worker that could not be warmed: an error, and slots is what it was. */
START_TEST(a_prepare_that_fails_does_not_count)
{
	lend_workspace *ws = workspace_of(&bound);
	lend_pool *pool = pool_of(WIDTH);
	struct lend_exec exec = token_of(pool, WIDTH);

	fault_fail_nth(FAULT_EXTENT, 5);
	ck_assert_int_eq(lend_workspace_prepare_for(ws, &exec), -ENOMEM);
	ck_assert_uint_eq(lend_workspace_slots(ws), 1);
	stats_settled(lend_workspace_arena(ws));
	ck_assert_int_eq(lend_workspace_prepare_for(ws, &exec), 0);
	ck_assert_uint_eq(lend_workspace_slots(ws), WIDTH);
	workspace_end(ws);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/*
 * "An execute whose request is not covered is refused before any write":
 * component by component, a large total does not help.
 */
START_TEST(what_is_not_covered_is_refused)
{
	lend_workspace *ws = workspace_of(&bound);
	struct lend_stats before = stats_of(lend_workspace_arena(ws)), after;
	struct fault_counts counts = fault_counts(), counts_after;
	const size_t fields = sizeof(bound) / sizeof(size_t);

	ck_assert_int_eq(lend_workspace_admit(ws, &bound), 0);
	for (size_t i = 0; i < fields; i++) {
		struct lend_req req = bound, only = { 0 };

		((size_t *)&req)[i]++;
		ck_assert_int_eq(lend_workspace_admit(ws, &req), -ENOBUFS);
		((size_t *)&only)[i] = ((const size_t *)&req)[i];
		ck_assert_int_eq(lend_workspace_admit(ws, &only), -ENOBUFS);
		((size_t *)&only)[i]--;
		ck_assert_int_eq(lend_workspace_admit(ws, &only), 0);
	}
	ck_assert_int_eq(lend_workspace_admit(ws, NULL), -EINVAL);
	ck_assert_int_eq(lend_workspace_admit(NULL, &bound), -EINVAL);
	after = stats_of(lend_workspace_arena(ws));
	stats_same(&before, &after);
	counts_after = fault_counts();
	counts_same(&counts, &counts_after);
	workspace_end(ws);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("workspace");
	TCase *create = watched_case(suite, "create");
	TCase *reserve = watched_case(suite, "reserve");
	TCase *prepare = watched_case(suite, "prepare");

	tcase_add_test(create, create_warms_a_slot_and_a_set);
	tcase_add_test(create, an_empty_bound_allocates_no_buffer);
	tcase_add_test(create, the_options_are_its_arenas);
	tcase_add_test(create, bad_bounds_are_refused);
	tcase_add_test(create, a_create_that_fails_leaves_nothing);
	tcase_add_test(create, destroy_is_refused_with_a_loan_out);
	tcase_add_test(create, what_is_not_covered_is_refused);
	tcase_add_test(reserve, reserve_raises_each_component);
	tcase_add_test(reserve, reserve_of_what_is_covered_changes_nothing);
	tcase_add_test(reserve, a_reserve_that_fails_leaves_the_bound);
	tcase_add_test(reserve, slots_fall_back_when_the_bound_is_raised);
	tcase_add_test(prepare, prepare_for_warms_as_many_as_the_budget);
	tcase_add_test(prepare, prepare_for_a_serial_token_needs_no_more);
	tcase_add_test(prepare,
		       prepare_for_what_cannot_broadcast_warms_the_caller);
	tcase_add_test(prepare, a_prepare_that_fails_does_not_count);
	return suite_run(suite);
}
