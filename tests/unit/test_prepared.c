/* SPDX-License-Identifier: MIT */
/* Prepared workspaces: src/warm/prepared.c. */
#include <lend/prepared.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lend/buffer.h>
#include <lend/team.h>
#include <lend/worker.h>

#include "base/atomic.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/suite.h"

#define KIB ((size_t)1024)

static struct lend_prepared prepared;
static lend_warmer *warmer;

/* The plan's name is its A block in KiB. */
static int
request(const char *plan, struct lend_req *req, void *ctx)
{
	size_t size = strtoul(plan, NULL, 10) * KIB;

	if (ctx != &prepared || size == 0)
		return -EINVAL;
	req->a_bytes = size;
	req->tile_bytes = 4 * KIB;
	req->b_bytes = 2 * size;
	req->team_scatter = 16;
	req->barriers = 1;
	return 0;
}

static void
make(const struct lend_exec *exec, size_t target, size_t limit)
{
	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;

	prepared = (struct lend_prepared) {
		.size = sizeof(prepared), .request = request,
		.ctx = &prepared, .limit = limit, .name = "prepared",
	};
	if (exec)
		prepared.exec = *exec;
	else
		lend_exec_serial(&prepared.exec);
	options.target = target;
	ck_assert_int_eq(lend_prepared_use(&prepared, &options), 0);
	ck_assert_int_eq(lend_warmer_create(&warmer, &options), 0);
}

static void
end(void)
{
	ck_assert_int_eq(lend_warmer_destroy(warmer, 60000), 0);
	ck_assert_uint_eq(fault_counts().extent_bytes, 0);
}

static struct lend_warmer_stats
stats(void)
{
	struct lend_warmer_stats stats;

	ck_assert_int_eq(lend_warmer_stats(warmer, &stats), 0);
	return stats;
}

static void
doze(void)
{
	static const struct timespec moment = { 0, 200000 };

	nanosleep(&moment, NULL);
}

static void
fill(const char *plan, uint64_t prepared_then)
{
	ck_assert_int_eq(lend_warmer_refill(warmer, plan), 0);
	while (stats().prepared != prepared_then || stats().pool.in_flight)
		doze();
}

static lend_workspace *
claim(const char *plan)
{
	void *slot = NULL;

	ck_assert_int_eq(lend_warmer_claim(warmer, plan, &slot), 0);
	return slot;
}

static uint64_t
growths(lend_workspace *ws)
{
	struct lend_stats stats;

	ck_assert_int_eq(lend_arena_stats(lend_workspace_arena(ws), &stats),
			 0);
	return stats.growths;
}

/* One loan of each shape, within the bound. */
static int
execute_in(lend_workspace *ws, bool team)
{
	lend_arena *arena = lend_workspace_arena(ws);
	const struct lend_req *req = lend_workspace_req(ws);
	struct lend_worker loan;
	struct lend_team lease;
	int error = lend_worker_checkout(arena, req, &loan);

	if (error)
		return error;
	memset(loan.a, 1, req->a_bytes);
	error = lend_worker_return(arena, &loan);
	if (error || !team)
		return error;
	error = lend_team_take(arena, req, 1, 1, &lease);
	if (error)
		return error;
	error = lend_team_panel(arena, &lease, req->b_bytes);
	if (error)
		return error;
	return lend_team_return(arena, &lease);
}

/* The first use on another thread than the warmer's allocates nothing. */
START_TEST(a_claimer_finds_it_warm)
{
	lend_workspace *ws;
	uint64_t before;
	size_t retained;

	make(NULL, 1, 0);
	fill("64", 1);
	ws = claim("64");
	ck_assert_uint_eq(lend_workspace_req(ws)->a_bytes, 64 * KIB);
	before = growths(ws);
	retained = lend_workspace_retained_bytes(ws);
	ck_assert_uint_gt(retained, 0);
	ck_assert_int_eq(execute_in(ws, true), 0);
	ck_assert_uint_eq(growths(ws), before);
	ck_assert_uint_eq(lend_workspace_retained_bytes(ws), retained);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
	end();
}
END_TEST

struct execution {
	lend_workspace *ws;
	_Atomic(int) error;
};

static void
execute(size_t index, void *ctx)
{
	struct execution *execution = ctx;
	int error = execute_in(execution->ws, index == 0);

	if (error)
		/* Relaxed: the broadcast's end orders it. */
		store_relaxed(&execution->error, error);
}

START_TEST(the_executors_workers_find_it_warm)
{
	struct execution execution = { .error = 0 };
	struct lend_exec exec;
	lend_pool *pool;
	uint64_t before;

	ck_assert_int_eq(lend_pool_create(&pool, 3), 0);
	ck_assert_int_eq(lend_exec_on_pool(&exec, pool, 3), 0);
	make(&exec, 2, 0);
	fill("64", 2);
	execution.ws = claim("64");
	ck_assert_uint_eq(lend_workspace_slots(execution.ws), 3);
	before = growths(execution.ws);
	ck_assert_int_eq(lend_exec_broadcast(&exec, execute, &execution), 0);
	ck_assert_int_eq(load_relaxed(&execution.error), 0);
	ck_assert_uint_eq(growths(execution.ws), before);
	ck_assert_int_eq(lend_workspace_destroy(execution.ws), 0);
	end();
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* What is evicted or drained is given back to the system. */
START_TEST(an_eviction_gives_the_memory_back)
{
	size_t two;

	make(NULL, 1, 0);
	fill("64", 1);
	fill("128", 2);
	two = fault_counts().extent_bytes;
	/* 64 leaves the list of two. */
	fill("256", 3);
	ck_assert_uint_eq(stats().destroyed, 1);
	ck_assert_uint_eq(stats().pool.ready, 2);
	ck_assert_int_eq(lend_warmer_drain(warmer, "256"), 0);
	ck_assert_uint_lt(fault_counts().extent_bytes, two);
	ck_assert_int_eq(lend_warmer_drain(warmer, NULL), 0);
	ck_assert_uint_eq(fault_counts().extent_bytes, 0);
	end();
}
END_TEST

START_TEST(the_limit_holds_and_other_plans_go_on)
{
	lend_workspace *ws;
	struct lend_stats of;

	make(NULL, 1, 1024 * KIB);
	ck_assert_int_eq(lend_warmer_refill(warmer, "4096"), 0);
	while (stats().failed == 0)
		doze();
	fill("64", 1);
	ck_assert_uint_eq(stats().pool.ready, 1);
	ws = claim("64");
	ck_assert_int_eq(lend_arena_stats(lend_workspace_arena(ws), &of), 0);
	ck_assert_uint_eq(of.limit_bytes, 1024 * KIB);
	ck_assert_uint_le(of.retained_bytes, of.limit_bytes);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
	/* Nor is a plan that is none. */
	ck_assert_int_eq(lend_warmer_refill(warmer, "none"), 0);
	while (stats().failed == 1)
		doze();
	end();
}
END_TEST

START_TEST(no_memory_is_a_fill_that_failed)
{
	make(NULL, 1, 0);
	fault_fail_all(FAULT_EXTENT);
	ck_assert_int_eq(lend_warmer_refill(warmer, "64"), 0);
	while (stats().failed == 0)
		doze();
	fault_fail_all(0);
	ck_assert_uint_eq(stats().pool.in_flight, 0);
	ck_assert_uint_eq(fault_counts().extent_bytes, 0);
	end();
}
END_TEST

/* As large as the plan's A block; of plan 7 it fails. */
static int
rehearse(const char *plan, lend_workspace *ws, void *ctx)
{
	size_t bytes = lend_workspace_req(ws)->a_bytes;
	void *buffer;
	int error;

	if (ctx != &prepared || strtoul(plan, NULL, 10) * KIB != bytes)
		return -EINVAL;
	error = lend_buffer_borrow(lend_workspace_arena(ws), bytes, &buffer);
	if (error)
		return error;
	memset(buffer, 1, bytes);
	error = lend_buffer_return(buffer);
	return bytes == 7 * KIB ? -ENOMEM : error;
}

/* What the program has warmed itself is there for another thread as well. */
START_TEST(a_rehearsal_is_warm_for_the_claimer)
{
	struct lend_exec exec;
	lend_workspace *ws;
	lend_pool *pool;
	uint64_t before;
	void *buffer;

	ck_assert_int_eq(lend_pool_create(&pool, 2), 0);
	ck_assert_int_eq(lend_exec_on_pool(&exec, pool, 2), 0);
	make(_i ? &exec : NULL, 1, 0);
	prepared.rehearse = rehearse;
	fill("64", 1);
	ws = claim("64");
	before = growths(ws);
	ck_assert_int_eq(lend_buffer_borrow(lend_workspace_arena(ws),
					    64 * KIB, &buffer), 0);
	ck_assert_uint_eq(growths(ws), before);
	ck_assert_int_eq(lend_buffer_return(buffer), 0);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
	end();
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

START_TEST(a_rehearsal_that_fails_is_a_fill_that_failed)
{
	make(NULL, 1, 0);
	prepared.rehearse = rehearse;
	ck_assert_int_eq(lend_warmer_refill(warmer, "7"), 0);
	while (stats().failed == 0)
		;
	ck_assert_uint_eq(stats().pool.ready, 0);
	ck_assert_uint_eq(stats().pool.in_flight, 0);
	ck_assert_uint_eq(fault_counts().extent_bytes, 0);
	end();
}
END_TEST

START_TEST(bad_input_is_refused)
{
	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;
	struct lend_prepared bad = { .size = sizeof(bad) };

	ck_assert_int_eq(lend_prepared_use(NULL, &options), -EINVAL);
	ck_assert_int_eq(lend_prepared_use(&bad, &options), -EINVAL);
	bad.request = request;
	ck_assert_int_eq(lend_prepared_use(&bad, NULL), -EINVAL);
	bad.size--;
	ck_assert_int_eq(lend_prepared_use(&bad, &options), -EINVAL);
	ck_assert(!options.prepare);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("prepared");
	TCase *tcase = watched_case(suite, "prepared");

	tcase_add_test(tcase, a_claimer_finds_it_warm);
	tcase_add_test(tcase, the_executors_workers_find_it_warm);
	tcase_add_test(tcase, an_eviction_gives_the_memory_back);
	tcase_add_test(tcase, the_limit_holds_and_other_plans_go_on);
	tcase_add_test(tcase, no_memory_is_a_fill_that_failed);
	tcase_add_loop_test(tcase, a_rehearsal_is_warm_for_the_claimer, 0, 2);
	tcase_add_test(tcase, a_rehearsal_that_fails_is_a_fill_that_failed);
	tcase_add_test(tcase, bad_input_is_refused);
	return suite_run(suite);
}
