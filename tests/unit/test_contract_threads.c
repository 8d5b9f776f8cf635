/* SPDX-License-Identifier: MIT */
/*
 * Many client threads share one plan, one arena and one pool: what each of
 * them computes is, bit for bit, what the same team computes alone.
 */
#include "lend/contract.h"

#include <check.h>
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
	char what[CASE_TEXT], wrong[CASE_TEXT] = "";

	case_print(&einsum, what);
	memset(&shared, 0, sizeof(shared));
	shared.site = site_open();
	ck_assert_msg(case_open(&shared.c, &einsum, NULL, wrong), "%s: %s",
		      what, wrong);
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

int
main(void)
{
	Suite *suite = suite_create("contract_threads");
	TCase *tcase = suite_case(suite, "threads");

	tcase_add_loop_test(tcase, clients_do_not_disturb_each_other, 0,
			    PLANS);
	tcase_add_loop_test(tcase, executions_inside_of_the_pool, 0, 4);
	return suite_run(suite);
}
