/* SPDX-License-Identifier: MIT */
/*
 * Executions: borrow, seat the team, run, give back.
 *
 * Nothing is written before all that is needed has been lent.  In a team each
 * thread takes its own loan (first touch is then its own), and all meet
 * before the first write: if one of them got none, all leave.
 */
#include <errno.h>
#include <string.h>

#include "base/atomic.h"
#include "base/util.h"
#include "contract/error.h"
#include "contract/layout.h"
#include "contract/narrow.h"
#include "contract/lender.h"
#include "contract/request.h"
#include "contract/side.h"
#include "contract/task.h"

/* One execution, from the thread that asked for it. */
struct execution {
	struct task task;
	struct lend_req req;
	const struct lend_lender *lender;
	struct lend_team lease;
	bool leased;
	bool warmed;		/* the workers' slots, by a workspace */
	struct lend_barrier *start;	/* all threads of the team */
	_Atomic(uint32_t) error;	/* the first one, negated; 0: none */
	struct lend_error *why;
};

static int
explain(struct lend_error *why, int error, const struct lend_req *req)
{
	size_t bytes = 0;

	if (lend_req_bytes(req, &bytes))
		bytes = SIZE_MAX;
	switch (error) {
	case -EDQUOT:
		return lend__fail(why, error, "the arena's limit leaves no "
			"room for this call's %zu bytes", bytes);
	case -ENOMEM:
		return lend__fail(why, error, "no memory for this call's %zu "
				  "bytes", bytes);
	default:
		return lend__fail(why, error, "borrowing %zu bytes: %s",
				  bytes, strerror(-error));
	}
}

/* The team's loan, where the request has a part for it. */
static int
take_team(struct execution *run)
{
	const struct lend_lender *lender = run->lender;
	const struct lend_req *req = &run->req;
	int error;

	run->leased = req->b_bytes || req->team_scatter || req->barriers;
	if (!run->leased)
		return 0;
	error = lender->team_take(lender->host, req, run->task.pm,
				  run->task.pn, &run->lease);
	if (error) {
		run->leased = false;
		return explain(run->why, error, req);
	}
	error = lender->team_panel(lender->host, &run->lease, req->b_bytes);
	if (error) {
		lender->team_return(lender->host, &run->lease);
		run->leased = false;
		return explain(run->why, error, req);
	}
	return 0;
}

static void
return_team(struct execution *run)
{
	if (run->leased)
		run->lender->team_return(run->lender->host, &run->lease);
}

/* Where the thread of this index sits. */
static struct seat
seat_of(const struct execution *run, size_t index,
	const struct lend_worker *loan)
{
	const struct lend_plan *plan = run->task.plan;
	struct seat seat = {
		.group = index / run->task.pm,
		.rank = index % run->task.pm,
		.a = loan->a, .tile = loan->tile, .scratch = loan->scatter
	};
	char *panel = run->lease.panel;

	if (!run->leased)
		return seat;
	seat.b = panel + seat.group * plan_panel_bytes(plan);
	if (run->lease.scatter)
		seat.columns = run->lease.scatter +
			       seat.group * plan_columns(plan);
	if (run->req.barriers)
		seat.barrier = lend_team_barrier(&run->lease, seat.group);
	if (run->task.split == LEND_SPLIT_K)
		seat.partial = panel +
			run->task.pn * plan_panel_bytes(plan) +
			seat.group * plan_partial_bytes(plan);
	return seat;
}

static void
work(const struct task *task, const struct seat *seat)
{
	if (task->plan->nothing || scalar_is(task->alpha, 0)) {
		struct shares shares = task_divide(task, seat);

		scale_shares(task, &shares, seat->scratch);
	} else if (task->plan->method == METHOD_LOOPS) {
		loops_run(task, seat);
	} else if (task->plan->method == METHOD_SIDE) {
		side_run(task, seat);
	} else if (task->plan->method == METHOD_NARROW) {
		narrow_run(task, seat);
	} else {
		gemm_run(task, seat);
	}
}

static int
run_alone(struct execution *run)
{
	const struct lend_lender *lender = run->lender;
	struct lend_worker loan;
	struct seat seat;
	int error;

	error = take_team(run);
	if (error)
		return error;
	error = lender->worker_checkout(lender->host, &run->req, &loan);
	if (error) {
		return_team(run);
		return explain(run->why, error, &run->req);
	}
	seat = seat_of(run, 0, &loan);
	work(&run->task, &seat);
	lender->worker_return(lender->host, &loan);
	return_team(run);
	return 0;
}

/* Partial results become C when all of them are there. */
static void
reduce(struct execution *run, size_t index, const struct seat *seat)
{
	const struct lend_plan *plan = run->task.plan;

	lend_barrier_wait(run->start);
	reduce_run(&run->task, (const char *)run->lease.panel +
		   run->task.pn * plan_panel_bytes(plan),
		   plan_partial_bytes(plan), run->task.pn, index,
		   run->task.pn, seat->scratch);
}

static void
run_seat(size_t index, void *ctx)
{
	struct execution *run = ctx;
	const struct lend_lender *lender = run->lender;
	struct lend_worker loan;
	int error = lender->worker_checkout(lender->host, &run->req, &loan);

	if (error) {
		uint32_t none = 0;

		/* Relaxed: the barrier orders it.  The first one stays. */
		cas_relaxed(&run->error, &none, (uint32_t)-error);
	}
	lend_barrier_wait(run->start);
	/* Relaxed: as above. */
	if (!load_relaxed(&run->error)) {
		struct seat seat = seat_of(run, index, &loan);

		work(&run->task, &seat);
		if (run->task.split == LEND_SPLIT_K)
			reduce(run, index, &seat);
	}
	if (!error)
		lender->worker_return(lender->host, &loan);
}

static int
run_team(struct execution *run, const struct lend_exec *exec)
{
	_Alignas(64) char storage[LEND_BARRIER_BYTES];
	size_t threads = run->task.pm * run->task.pn;
	struct lend_exec team;
	int error;

	error = lend_exec_narrow(exec, threads, &team);
	if (!error)
		error = take_team(run);
	if (error)
		return error;
	run->start = lend_barrier_init(storage, threads);
	/* A workspace has warmed all workers, but not any caller's slot. */
	error = run->warmed ? lend_exec_broadcast(&team, run_seat, run) :
			      lend_exec_team(&team, run_seat, run);
	return_team(run);
	if (error)
		return lend__fail(run->why, error, "starting %zu threads: %s",
				  threads, strerror(-error));
	/* Relaxed: the broadcast has ended. */
	error = -(int)load_relaxed(&run->error);
	return error ? explain(run->why, error, &run->req) : 0;
}

/* Checks and preparations. */

static int
check_call(const struct lend_plan *plan, const struct lend_exec *exec,
	   const struct lend_call *call, struct lend_error *why)
{
	size_t threads;

	if (!plan || !exec || !call || !call->a || !call->b || !call->c)
		return lend__fail(why, -EINVAL, "an argument is null");
	if (!call->pm != !call->pn)
		return lend__fail(why, -EINVAL, "a team of %zu x %zu threads",
				  call->pm, call->pn);
	if (call->pm &&
	    (__builtin_mul_overflow(call->pm, call->pn, &threads) ||
	     threads > lend_exec_budget(exec)))
		return lend__fail(why, -EINVAL, "a team of %zu x %zu threads "
			"is more than the %zu at hand", call->pm, call->pn,
			lend_exec_budget(exec));
	return 0;
}

static int
check_overlap(const struct task *task, struct lend_error *why)
{
	const struct lend_plan *plan = task->plan;
	const char *const input[] = { task->a, task->b };

	for (int i = 0; i < 2; i++)
		if (reach_overlap(task->c, &plan->reach[OPERAND_C], input[i],
				  &plan->reach[i], plan->bytes))
			return lend__fail(why, -EINVAL, "the output overlaps "
				"the %s operand",
				(i == 0) == !plan->swapped ? "first" :
				"second");
	return 0;
}

static struct task
task_of(const struct lend_plan *plan, const struct lend_call *call)
{
	return (struct task){
		.plan = plan,
		.a = plan->swapped ? call->b : call->a,
		.b = plan->swapped ? call->a : call->b,
		.c = call->c,
		.alpha = scalar_read(plan->type, call->alpha, 1),
		.beta = scalar_read(plan->type, call->beta, 0)
	};
}

/* Sets the team and what it borrows; false: the workspace has not that. */
static bool
set_team(struct execution *run, size_t pm, size_t pn,
	 const lend_workspace *ws)
{
	struct task *task = &run->task;

	task->pm = pm;
	task->pn = pn;
	task->split = plan_split(task->plan, pm, pn);
	return lend_plan_req(task->plan, pm, pn, &run->req) == 0 &&
	       (!ws || lend_workspace_admit(ws, &run->req) == 0);
}

static int
not_covered(const struct execution *run, const lend_workspace *ws)
{
	size_t bytes = 0;

	if (lend_req_bytes(&run->req, &bytes))
		bytes = SIZE_MAX;
	return lend__fail(run->why, -ENOBUFS, "the workspace of %zu bytes "
		"does not cover the request of %zu", lend_workspace_have(ws),
		bytes);
}

/* The team named; else the usual one, or if that asks too much, one thread. */
static int
choose_team(struct execution *run, const struct lend_exec *exec,
	    const struct lend_call *call, const lend_workspace *ws)
{
	size_t pm = call->pm, pn = call->pn;

	if (pm)
		return set_team(run, pm, pn, ws) ? 0 : not_covered(run, ws);
	if (lend_plan_team(run->task.plan, lend_exec_budget(exec), &pm, &pn))
		return -EINVAL;
	if (set_team(run, pm, pn, ws) || set_team(run, 1, 1, ws))
		return 0;
	return not_covered(run, ws);
}

static int
execute(const struct lend_plan *plan, const struct lend_lender *lender,
	const struct lend_exec *exec, const struct lend_call *call,
	const lend_workspace *ws, struct lend_error *why)
{
	struct execution run = {
		.lender = lender, .warmed = ws, .why = why
	};
	int error = check_call(plan, exec, call, why);

	if (error || plan->empty)
		return error;
	run.task = task_of(plan, call);
	/* What is not read may lie anywhere. */
	if (!plan->nothing && !scalar_is(run.task.alpha, 0))
		error = check_overlap(&run.task, why);
	if (!error)
		error = choose_team(&run, exec, call, ws);
	if (error)
		return error;
	if (plan->nothing || scalar_is(run.task.alpha, 0))
		set_team(&run, 1, 1, NULL);
	if (run.task.pm * run.task.pn > 1) {
		error = run_team(&run, exec);
		if (error != -EPERM && error != -EDEADLK)
			return error;
		/* Threads that cannot work at the same time: one alone. */
		if (!set_team(&run, 1, 1, ws))
			return not_covered(&run, ws);
	}
	return run_alone(&run);
}

int
lend_plan_execute(const lend_plan *plan, lend_arena *arena,
		  const struct lend_exec *exec, const struct lend_call *call,
		  struct lend_error *why)
{
	const struct lend_lender lender = arena_lender(arena);

	if (!arena)
		return lend__fail(why, -EINVAL, "the arena is null");
	return execute(plan, &lender, exec, call, NULL, why);
}

int
lend_plan_execute_in(const lend_plan *plan, lend_workspace *ws,
		     const struct lend_exec *exec,
		     const struct lend_call *call, struct lend_error *why)
{
	struct lend_lender lender;

	if (!ws)
		return lend__fail(why, -EINVAL, "the workspace is null");
	lender = arena_lender(lend_workspace_arena(ws));
	return execute(plan, &lender, exec, call, ws, why);
}

int
lend_plan_execute_on(const lend_plan *plan, const struct lend_lender *lender,
		     const struct lend_exec *exec,
		     const struct lend_call *call, struct lend_error *why)
{
	if (!lender_serves_plans(lender))
		return lend__fail(why, -EINVAL, "the lender is null, of "
				  "another size, or lacks a function");
	return execute(plan, lender, exec, call, NULL, why);
}
