/* SPDX-License-Identifier: MIT */
/*
 * "After the first execute of a plan: no allocation, no system call, no page
 * fault."  Counted at the arena, at the library's backend, at malloc, which this program
 * replaces, and by the system.
 */
#include "lend/contract.h"

#include <check.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/contract_site.h"
#include "support/einsum_case.h"
#include "support/einsum_random.h"
#include "support/fault.h"
#include "support/heap.h"
#include "support/loans.h"
#include "support/scale.h"
#include "support/suite.h"

#ifdef HAVE_VALGRIND_H
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#define TURNS 100

/* One of each method and split, by its labels and extents. */
static const struct kind {
	const char *text;
	enum lend_type type;
	size_t extent[4];	/* of a, b, c, d */
} kinds[] = {
	{ "ab,bc->ac", LEND_F64, { 100, 70, 110 } },
	{ "ab,bc->ac", LEND_F64, { 70, 70, 70 } },	/* few columns */
	{ "ba,cb->ac", LEND_CF32, { 50, 40, 60 } },
	{ "dab,dbc->dac", LEND_F32, { 20, 30, 20, 9 } },
	{ "ba,cb->ac", LEND_F64, { 7, 5000, 6 } },	/* a long sum */
	{ "abd,bc->ac", LEND_F64, { 30, 30, 30, 4 } },	/* a sum in A */
	{ "ab,b->a", LEND_F64, { 100, 100 } },
	{ "ab,ba->ab", LEND_CF64, { 100, 60 } },
	{ "a,b->ab", LEND_F32, { 100, 100 } },
	{ "ab,ab->", LEND_F32, { 100, 100 } },
};

#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

/* Row-major, all of it. */
static struct random_einsum
einsum_of(const struct kind *kind)
{
	struct random_einsum einsum = {
		.seed = 1, .type = kind->type, .output = OUTPUT_WHOLE,
		.alpha = { 1, 0 }, .beta = { 0, 0 }, .exact = true,
	};

	strcpy(einsum.text, kind->text);
	ck_assert(naive_parse(einsum.text, einsum.labels));
	for (int o = 0; o < NAIVE_OPERANDS; o++) {
		struct random_tensor *tensor = &einsum.tensor[o];
		ptrdiff_t next = 1;

		for (size_t d = einsum.labels[o].n; d-- > 0;) {
			tensor->extent[d] = kind->extent[
				einsum.labels[o].point[d] - 'a'];
			tensor->stride[d] = next;
			next *= (ptrdiff_t)tensor->extent[d];
		}
	}
	return einsum;
}

struct meters {
	struct lend_stats stats;
	struct fault_counts backend;
	unsigned long heap;
	long faults;
};

static struct meters
read_meters(const lend_arena *arena)
{
	struct meters meters = {
		.stats = stats_of(arena),
		.backend = fault_counts(),
	};
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	meters.faults = usage.ru_minflt + usage.ru_majflt;
	meters.heap = heap_calls();
	return meters;
}

static void
assert_steady(const struct meters *before, const struct meters *after)
{
	ck_assert_uint_eq(after->stats.growths, before->stats.growths);
	ck_assert_uint_eq(after->stats.retained_bytes,
			  before->stats.retained_bytes);
	ck_assert_uint_eq(after->stats.reentrant, before->stats.reentrant);
	ck_assert_uint_eq(after->backend.extent_allocs,
			  before->backend.extent_allocs);
	ck_assert_uint_eq(after->backend.pages_allocs,
			  before->backend.pages_allocs);
	ck_assert_uint_eq(after->backend.extent_frees,
			  before->backend.extent_frees);
	ck_assert_uint_eq(after->heap, before->heap);
}

/* The tools' own memory would count as well. */
static bool
counts_faults(void)
{
	return heap_counts() && !RUNNING_ON_VALGRIND;
}

/* Executes often and reads the meters around it; what asserts comes after. */
static void
run(lend_arena *arena, const struct lend_exec *exec, struct team_shape team,
    const struct kind *kind, struct meters *before, struct meters *after)
{
	struct random_einsum einsum = einsum_of(kind);
	char wrong[CASE_TEXT] = "";
	struct case_output output;
	struct einsum_case c;
	struct lend_call call;
	int error;

	ck_assert_msg(case_open(&c, &einsum, NULL, wrong), "%s", wrong);
	ck_assert(case_output_new(&output, &c));
	case_output_fill(&output, &c);
	call = case_call(&c, &output);
	call.pm = team.pm;
	call.pn = team.pn;
	error = lend_plan_execute(c.plan, arena, exec, &call, NULL);
	*before = read_meters(arena);
	/* The meters' own pages are there as well. */
	*before = read_meters(arena);
	for (unsigned i = 0; i < scale(TURNS); i++)
		error |= lend_plan_execute(c.plan, arena, exec, &call, NULL);
	*after = read_meters(arena);
	ck_assert_int_eq(error, 0);
	ck_assert_msg(case_output_check(&output, &c, wrong), "%s", wrong);
	case_output_free(&output);
	case_close(&c);
}

START_TEST(one_thread_needs_nothing_more)
{
	lend_arena *arena = arena_of(NULL);
	struct meters before, after;
	struct lend_exec serial;

	lend_exec_serial(&serial);
	/* The system may move or take a page at any time, but not always. */
	for (int attempt = 0; attempt < 3; attempt++) {
		run(arena, &serial, team_shape(0), &kinds[_i], &before,
		    &after);
		assert_steady(&before, &after);
		if (after.faults == before.faults)
			break;
	}
	if (counts_faults())
		ck_assert_int_eq(after.faults, before.faults);
	arena_end(arena);
}
END_TEST

/*
 * All workers of the pool are in the team, so that each has its slot after
 * the first time.  Their page faults are not judged: a thread's first one
 * may come late.
 */
START_TEST(a_team_needs_nothing_more)
{
	struct team_shape team = team_shape((unsigned)_i % 6);
	lend_arena *arena = arena_of(NULL);
	struct meters before, after;
	struct lend_exec exec;
	lend_pool *pool;

	ck_assert_int_eq(lend_pool_create(&pool, team.pm * team.pn), 0);
	ck_assert_int_eq(lend_exec_on_pool(&exec, pool, team.pm * team.pn),
			 0);
	run(arena, &exec, team, &kinds[_i / 6], &before, &after);
	assert_steady(&before, &after);
	ck_assert_int_eq(lend_pool_destroy(pool), 0);
	arena_end(arena);
}
END_TEST

/* In a workspace that covers it, the first execute is like the others. */
START_TEST(a_workspace_is_warm_from_the_start)
{
	struct random_einsum einsum = einsum_of(&kinds[_i]);
	struct meters before, after;
	char wrong[CASE_TEXT] = "";
	struct case_output output;
	struct lend_exec serial;
	struct lend_call call;
	struct einsum_case c;
	lend_workspace *ws;
	struct lend_req req;
	int error;

	lend_exec_serial(&serial);
	ck_assert_msg(case_open(&c, &einsum, NULL, wrong), "%s", wrong);
	ck_assert(case_output_new(&output, &c));
	case_output_fill(&output, &c);
	call = case_call(&c, &output);
	ck_assert_int_eq(lend_plan_req(c.plan, 1, 1, &req), 0);
	ck_assert_int_eq(lend_workspace_create(&ws, &req, NULL), 0);
	before = read_meters(lend_workspace_arena(ws));
	error = lend_plan_execute_in(c.plan, ws, &serial, &call, NULL);
	after = read_meters(lend_workspace_arena(ws));
	ck_assert_int_eq(error, 0);
	assert_steady(&before, &after);
	ck_assert_msg(case_output_check(&output, &c, wrong), "%s", wrong);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
	case_output_free(&output);
	case_close(&c);
}
END_TEST

/*
 * From here on a system call but read, write and the end of the thread kills
 * the process.
 */
static void
allow_no_system_calls(void)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
		_exit(77);
}

/* Returns the status of a child that executes with or without such calls. */
static int
status_of_child(const struct kind *kind, bool call_anyway)
{
	struct random_einsum einsum = einsum_of(kind);
	char wrong[CASE_TEXT] = "";
	struct case_output output;
	struct lend_exec serial;
	struct einsum_case c;
	struct lend_call call;
	lend_arena *arena;
	int status = -1, error;
	pid_t child;

	lend_exec_serial(&serial);
	ck_assert_msg(case_open(&c, &einsum, NULL, wrong), "%s", wrong);
	ck_assert(case_output_new(&output, &c));
	case_output_fill(&output, &c);
	call = case_call(&c, &output);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0) {
		error = lend_arena_create(&arena, NULL) ||
			lend_plan_execute(c.plan, arena, &serial, &call, NULL);
		allow_no_system_calls();
		for (unsigned i = 0; i < scale(TURNS); i++)
			error |= lend_plan_execute(c.plan, arena, &serial,
						   &call, NULL);
		if (call_anyway)
			syscall(SYS_getppid);
		/* Not exit_group: that one is refused as well. */
		syscall(SYS_exit, error != 0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	case_output_free(&output);
	case_close(&c);
	return status;
}

START_TEST(one_thread_makes_no_system_call)
{
	int status;

	/* The tools make calls of their own. */
	if (!counts_faults())
		return;
	status = status_of_child(&kinds[_i], false);
	ck_assert_msg(WIFEXITED(status) && (WEXITSTATUS(status) == 0 ||
					    WEXITSTATUS(status) == 77),
		      "status %#x", (unsigned)status);
	if (WEXITSTATUS(status) == 77)
		return;
	/* It would show. */
	status = status_of_child(&kinds[_i], true);
	ck_assert(WIFSIGNALED(status));
}
END_TEST

/* What is counted is seen when it happens. */
START_TEST(the_meters_move)
{
	lend_arena *arena = arena_of(NULL);
	struct meters before = read_meters(arena), after;
	struct lend_worker loan = lent(arena, 1 << 20, 0, 0);
	char *more = malloc(1 << 20);

	memset(loan.a, 1, 1 << 20);
	memset(more, 1, 1 << 20);
	after = read_meters(arena);
	ck_assert_uint_gt(after.stats.growths, before.stats.growths);
	ck_assert_uint_gt(after.backend.extent_allocs,
			  before.backend.extent_allocs);
	if (heap_counts())
		ck_assert_uint_gt(after.heap, before.heap);
	if (counts_faults())
		ck_assert_int_gt(after.faults, before.faults);
	free(more);
	checkin(arena, &loan);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_steady");
	TCase *tcase = watched_case(suite, "steady");

	tcase_add_loop_test(tcase, one_thread_needs_nothing_more, 0, KINDS);
	tcase_add_loop_test(tcase, one_thread_makes_no_system_call, 0, KINDS);
	tcase_add_loop_test(tcase, a_team_needs_nothing_more, 0,
			    scale(8) < 8 ? 6 : 6 * KINDS);
	tcase_add_loop_test(tcase, a_workspace_is_warm_from_the_start, 0,
			    KINDS);
	tcase_add_test(tcase, the_meters_move);
	return suite_run(suite);
}
