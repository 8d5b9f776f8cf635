/* SPDX-License-Identifier: MIT */
/*
 * Executions of a network.
 *
 * A table, itself borrowed, has the buffer of each result that is there: null
 * before its step and once it is given back.  Each entry is written by the
 * one thread that runs its branch, or after all branches have ended; whatever
 * stops an execution, what is left in the table is given back at the end.
 *
 * The first error of any branch is kept, the others stop at their next step.
 *
 * A rehearsal goes the same way on the calling thread alone, and writes to each
 * page of a result where an execution computes it.  Branches that would run at
 * the same time take a step in turn, so that as many buffers are out as then.
 *
 * Each thread gives back what it has borrowed itself, so that the caches of an
 * arena's threads have what they need the next time: the results of branches,
 * which the calling thread reads in the trunk, are borrowed by it beforehand.
 */
#include <errno.h>
#include <string.h>

#include <lend/worker.h>

#include "base/atomic.h"
#include "base/util.h"
#include "contract/error.h"
#include "contract/layout.h"
#include "contract/lender.h"
#include "contract/network.h"
#include "contract/task.h"

#define PAGE ((size_t)4096)

struct run {
	const struct lend_network *net;
	const struct lend_lender *lender;
	const struct lend_exec *exec;
	const struct lend_network_call *call;
	const struct split *split;
	void **table;
	bool rehearsal;		/* nothing is computed; no operands, output */
	_Atomic(uint32_t) error;	/* the first one, negated; 0: none */
	struct lend_error *why;		/* written by who set the error */
};

/* Stands for a result without elements. */
static char nothing[sizeof(double) * 2];

/* Has its pages be there; what they hold is lost. */
static void
touch(void *start, size_t bytes)
{
	volatile char *at = start;

	for (size_t i = 0; i < bytes; i += PAGE)
		at[i] = 0;
}

static const void *
one_of(enum lend_type type)
{
	static const double real[2] = { 1, 0 };
	static const float single[2] = { 1, 0 };

	return type == LEND_F32 || type == LEND_CF32 ?
	       (const void *)single : (const void *)real;
}

static const void *
at_value(const struct run *run, uint32_t value)
{
	size_t count = run->net->count;

	return value < count ? run->call->operands[value] :
			       run->table[value - count];
}

static void
give_back(const struct run *run, void **entry)
{
	if (*entry && *entry != nothing)
		run->lender->buffer_return(run->lender->host, *entry);
	*entry = NULL;
}

static void
give_back_value(const struct run *run, uint32_t value)
{
	if (value >= run->net->count)
		give_back(run, &run->table[value - run->net->count]);
}

static int
borrow(const struct run *run, size_t bytes, void **buffer,
       struct lend_error *why)
{
	int error;

	if (!bytes) {
		*buffer = nothing;
		return 0;
	}
	*buffer = NULL;
	error = run->lender->buffer_borrow(run->lender->host, bytes, buffer);
	if (!error)
		return 0;
	*buffer = NULL;
	if (error == -EDQUOT)
		return lend__fail(why, error, "the arena's limit leaves no "
				  "room for a buffer of %zu bytes", bytes);
	return lend__fail(why, error, "borrowing a buffer of %zu bytes: %s",
			  bytes, strerror(-error));
}

/* The step's product; its result is in the table, or the output. */
static int
multiply(struct run *run, const struct lend_exec *exec, size_t s,
	 struct lend_error *why)
{
	const struct lend_network *net = run->net;
	const struct step *step = &net->step[s];
	struct lend_call call = {
		.a = at_value(run, step->x),
		.b = step_is_single(step) ? one_of(net->type) :
					    at_value(run, step->y)
	};

	if (s + 1 == net->steps) {
		call.c = run->call->output;
		call.alpha = run->call->alpha;
		call.beta = run->call->beta;
	} else {
		call.c = run->table[s];
	}
	return lend_plan_execute_on(step->plan, run->lender, exec, &call,
				    why);
}

/* One step, with the buffer of its result if that is not the output. */
static int
run_step(struct run *run, const struct lend_exec *exec, size_t s,
	 struct lend_error *why)
{
	bool last = s + 1 == run->net->steps;
	size_t bytes = last ? 0 : network_result(run->net, s)->bytes;
	int error = 0;

	/* Results of branches are there already. */
	if (!last && !run->table[s])
		error = borrow(run, bytes, &run->table[s], why);
	if (error)
		return error;
	if (!run->rehearsal)
		return multiply(run, exec, s, why);
	if (!last)
		touch(run->table[s], bytes);
	return 0;
}

/* Keeps the first error and its reason. */
static void
fail(struct run *run, int error, size_t s, const struct lend_error *why)
{
	uint32_t none = 0;

	/* Relaxed: who else reads it before the end only stops early. */
	if (!cas_relaxed(&run->error, &none, (uint32_t)-error))
		return;
	lend__fail(run->why, error, "step %zu (%s and %s): %s", s,
		   value_text(run->net, run->net->step[s].x).text,
		   value_text(run->net, run->net->step[s].y).text, why->text);
}

static void
run_steps(struct run *run, const struct lend_exec *exec, const size_t *list,
	  size_t from, size_t to)
{
	const struct lend_network *net = run->net;

	for (size_t i = from; i < to; i++) {
		size_t s = list ? list[i] : i;
		struct lend_error why = { "" };
		int error;

		/* Relaxed: one step more or less makes no difference. */
		if (load_relaxed(&run->error))
			return;
		error = run_step(run, exec, s, &why);
		if (error) {
			fail(run, error, s, &why);
			return;
		}
		give_back_value(run, net->step[s].x);
		give_back_value(run, net->step[s].y);
	}
}

static void
run_branch(size_t index, const struct lend_exec *child, void *ctx)
{
	struct run *run = ctx;
	const struct branch *branch = &run->split->branch[index];

	run_steps(run, child, run->split->list, branch->first,
		  branch->first + branch->steps);
}

/* The results of all branches; false: the error is kept. */
static bool
borrow_results(struct run *run)
{
	for (size_t i = 0; i < run->split->branches; i++) {
		size_t root = run->split->branch[i].root;
		struct lend_error why = { "" };
		int error = borrow(run, network_result(run->net, root)->bytes,
				   &run->table[root], &why);

		if (!error)
			continue;
		fail(run, error, root, &why);
		return false;
	}
	return true;
}

/* So many at a time as there are threads, in turn. */
static void
rehearse_branches(struct run *run)
{
	const struct split *split = run->split;
	size_t threads = lend_exec_budget(run->exec), done = 0;

	while (done < split->branches) {
		size_t end = size_min(done + threads, split->branches);
		bool more = true;

		for (size_t turn = 0; more; turn++) {
			more = false;
			for (size_t i = done; i < end; i++) {
				const struct branch *b = &split->branch[i];
				size_t at = b->first + turn;

				if (turn >= b->steps)
					continue;
				run_steps(run, NULL, split->list, at, at + 1);
				more = true;
			}
		}
		done = end;
	}
}

/* False: the error is kept. */
static bool
run_branches(struct run *run)
{
	const struct split *split = run->split;

	if (!borrow_results(run))
		return false;
	if (run->rehearsal)
		rehearse_branches(run);
	/* Its arguments are right: there is no error. */
	else if (lend_exec_fork(run->exec, split->branches, run_branch, run))
		return false;
	return true;
}

static void
run_all(struct run *run)
{
	const struct split *split = run->split;
	const struct branch *last;

	if (!split) {
		run_steps(run, run->exec, NULL, 0, run->net->steps);
		return;
	}
	if (!run_branches(run))
		return;
	last = &split->branch[split->branches - 1];
	run_steps(run, run->exec, split->list, last->first + last->steps,
		  run->net->steps);
}

static int
with_table(struct run *run)
{
	const struct lend_network *net = run->net;
	struct lend_error why = { "" };
	void *table;
	int error = borrow(run, net->table_bytes, &table, &why);

	if (error)
		return lend__fail(run->why, error, "%s", why.text);
	run->table = table;
	if (net->table_bytes)
		memset(table, 0, net->table_bytes);
	run_all(run);
	/* Relaxed: all threads have ended their work. */
	error = -(int)load_relaxed(&run->error);
	for (size_t s = 0; error && s + 1 < net->steps; s++)
		give_back(run, &run->table[s]);
	give_back(run, &table);
	return error;
}

/* Then operands are not read, and may lie anywhere. */
static bool
only_scales(const struct lend_network *net,
	    const struct lend_network_call *call)
{
	return scalar_is(scalar_read(net->type, call->alpha, 1), 0);
}

static int
check_call(const struct lend_network *net, const struct lend_exec *exec,
	   const struct lend_network_call *call, struct lend_error *why)
{
	if (!net || !exec || !call || !call->operands || !call->output)
		return lend__fail(why, -EINVAL, "an argument is null");
	for (size_t i = 0; i < net->count; i++) {
		if (!call->operands[i])
			return lend__fail(why, -EINVAL, "operand %zu is null",
					  i);
		if (net->output.elements > 0 && net->value[i].elements > 0 &&
		    !only_scales(net, call) &&
		    reach_overlap(call->output, &net->output_reach,
				  call->operands[i], &net->reach[i],
				  net->element))
			return lend__fail(why, -EINVAL, "the output overlaps "
					  "operand %zu", i);
	}
	return 0;
}

/* Without any product: the last step scales the output. */
static int
scale(struct run *run)
{
	const struct lend_network *net = run->net;
	const struct lend_plan *plan = net->step[net->steps - 1].plan;
	struct lend_call call = {
		.a = nothing, .b = nothing, .c = run->call->output,
		.alpha = run->call->alpha, .beta = run->call->beta
	};

	return lend_plan_execute_on(plan, run->lender, run->exec, &call,
				    run->why);
}

int
lend_network_execute_on(const lend_network *net,
			const struct lend_lender *lender,
			const struct lend_exec *exec,
			const struct lend_network_call *call,
			struct lend_error *why)
{
	struct run run = {
		.net = net, .lender = lender, .exec = exec, .call = call,
		.why = why
	};
	int error;

	if (!lender_serves_networks(lender))
		return lend__fail(why, -EINVAL, "the lender is null, of "
				  "another size, or lacks a function");
	error = check_call(net, exec, call, why);
	if (error || net->step[net->steps - 1].plan->empty)
		return error;
	if (only_scales(net, call))
		return scale(&run);
	run.split = network_split_of(net, lend_exec_budget(exec));
	return with_table(&run);
}

int
lend_network_execute(const lend_network *net, lend_arena *arena,
		     const struct lend_exec *exec,
		     const struct lend_network_call *call,
		     struct lend_error *why)
{
	const struct lend_lender lender = arena_lender(arena);

	if (!arena)
		return lend__fail(why, -EINVAL, "the arena is null");
	return lend_network_execute_on(net, &lender, exec, call, why);
}

/* The calling thread's loan, as small steps have it. */
static int
touch_worker(const struct lend_network *net, lend_arena *arena,
	     struct lend_error *why)
{
	struct lend_worker loan;
	struct lend_req req;
	size_t bytes;
	int error = lend_network_req(net, 1, &req, &bytes);

	if (!error)
		error = lend_worker_checkout(arena, &req, &loan);
	if (error)
		return lend__fail(why, error, "a worker's loan: %s",
				  strerror(-error));
	touch(loan.a, req.a_bytes);
	touch(loan.tile, req.tile_bytes);
	touch(loan.scatter, req.worker_scatter * sizeof(int64_t));
	return lend_worker_return(arena, &loan);
}

int
lend_network_warm(const lend_network *net, lend_arena *arena,
		  const struct lend_exec *exec, struct lend_error *why)
{
	const struct lend_lender lender = arena_lender(arena);
	struct run run = {
		.net = net, .lender = &lender, .exec = exec, .why = why,
		.rehearsal = true
	};
	int error;

	if (!net || !arena || !exec)
		return lend__fail(why, -EINVAL, "an argument is null");
	if (net->step[net->steps - 1].plan->empty)
		return 0;
	error = touch_worker(net, arena, why);
	if (error)
		return error;
	run.split = network_split_of(net, lend_exec_budget(exec));
	return with_table(&run);
}
