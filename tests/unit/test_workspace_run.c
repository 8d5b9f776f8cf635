/* SPDX-License-Identifier: MIT */
/*
 * "An execute whose request the bound covers allocates nothing: no arena
 * growth, and no call of any allocator, from the first execute on."  Counted
 * at the library's backend and at malloc, which this program replaces.
 */
#include "lend/workspace.h"

#include <check.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/suite.h"
#include "support/workers.h"

static atomic_ulong malloc_calls;

/* A sanitizer replaces the same functions: then the backend alone counts. */
#if !defined(LEND_TSAN) && !defined(LEND_ASAN) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC

/* While the real functions are looked up, which may allocate. */
static _Alignas(16) char early[4096];
static size_t early_used;
static _Thread_local bool looking;

static void *
early_alloc(size_t size)
{
	size_t at = early_used;

	early_used += round_up(size, 16);
	return early_used <= sizeof(early) ? early + at : NULL;
}

static bool
is_early(const void *p)
{
	return (const char *)p >= early &&
	       (const char *)p < early + sizeof(early);
}

static void *
real(const char *name)
{
	void *function;

	looking = true;
	function = dlsym(RTLD_NEXT, name);
	looking = false;
	return function;
}

static void
count_call(void)
{
	atomic_fetch_add(&malloc_calls, 1);
}

void *
malloc(size_t size)
{
	static void *(*next)(size_t);

	count_call();
	if (looking)
		return early_alloc(size);
	if (!next)
		next = (void *(*)(size_t))real("malloc");
	return next(size);
}

void *
calloc(size_t n, size_t size)
{
	static void *(*next)(size_t, size_t);

	count_call();
	if (looking)
		return early_alloc(n * size);
	if (!next)
		next = (void *(*)(size_t, size_t))real("calloc");
	return next(n, size);
}

void *
realloc(void *p, size_t size)
{
	static void *(*next)(void *, size_t);

	count_call();
	if (!next)
		next = (void *(*)(void *, size_t))real("realloc");
	return next(p, size);
}

int
posix_memalign(void **p, size_t align, size_t size)
{
	static int (*next)(void **, size_t, size_t);

	count_call();
	if (!next)
		next = (int (*)(void **, size_t, size_t))
			real("posix_memalign");
	return next(p, align, size);
}

void *
aligned_alloc(size_t align, size_t size)
{
	static void *(*next)(size_t, size_t);

	count_call();
	if (!next)
		next = (void *(*)(size_t, size_t))real("aligned_alloc");
	return next(align, size);
}

void
free(void *p)
{
	static void (*next)(void *);

	count_call();
	if (is_early(p))
		return;
	if (!next)
		next = (void (*)(void *))real("free");
	next(p);
}
#endif

static const struct lend_req bound = {
	.a_bytes = 100000, .tile_bytes = 20000, .worker_scatter = 3000,
	.b_bytes = 200000, .team_scatter = 2000, .barriers = 6,
};

/* An execution: a team of all the token's workers shares a panel. */
struct run {
	lend_workspace *ws;
	struct lend_req req;
	struct lend_team lease;
	atomic_int errors;
};

static int
work(struct run *run, size_t index, struct lend_worker *loan)
{
	lend_arena *arena = lend_workspace_arena(run->ws);
	size_t a = run->req.a_bytes & ~(size_t)7;
	int error = lend_worker_checkout(arena, &run->req, loan);

	if (error)
		return error;
	pattern_write(loan->a, a, index);
	error = lend_worker_scatter_resize(arena, loan,
					   run->req.worker_scatter);
	for (size_t i = 0; i < run->lease.barriers; i++)
		lend_barrier_wait(lend_team_barrier(&run->lease, i));
	if (!pattern_holds(loan->a, a, index))
		error = 1;
	return error | lend_worker_return(arena, loan);
}

static void
run_worker(size_t index, void *ctx)
{
	struct run *run = ctx;
	struct lend_worker loan;

	if (work(run, index, &loan))
		atomic_fetch_add(&run->errors, 1);
}

/* No assertion: that would allocate. */
static int
execute(struct run *run, const struct lend_exec *exec)
{
	lend_arena *arena = lend_workspace_arena(run->ws);
	int error = lend_workspace_admit(run->ws, &run->req);

	if (!error)
		error = lend_team_take(arena, &run->req,
				       lend_exec_budget(exec), 1,
				       &run->lease);
	if (error)
		return error;
	error = lend_team_panel(arena, &run->lease, run->req.b_bytes);
	error |= lend_team_scatter_resize(arena, &run->lease,
					  run->req.team_scatter);
	pattern_write(run->lease.panel, run->req.b_bytes & ~(size_t)7, 1);
	error |= lend_exec_broadcast(exec, run_worker, run);
	error |= lend_team_return(arena, &run->lease);
	return error | atomic_load(&run->errors);
}

/* Executes, and demands that nothing was allocated by anybody. */
static void
assert_allocates_nothing(lend_workspace *ws, const struct lend_exec *exec,
			 const struct lend_req *req)
{
	struct run run = { .ws = ws, .req = *req };
	struct lend_stats before, after;
	struct fault_counts counts, counts_after;
	unsigned long calls;
	int error;

	before = stats_of(lend_workspace_arena(ws));
	counts = fault_counts();
	calls = atomic_load(&malloc_calls);
	error = execute(&run, exec);
	calls = atomic_load(&malloc_calls) - calls;
	counts_after = fault_counts();
	after = stats_of(lend_workspace_arena(ws));
	ck_assert_int_eq(error, 0);
	ck_assert_uint_eq(calls, 0);
	counts_same(&counts, &counts_after);
	stats_same(&before, &after);
}

static lend_workspace *
workspace_of(const struct lend_req *req)
{
	lend_workspace *ws = NULL;

	ck_assert_int_eq(lend_workspace_create(&ws, req, NULL), 0);
	return ws;
}

/* The whole bound, parts of it, and again. */
static void
assert_runs(lend_workspace *ws, const struct lend_exec *exec)
{
	const struct lend_req less = {
		.a_bytes = 5000, .worker_scatter = 3000, .b_bytes = 8,
		.barriers = 1,
	};

	assert_allocates_nothing(ws, exec, lend_workspace_req(ws));
	assert_allocates_nothing(ws, exec, &less);
	assert_allocates_nothing(ws, exec, &bound);
}

START_TEST(calls_of_malloc_are_counted)
{
#ifdef COUNTS_MALLOC
	unsigned long before = atomic_load(&malloc_calls);
	void *volatile p = malloc(100);

	free(p);
	ck_assert_uint_eq(atomic_load(&malloc_calls) - before, 2);
#endif
}
END_TEST

START_TEST(the_calling_thread_allocates_nothing)
{
	lend_workspace *ws = workspace_of(&bound);
	struct lend_exec exec;

	lend_exec_serial(&exec);
	assert_runs(ws, &exec);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
}
END_TEST

/* After a reserve as well, for what the bound is then. */
START_TEST(nothing_is_allocated_after_a_reserve)
{
	const struct lend_req more = {
		.a_bytes = 500000, .team_scatter = 20000, .barriers = 200,
	};
	lend_workspace *ws = workspace_of(&bound);
	struct lend_exec exec;

	lend_exec_serial(&exec);
	ck_assert_int_eq(lend_workspace_reserve(ws, &more), 0);
	assert_runs(ws, &exec);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
}
END_TEST

/* Each of `budget` workers was warmed: their first execution allocates not. */
START_TEST(warmed_workers_allocate_nothing)
{
	lend_workspace *ws = workspace_of(&bound);
	size_t budget = (size_t)_i;
	lend_pool *pool = pool_of(budget);
	struct lend_exec exec = token_of(pool, budget);

	ck_assert_int_eq(lend_workspace_prepare_for(ws, &exec), 0);
	assert_runs(ws, &exec);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

/* Of every pool that it was prepared for, not only of the first one. */
START_TEST(workers_of_a_second_pool_allocate_nothing)
{
	lend_workspace *ws = workspace_of(&bound);
	lend_pool *first = pool_of(3), *second = pool_of(2);
	struct lend_exec exec = token_of(first, 3), other = token_of(second, 2);

	ck_assert_int_eq(lend_workspace_prepare_for(ws, &exec), 0);
	ck_assert_int_eq(lend_workspace_prepare_for(ws, &other), 0);
	assert_runs(ws, &exec);
	assert_runs(ws, &other);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
	ck_assert_int_eq(lend_pool_destroy(first), 0);
	ck_assert_int_eq(lend_pool_destroy(second), 0);
}
END_TEST

/* That this would be seen: workers that nobody has warmed do allocate. */
START_TEST(workers_that_were_not_warmed_do_allocate)
{
	struct run run = { .ws = workspace_of(&bound), .req = bound };
	lend_pool *pool = pool_of(2);
	struct lend_exec exec = token_of(pool, 2);
	size_t before = fault_counts().extent_allocs;

	ck_assert_int_eq(execute(&run, &exec), 0);
	ck_assert_uint_ge(fault_counts().extent_allocs, before + 2 * 3);
	ck_assert_int_eq(lend_workspace_destroy(run.ws), 0);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("workspace runs");
	TCase *runs = watched_case(suite, "runs");

	tcase_add_test(runs, calls_of_malloc_are_counted);
	tcase_add_test(runs, the_calling_thread_allocates_nothing);
	tcase_add_test(runs, nothing_is_allocated_after_a_reserve);
	tcase_add_loop_test(runs, warmed_workers_allocate_nothing, 1, 5);
	tcase_add_test(runs, workers_of_a_second_pool_allocate_nothing);
	tcase_add_test(runs, workers_that_were_not_warmed_do_allocate);
	return suite_run(suite);
}
