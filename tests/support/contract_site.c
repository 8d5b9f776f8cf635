/* SPDX-License-Identifier: MIT */
#include "support/contract_site.h"

#include <check.h>

#include "lend/buffer.h"

struct site
site_open(void)
{
	struct site site;

	ck_assert_int_eq(lend_arena_create(&site.arena, NULL), 0);
	ck_assert_int_eq(lend_pool_create(&site.pool, SITE_THREADS), 0);
	ck_assert_int_eq(lend_exec_on_pool(&site.exec, site.pool,
					   SITE_THREADS), 0);
	return site;
}

void
site_close(struct site *site)
{
	ck_assert_int_eq(lend_pool_destroy(site->pool), 0);
	ck_assert_int_eq(lend_arena_destroy(site->arena), 0);
}

struct team_shape
team_shape(unsigned i)
{
	static const struct team_shape shape[TEAM_SHAPES] = {
		{ 1, 1 }, { 2, 1 }, { 1, 2 }, { 2, 2 }, { 4, 1 }, { 4, 2 },
		{ 0, 0 },
	};

	return shape[i % TEAM_SHAPES];
}

/* ------------------------------------------------------------------------
 * The lender
 * --------------------------------------------------------------------- */

static int
worker_checkout(void *host, const struct lend_req *req,
		struct lend_worker *loan)
{
	return lend_worker_checkout(host, req, loan);
}

static int
worker_return(void *host, struct lend_worker *loan)
{
	return lend_worker_return(host, loan);
}

static int
team_take(void *host, const struct lend_req *req, size_t pm, size_t pn,
	  struct lend_team *lease)
{
	return lend_team_take(host, req, pm, pn, lease);
}

static int
team_panel(void *host, struct lend_team *lease, size_t bytes)
{
	return lend_team_panel(host, lease, bytes);
}

static int
team_return(void *host, struct lend_team *lease)
{
	return lend_team_return(host, lease);
}

static int
buffer_borrow(void *host, size_t bytes, void **buffer)
{
	return lend_buffer_borrow(host, bytes, buffer);
}

static int
buffer_return(void *host, void *buffer)
{
	(void)host;
	return lend_buffer_return(buffer);
}

struct lend_lender
site_lender(lend_arena *arena)
{
	return (struct lend_lender){
		.size = sizeof(struct lend_lender),
		.host = arena,
		.worker_checkout = worker_checkout,
		.worker_return = worker_return,
		.team_take = team_take,
		.team_panel = team_panel,
		.team_return = team_return,
		.buffer_borrow = buffer_borrow,
		.buffer_return = buffer_return,
	};
}

/* ------------------------------------------------------------------------
 * A contraction
 * --------------------------------------------------------------------- */

/* A workspace just large enough. */
static int
execute_in(const struct site *site, const lend_plan *plan,
	   const struct lend_call *call, struct lend_error *why)
{
	size_t pm = call->pm, pn = call->pn;
	lend_workspace *ws;
	struct lend_req req;
	int error;

	if (pm == 0)
		ck_assert_int_eq(lend_plan_team(plan, SITE_THREADS, &pm, &pn),
				 0);
	ck_assert_int_eq(lend_plan_req(plan, pm, pn, &req), 0);
	ck_assert_int_eq(lend_workspace_create(&ws, &req, NULL), 0);
	error = lend_plan_execute_in(plan, ws, &site->exec, call, why);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
	return error;
}

static int
execute(const struct site *site, const lend_plan *plan,
	enum site_source source, const struct lend_call *call,
	struct lend_error *why)
{
	struct lend_lender lender = site_lender(site->arena);

	if (source == FROM_WORKSPACE)
		return execute_in(site, plan, call, why);
	if (source == FROM_LENDER)
		return lend_plan_execute_on(plan, &lender, &site->exec, call,
					    why);
	return lend_plan_execute(plan, site->arena, &site->exec, call, why);
}

void
site_try(const struct site *site, const struct random_einsum *einsum,
	 const struct lend_plan_options *options, struct team_shape team,
	 enum site_source source)
{
	char what[CASE_TEXT], wrong[CASE_TEXT] = "";
	struct lend_error why = { "" };
	struct case_output output;
	struct lend_call call;
	struct einsum_case c;
	int error;

	case_print(einsum, what);
	ck_assert_msg(case_open(&c, einsum, options, wrong), "%s: %s", what,
		      wrong);
	ck_assert(case_output_new(&output, &c));
	case_output_fill(&output, &c);
	call = case_call(&c, &output);
	call.pm = team.pm;
	call.pn = team.pn;
	error = execute(site, c.plan, source, &call, &why);
	ck_assert_msg(error == 0, "%s, team %zux%zu: error %d, %s", what,
		      team.pm, team.pn, error, why.text);
	ck_assert_msg(case_output_check(&output, &c, wrong),
		      "%s, team %zux%zu: %s", what, team.pm, team.pn, wrong);
	ck_assert_msg(case_inputs_untouched(&c), "%s: an input changed",
		      what);
	case_output_free(&output);
	case_close(&c);
}
