/* SPDX-License-Identifier: MIT */
/*
 * Calls that are refused: with the error that was promised, with a message
 * that names what was wrong, and with nothing written.
 */
#include "lend/contract.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#include "support/contract_site.h"
#include "support/contract_work.h"
#include "support/loans.h"
#include "support/suite.h"

START_TEST(calls_that_are_not_complete_are_refused)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_lender lender = site_lender(arena);
	const void *a = work.call.a;

	work_refused(work_execute(NULL, &work.serial), -EINVAL, "null");
	work_refused(work_execute(arena, NULL), -EINVAL, "null");
	work_refused(lend_plan_execute(NULL, arena, &work.serial,
					 &work.call, &work.why),
		       -EINVAL, "null");
	work_refused(lend_plan_execute(work.plan, arena, &work.serial, NULL,
					 &work.why),
		       -EINVAL, "null");
	work_refused(lend_plan_execute_in(work.plan, NULL, &work.serial,
					    &work.call, &work.why),
		       -EINVAL, "null");
	work_refused(lend_plan_execute_on(work.plan, NULL, &work.serial,
					    &work.call, &work.why),
		       -EINVAL, "null");
	lender.team_panel = NULL;
	work_refused(lend_plan_execute_on(work.plan, &lender, &work.serial,
					    &work.call, &work.why),
		       -EINVAL, "lender");
	lender = site_lender(arena);
	lender.size--;
	work_refused(lend_plan_execute_on(work.plan, &lender, &work.serial,
					    &work.call, &work.why),
		       -EINVAL, "lender");
	work.call.a = NULL;
	work_refused(work_execute(arena, &work.serial), -EINVAL, "null");
	work.call.a = a;
	work.call.b = NULL;
	work_refused(work_execute(arena, &work.serial), -EINVAL, "null");
	work.call.b = work.b;
	work.call.c = NULL;
	work_refused(work_execute(arena, &work.serial), -EINVAL, "null");
	work.call.c = work.c;
	work_done(work_execute(arena, &work.serial));
	arena_end(arena);
}
END_TEST

START_TEST(teams_beyond_the_budget_are_refused)
{
	struct site site = site_open();
	struct lend_exec three;

	ck_assert_int_eq(lend_exec_on_pool(&three, site.pool, 3), 0);
	work.call.pm = work.call.pn = 2;
	work_refused(work_execute(site.arena, &three), -EINVAL, "2 x 2");
	work_refused(work_execute(site.arena, &work.serial), -EINVAL, "2 x 2");
	work_done(work_execute(site.arena, &site.exec));
	work.call.pn = 0;
	work_refused(work_execute(site.arena, &site.exec), -EINVAL, "2 x 0");
	work.call.pm = work.call.pn = (size_t)1 << 33;
	work_refused(work_execute(site.arena, &site.exec), -EINVAL, "team");
	site_close(&site);
}
END_TEST

START_TEST(an_output_over_an_input_is_refused)
{
	lend_arena *arena = arena_of(NULL);

	work.call.a = work.c;
	work_refused(work_execute(arena, &work.serial), -EINVAL, "first");
	work.call.a = work.a;
	work.call.b = work.c;
	work_refused(work_execute(arena, &work.serial), -EINVAL, "second");
	/* By one element, at either end. */
	work.call.b = work.c + ROWS * ROWS - 1;
	work_refused(work_execute(arena, &work.serial), -EINVAL, "second");
	work.call.b = work.c - ROWS * ROWS + 1;
	work_refused(work_execute(arena, &work.serial), -EINVAL, "second");
	work.call.b = work.b;
	work_done(work_execute(arena, &work.serial));
	arena_end(arena);
}
END_TEST

/* With an alpha of 0 neither input is read. */
START_TEST(an_output_over_what_is_not_read_is_scaled)
{
	static const double none = 0, beta = 3;
	lend_arena *arena = arena_of(NULL);

	work.call.a = work.call.b = work.c;
	work.call.alpha = &none;
	work.call.beta = &beta;
	ck_assert_int_eq(work_execute(arena, &work.serial), 0);
	for (size_t i = 0; i < ROWS * ROWS; i++)
		ck_assert_double_eq(work.c[i], 3 * work.was[i]);
	arena_end(arena);
}
END_TEST

/* Side by side, without a gap, is not an overlap; nor are A and B one. */
START_TEST(neighbours_do_not_overlap)
{
	static double all[3 * ROWS * ROWS];
	lend_arena *arena = arena_of(NULL);

	work.call.a = work.call.b = all;
	work.call.c = all + ROWS * ROWS;
	ck_assert_int_eq(work_execute(arena, &work.serial), 0);
	work.call.a = work.call.b = all + 2 * ROWS * ROWS;
	ck_assert_int_eq(work_execute(arena, &work.serial), 0);
	arena_end(arena);
}
END_TEST

static size_t
host_width(void *host)
{
	(void)host;
	return 4;
}

static int
host_broadcast(void *host, size_t budget, lend_exec_fn *fn, void *ctx)
{
	(void)host;
	(void)budget;
	(void)fn;
	(void)ctx;
	return -EAGAIN;
}

static void
host_parallel(void *host, size_t n, lend_exec_fn *fn, void *ctx)
{
	(void)host;
	for (size_t i = 0; i < n; i++)
		fn(i, ctx);
}

static bool
host_is_worker(void *host)
{
	(void)host;
	return false;
}

START_TEST(threads_that_cannot_be_had_are_an_error)
{
	struct lend_exec_host host = {
		.size = sizeof(host), .width = host_width,
		.broadcast = host_broadcast, .parallel = host_parallel,
		.is_worker = host_is_worker,
	};
	lend_arena *arena = arena_of(NULL);
	struct lend_exec exec;

	ck_assert_int_eq(lend_exec_on_host(&exec, &host, 4), 0);
	work.call.pm = work.call.pn = 2;
	work_refused(work_execute(arena, &exec), -EAGAIN, "4 threads");
	ck_assert_uint_eq(stats_of(arena).sets_out, 0);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_refuse");
	TCase *tcase = watched_case(suite, "calls");

	tcase_add_checked_fixture(tcase, work_open, work_close);
	tcase_add_test(tcase, calls_that_are_not_complete_are_refused);
	tcase_add_test(tcase, teams_beyond_the_budget_are_refused);
	tcase_add_test(tcase, an_output_over_an_input_is_refused);
	tcase_add_test(tcase, an_output_over_what_is_not_read_is_scaled);
	tcase_add_test(tcase, neighbours_do_not_overlap);
	tcase_add_test(tcase, threads_that_cannot_be_had_are_an_error);
	return suite_run(suite);
}
