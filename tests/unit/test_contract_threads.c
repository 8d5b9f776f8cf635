/* SPDX-License-Identifier: MIT */
/*
 * Many client threads share one plan, one arena and one pool: what each of
 * them computes is, bit for bit, what the same team computes alone.
 */
#include "lend/contract.h"
#include "lend/workspace.h"

#include <check.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "support/contract_site.h"
#include "support/crew.h"
#include "support/einsum_case.h"
#include "support/einsum_random.h"
#include "support/loans.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/workers.h"

#define CLIENTS 8
#define TURNS 6
#define PLANS 12

/* One that reads its inputs. */
static struct random_einsum
some_einsum(unsigned seed, bool edges)
{
	struct random_wish wish = { .products = 150000, .edges = edges };
	struct random_einsum einsum;

	random_einsum(&einsum, seed, &wish);
	einsum.alpha[0] = 1;
	einsum.alpha[1] = 0;
	einsum.alpha_null = true;
	return einsum;
}

struct shared {
	struct site site;
	struct einsum_case c;
	/* C as each team made it alone. */
	unsigned char *alone[TEAM_SHAPES];
	/* What went wrong, client by client; empty: nothing. */
	char wrong[CLIENTS][CASE_TEXT];
};

static int
execute(const struct shared *shared, const struct case_output *output,
	unsigned team)
{
	struct lend_call call = case_call(&shared->c, output);

	call.pm = team_shape(team).pm;
	call.pn = team_shape(team).pn;
	return lend_plan_execute(shared->c.plan, shared->site.arena,
				 &shared->site.exec, &call, NULL);
}

/* Each team's result, checked against plain sums and kept. */
static void
execute_alone(struct shared *shared)
{
	for (unsigned team = 0; team < TEAM_SHAPES; team++) {
		char wrong[CASE_TEXT] = "";
		struct case_output output;

		ck_assert(case_output_new(&output, &shared->c));
		case_output_fill(&output, &shared->c);
		ck_assert_int_eq(execute(shared, &output, team), 0);
		shared->alone[team] = malloc(output.memory.size);
		ck_assert_ptr_nonnull(shared->alone[team]);
		memcpy(shared->alone[team], output.memory.bytes,
		       output.memory.size);
		ck_assert_msg(case_output_check(&output, &shared->c, wrong),
			      "%s", wrong);
		case_output_free(&output);
	}
}

/* One client: every team in turn, each beginning with another one. */
static void
be_client(size_t index, void *ctx)
{
	struct shared *shared = ctx;
	struct case_output output;
	char *wrong = shared->wrong[index];
	unsigned turns = scale(TURNS * TEAM_SHAPES);

	if (!case_output_new(&output, &shared->c)) {
		strcpy(wrong, "no memory");
		return;
	}
	for (unsigned turn = 0; turn < turns && !*wrong; turn++) {
		unsigned team = ((unsigned)index + turn) % TEAM_SHAPES;

		case_output_fill(&output, &shared->c);
		if (execute(shared, &output, team))
			strcpy(wrong, "an execution failed");
		else if (memcmp(output.memory.bytes, shared->alone[team],
				output.memory.size) != 0)
			strcpy(wrong, "another result than alone");
	}
	case_output_free(&output);
}

/* Large enough that the threads meet while they work. */
START_TEST(clients_do_not_disturb_each_other)
{
	static struct shared shared;
	struct random_einsum einsum = some_einsum(2000000 + (unsigned)_i,
						  _i % 2);
	struct lend_plan_options options = {
		.size = sizeof(options), .pack = _i % 3 == 0
	};
	char what[CASE_TEXT], wrong[CASE_TEXT] = "";

	case_print(&einsum, what);
	memset(&shared, 0, sizeof(shared));
	shared.site = site_open();
	ck_assert_msg(case_open(&shared.c, &einsum, &options, wrong),
		      "%s: %s", what, wrong);
	execute_alone(&shared);
	crew_run(CLIENTS, be_client, &shared);
	for (int i = 0; i < CLIENTS; i++)
		ck_assert_msg(!*shared.wrong[i], "%s: client %d: %s", what, i,
			      shared.wrong[i]);
	ck_assert(case_inputs_untouched(&shared.c));
	ck_assert_uint_eq(stats_of(shared.site.arena).slots_out, 0);
	ck_assert_uint_eq(stats_of(shared.site.arena).sets_out, 0);
	for (int team = 0; team < TEAM_SHAPES; team++)
		free(shared.alone[team]);
	case_close(&shared.c);
	site_close(&shared.site);
}
END_TEST

/* ------------------------------------------------------------------------
 * Inside of the pool
 * --------------------------------------------------------------------- */

struct inside {
	struct shared *shared;
	struct case_output output[CLIENTS];
	int error[CLIENTS];
};

static void
execute_inside(size_t index, void *ctx)
{
	struct inside *inside = ctx;

	case_output_fill(&inside->output[index], &inside->shared->c);
	/* A team of 4: it would wait for the very threads that wait. */
	inside->error[index] = execute(inside->shared, &inside->output[index],
				       3);
}

static void
execute_forked(size_t index, const struct lend_exec *child, void *ctx)
{
	struct inside *inside = ctx;
	struct lend_call call = case_call(&inside->shared->c,
					  &inside->output[index]);

	case_output_fill(&inside->output[index], &inside->shared->c);
	call.pm = lend_exec_budget(child);
	call.pn = 1;
	inside->error[index] =
		lend_plan_execute(inside->shared->c.plan,
				  inside->shared->site.arena, child, &call,
				  NULL);
}

static void
check_inside(struct inside *inside)
{
	for (int i = 0; i < CLIENTS; i++) {
		char wrong[CASE_TEXT] = "";

		ck_assert_int_eq(inside->error[i], 0);
		ck_assert_msg(case_output_check(&inside->output[i],
						&inside->shared->c, wrong),
			      "%s", wrong);
	}
}

/* Workers of the pool, and jobs with a part of it, work alone. */
START_TEST(executions_inside_of_the_pool)
{
	struct random_einsum einsum = some_einsum(3000000 + (unsigned)_i,
						  true);
	struct shared shared = { .site = site_open() };
	struct inside inside = { .shared = &shared };
	char wrong[CASE_TEXT] = "";

	ck_assert_msg(case_open(&shared.c, &einsum, NULL, wrong), "%s",
		      wrong);
	for (int i = 0; i < CLIENTS; i++)
		ck_assert(case_output_new(&inside.output[i], &shared.c));
	ck_assert_int_eq(lend_exec_broadcast(&shared.site.exec,
					     execute_inside, &inside), 0);
	check_inside(&inside);
	ck_assert_int_eq(lend_exec_fork(&shared.site.exec, CLIENTS,
					execute_forked, &inside), 0);
	check_inside(&inside);
	for (int i = 0; i < CLIENTS; i++)
		case_output_free(&inside.output[i]);
	case_close(&shared.c);
	site_close(&shared.site);
}
END_TEST

/* Whose thread takes part in a team. */

struct seats {
	struct einsum_case c;
	struct case_output output;
	struct lend_exec exec;
	lend_pool *pool;
	lend_workspace *ws;
	int error;
};

static void
seats_open(struct seats *seats, size_t threads)
{
	struct random_einsum einsum = some_einsum(3000000, false);
	char wrong[CASE_TEXT] = "";

	memset(seats, 0, sizeof(*seats));
	ck_assert_msg(case_open(&seats->c, &einsum, NULL, wrong), "%s", wrong);
	ck_assert(case_output_new(&seats->output, &seats->c));
	case_output_fill(&seats->output, &seats->c);
	seats->pool = pool_at_rest(threads);
	seats->exec = token_of(seats->pool, threads);
}

static void
seats_close(struct seats *seats)
{
	case_output_free(&seats->output);
	case_close(&seats->c);
	ck_assert_int_eq(lend_pool_destroy(seats->pool), 0);
}

/* So a team of two wakes one thread: each who takes part has a slot. */
START_TEST(the_caller_has_a_seat)
{
	const struct lend_req req = { .tile_bytes = 1 };
	struct team_shape team = team_shape((unsigned)_i);
	lend_arena *arena = arena_of(NULL);
	struct lend_worker loan;
	uint64_t growths;
	struct lend_call call;
	struct seats seats;

	seats_open(&seats, SITE_THREADS);
	call = case_call(&seats.c, &seats.output);
	call.pm = team.pm;
	call.pn = team.pn;
	ck_assert_int_eq(lend_plan_execute(seats.c.plan, arena, &seats.exec,
					   &call, NULL), 0);
	ck_assert_uint_eq(stats_of(arena).slots_idle, team.pm * team.pn);
	growths = stats_of(arena).growths;
	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan), 0);
	lend_worker_return(arena, &loan);
	ck_assert_uint_eq(stats_of(arena).growths, growths);
	seats_close(&seats);
	arena_end(arena);
}
END_TEST

static void *
execute_in_workspace(void *arg)
{
	struct seats *seats = arg;
	struct lend_call call = case_call(&seats->c, &seats->output);

	call.pm = 2;
	call.pn = 1;
	seats->error = lend_plan_execute_in(seats->c.plan, seats->ws,
					    &seats->exec, &call, NULL);
	return NULL;
}

/*
 * "An execute whose request the bound covers allocates nothing": a workspace
 * has warmed the workers, and this thread comes for the first time.
 */
START_TEST(a_workspaces_team_is_of_those_it_has_warmed)
{
	struct lend_stats before, after;
	struct seats seats;
	struct lend_req req;
	pthread_t thread;

	seats_open(&seats, 2);
	ck_assert_int_eq(lend_plan_req(seats.c.plan, 2, 1, &req), 0);
	ck_assert_int_eq(lend_workspace_create(&seats.ws, &req, NULL), 0);
	ck_assert_int_eq(lend_workspace_prepare_for(seats.ws, &seats.exec), 0);
	before = stats_of(lend_workspace_arena(seats.ws));
	ck_assert_int_eq(pthread_create(&thread, NULL, execute_in_workspace,
					&seats), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	after = stats_of(lend_workspace_arena(seats.ws));
	ck_assert_int_eq(seats.error, 0);
	ck_assert_uint_eq(after.growths, before.growths);
	ck_assert_uint_eq(after.retained_bytes, before.retained_bytes);
	ck_assert_int_eq(lend_workspace_destroy(seats.ws), 0);
	seats_close(&seats);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_threads");
	TCase *tcase = suite_case(suite, "threads");

	tcase_add_loop_test(tcase, clients_do_not_disturb_each_other, 0,
			    PLANS);
	tcase_add_loop_test(tcase, executions_inside_of_the_pool, 0, 4);
	/* Of teams of more than one. */
	tcase_add_loop_test(tcase, the_caller_has_a_seat, 1, 6);
	tcase_add_test(tcase, a_workspaces_team_is_of_those_it_has_warmed);
	return suite_run(suite);
}
