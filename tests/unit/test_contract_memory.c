/* SPDX-License-Identifier: MIT */
/*
 * Calls without memory: whoever of a team gets none, and whatever it is that
 * is not there, nothing is written and all loans come back.
 */
#include "lend/contract.h"

#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "support/contract_site.h"
#include "support/contract_work.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/suite.h"

/* A workspace that lacks this one component. */
static void
try_workspace(struct lend_req req)
{
	lend_workspace *ws;

	ck_assert_int_eq(lend_workspace_create(&ws, &req, NULL), 0);
	work_refused(lend_plan_execute_in(work.plan, ws, &work.serial,
					    &work.call, &work.why),
		       -ENOBUFS, "workspace");
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
}

START_TEST(a_workspace_that_does_not_cover_is_refused)
{
	struct lend_req req, less;
	lend_workspace *ws;

	ck_assert_int_eq(lend_plan_req(work.plan, 1, 1, &req), 0);
	ck_assert_uint_gt(req.a_bytes, 0);
	ck_assert_uint_gt(req.b_bytes, 0);
	less = req;
	less.a_bytes--;
	try_workspace(less);
	less = req;
	less.b_bytes--;
	try_workspace(less);
	if (req.tile_bytes) {
		less = req;
		less.tile_bytes--;
		try_workspace(less);
	}
	if (req.worker_scatter) {
		less = req;
		less.worker_scatter--;
		try_workspace(less);
	}
	if (req.team_scatter) {
		less = req;
		less.team_scatter--;
		try_workspace(less);
	}
	ck_assert_int_eq(lend_workspace_create(&ws, &req, NULL), 0);
	work_done(lend_plan_execute_in(work.plan, ws, &work.serial,
					 &work.call, &work.why));
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
}
END_TEST

START_TEST(an_arena_at_its_limit_is_refused)
{
	lend_arena *arena = arena_limited(4096);
	lend_pool *pool;
	struct lend_exec exec;

	work_refused(work_execute(arena, &work.serial), -EDQUOT, "limit");
	ck_assert_int_eq(lend_pool_create(&pool, 4), 0);
	ck_assert_int_eq(lend_exec_on_pool(&exec, pool, 4), 0);
	work.call.pm = work.call.pn = 2;
	work_refused(work_execute(arena, &exec), -EDQUOT, "limit");
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* Each allocation of the backend's fails in turn. */
static void
starve(const struct lend_exec *exec, size_t least)
{
	unsigned long n = 1;

	for (;; n++) {
		lend_arena *arena = arena_of(NULL);
		int error;

		fault_fail_nth(FAULT_ANY, n);
		error = work_execute(arena, exec);
		if (fault_pending()) {
			fault_fail_nth(FAULT_ANY, 0);
			work_done(error);
			arena_end(arena);
			break;
		}
		work_refused(error, -ENOMEM, "memory");
		stats_settled(arena);
		work_done(work_execute(arena, exec));
		arena_end(arena);
	}
	ck_assert_uint_gt(n, least);
}

/* The thread has worked before: what it keeps for good is there. */
START_TEST(an_execution_without_memory_is_refused)
{
	lend_arena *arena = arena_of(NULL);

	work_done(work_execute(arena, &work.serial));
	arena_end(arena);
	starve(&work.serial, 3);
}
END_TEST

/*
 * A team of four: whichever of them gets no memory, nobody writes.  The
 * pool's threads live on, so that what they keep for good is there.
 */
START_TEST(a_team_without_memory_is_refused)
{
	lend_arena *arena = arena_of(NULL);
	lend_pool *pool;
	struct lend_exec exec;

	ck_assert_int_eq(lend_pool_create(&pool, 4), 0);
	ck_assert_int_eq(lend_exec_on_pool(&exec, pool, 4), 0);
	work.call.pm = work.call.pn = 2;
	work_done(work_execute(arena, &exec));
	arena_end(arena);
	starve(&exec, 6);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* A lender whose n-th answer is a refusal, and who counts. */
struct miser {
	lend_arena *arena;
	atomic_int left;	/* answers up to the refusal */
	atomic_int out;		/* loans that have not come back */
};

static bool
refuses(struct miser *miser)
{
	return atomic_fetch_sub(&miser->left, 1) == 1;
}

static int
miser_checkout(void *host, const struct lend_req *req,
	       struct lend_worker *loan)
{
	struct miser *miser = host;
	int error = refuses(miser) ? -ENOMEM :
		    lend_worker_checkout(miser->arena, req, loan);

	if (!error)
		atomic_fetch_add(&miser->out, 1);
	return error;
}

static int
miser_return(void *host, struct lend_worker *loan)
{
	struct miser *miser = host;

	atomic_fetch_sub(&miser->out, 1);
	return lend_worker_return(miser->arena, loan);
}

static int
miser_take(void *host, const struct lend_req *req, size_t pm, size_t pn,
	   struct lend_team *lease)
{
	struct miser *miser = host;
	int error = refuses(miser) ? -ENOMEM :
		    lend_team_take(miser->arena, req, pm, pn, lease);

	if (!error)
		atomic_fetch_add(&miser->out, 1);
	return error;
}

static int
miser_panel(void *host, struct lend_team *lease, size_t bytes)
{
	struct miser *miser = host;

	return refuses(miser) ? -ENOMEM :
	       lend_team_panel(miser->arena, lease, bytes);
}

static int
miser_team_return(void *host, struct lend_team *lease)
{
	struct miser *miser = host;

	atomic_fetch_sub(&miser->out, 1);
	return lend_team_return(miser->arena, lease);
}

/* Executes with the n-th answer refused; all loans must come back. */
static int
execute_on_miser(const struct site *site, int n, bool *refused)
{
	struct miser miser = { .arena = site->arena };
	struct lend_lender lender = {
		.size = sizeof(lender),
		.host = &miser,
		.worker_checkout = miser_checkout,
		.worker_return = miser_return,
		.team_take = miser_take,
		.team_panel = miser_panel,
		.team_return = miser_team_return,
	};
	int error;

	atomic_store(&miser.left, n);
	error = lend_plan_execute_on(work.plan, &lender, &site->exec,
				     &work.call, &work.why);
	*refused = atomic_load(&miser.left) <= 0;
	ck_assert_int_eq(atomic_load(&miser.out), 0);
	return error;
}

START_TEST(all_loans_come_back_when_one_is_refused)
{
	struct site site = site_open();
	struct team_shape team = team_shape((unsigned)_i);
	bool refused = true;
	int n;

	work.call.pm = team.pm;
	work.call.pn = team.pn;
	for (n = 1; refused; n++) {
		int error = execute_on_miser(&site, n, &refused);

		if (refused)
			work_refused(error, -ENOMEM, "memory");
		else
			work_done(error);
	}
	/* A set, a panel, and one for each thread were asked for. */
	ck_assert_int_ge(n, 2 + (int)(team.pm * team.pn));
	site_close(&site);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_memory");
	TCase *tcase = watched_case(suite, "memory");

	tcase_add_checked_fixture(tcase, work_open, work_close);
	tcase_add_test(tcase, a_workspace_that_does_not_cover_is_refused);
	tcase_add_test(tcase, an_arena_at_its_limit_is_refused);
	tcase_add_test(tcase, an_execution_without_memory_is_refused);
	tcase_add_test(tcase, a_team_without_memory_is_refused);
	tcase_add_loop_test(tcase, all_loans_come_back_when_one_is_refused, 0,
			    TEAM_SHAPES - 1);
	return suite_run(suite);
}
