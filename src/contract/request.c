/* SPDX-License-Identifier: MIT */
#include "contract/request.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "contract/narrow.h"
#include "contract/side.h"
#include "contract/task.h"

/*
 * Work that is worth one more thread, in flops and in bytes moved: some 30 us
 * of each, as waking another thread and meeting it takes about 10.
 */
#define FLOPS_PER_THREAD 1e6
#define BYTES_PER_THREAD 5e5

/* Bytes of a partial result: it stays in cache. */
#define PARTIAL_MOST ((size_t)2 << 20)
/* The least of a sum that is worth a partial result. */
#define SUM_LEAST 64
/* Sums so deep are divided even where there are rows and columns enough. */
#define SUM_DEEP 8192

/* Whether a split of the sum is possible, and no thread would idle. */
static bool
can_split_sum(const struct lend_plan *plan, size_t pn)
{
	size_t elements;

	return (plan->method == METHOD_GEMM || plan->method == METHOD_LOOPS) &&
	       plan->batch->total == 1 &&
	       plan->k->total / SUM_LEAST >= pn &&
	       !__builtin_mul_overflow(plan->m->total, plan->n->total,
				       &elements) &&
	       elements <= PARTIAL_MOST / plan->bytes;
}

/* How many shares the groups could have of what they divide without sums. */
static size_t
most_shares(const struct lend_plan *plan)
{
	if (plan->method != METHOD_GEMM)
		return ceil_div(plan->m->total, plan->blocks.mr);
	return ceil_div(plan->n->total, plan->blocks.nr);
}

/*
 * Threads that divide a deep sum meet once, at its end; those that divide
 * rows or columns meet at each block of it.
 */
static bool
is_deep(const struct lend_plan *plan, size_t pn)
{
	return plan->k->total / SUM_DEEP >= pn;
}

static bool
has_few_tiles(const struct lend_plan *plan, size_t pn)
{
	return most_shares(plan) *
	       ceil_div(plan->m->total, plan->blocks.mr) < 4 * pn;
}

enum lend_split
plan_split(const struct lend_plan *plan, size_t pm, size_t pn)
{
	if (pn == 1)
		return LEND_SPLIT_N;
	if (plan->batch->total >= pn)
		return LEND_SPLIT_BATCH;
	if (pm == 1 && can_split_sum(plan, pn) &&
	    (is_deep(plan, pn) || has_few_tiles(plan, pn)))
		return LEND_SPLIT_K;
	return LEND_SPLIT_N;
}

static size_t
threads_worth(const struct lend_plan *plan, size_t budget)
{
	double most = plan->flops / FLOPS_PER_THREAD;

	if (plan->moved / BYTES_PER_THREAD > most)
		most = plan->moved / BYTES_PER_THREAD;
	if (plan->empty || plan->nothing || most < 2)
		return 1;
	return most < (double)budget ? (size_t)most : budget;
}

/*
 * Rows first: the threads of a column share its B panel, and pack each
 * element of A once.  Then columns, as far as there are too few rows.
 */
static size_t
rows_of_team(const struct lend_plan *plan, size_t threads)
{
	size_t panels = ceil_div(plan->m->total, plan->blocks.mr);

	for (size_t pm = threads; pm > 1; pm--)
		if (threads % pm == 0 && panels >= 4 * pm)
			return pm;
	return 1;
}

int
lend_plan_team(const lend_plan *plan, size_t budget, size_t *pm, size_t *pn)
{
	size_t threads;

	if (!plan || budget == 0 || !pm || !pn)
		return -EINVAL;
	threads = threads_worth(plan, budget);
	*pm = 1;
	*pn = threads;
	if (threads == 1 || plan->method != METHOD_GEMM)
		return 0;
	if (plan->batch->total >= 4 * threads ||
	    plan_split(plan, 1, threads) == LEND_SPLIT_K)
		return 0;
	*pm = rows_of_team(plan, threads);
	*pn = threads / *pm;
	return 0;
}

/* Groups do not share lines of each other. */
#define APART 128

size_t
plan_panel_bytes(const struct lend_plan *plan)
{
	if (plan->method != METHOD_GEMM)
		return 0;
	return round_up(gemm_b_bytes(plan), APART);
}

size_t
plan_partial_bytes(const struct lend_plan *plan)
{
	return round_up(partial_elements(plan) * plan->bytes, APART);
}

size_t
plan_columns(const struct lend_plan *plan)
{
	if (plan->method != METHOD_GEMM)
		return 0;
	return round_up(gemm_columns(plan), APART / sizeof(int64_t));
}

static int
team_part(const struct lend_plan *plan, size_t pm, size_t pn,
	  struct lend_req *req)
{
	size_t group = plan_panel_bytes(plan);

	if (plan_split(plan, pm, pn) == LEND_SPLIT_K)
		group += plan_partial_bytes(plan);
	if (__builtin_mul_overflow(group, pn, &req->b_bytes) ||
	    __builtin_mul_overflow(plan_columns(plan), pn,
				   &req->team_scatter))
		return -EOVERFLOW;
	if (pm > 1 && plan->method == METHOD_GEMM)
		req->barriers = pn;
	return 0;
}

int
lend_plan_req(const lend_plan *plan, size_t pm, size_t pn,
	      struct lend_req *req)
{
	size_t threads;

	if (!plan || !req || pm == 0 || pn == 0)
		return -EINVAL;
	if (__builtin_mul_overflow(pm, pn, &threads))
		return -EOVERFLOW;
	memset(req, 0, sizeof(*req));
	if (plan->empty)
		return 0;
	if (plan->method == METHOD_GEMM) {
		req->a_bytes = gemm_a_bytes(plan);
		req->tile_bytes = gemm_tile_bytes(plan);
		req->worker_scatter = gemm_scratch(plan);
	} else if (plan->method == METHOD_NARROW) {
		req->a_bytes = narrow_a_bytes(plan);
		req->tile_bytes = narrow_tile_bytes(plan);
		req->worker_scatter = narrow_scratch(plan);
	} else if (plan->method == METHOD_SIDE) {
		req->worker_scatter = side_scratch(plan);
	} else {
		req->tile_bytes = loops_tile_bytes(plan);
		req->worker_scatter = SCALE_SCRATCH;
	}
	return team_part(plan, pm, pn, req);
}

int
lend_plan_describe(const lend_plan *plan, size_t budget,
		   struct lend_plan_info *info)
{
	struct lend_plan_info all = { .size = sizeof(all) };
	int error;

	if (!plan || !info || budget == 0 || info->size != sizeof(*info))
		return -EINVAL;
	error = lend_plan_team(plan, budget, &all.pm, &all.pn);
	if (!error)
		error = lend_plan_req(plan, all.pm, all.pn, &all.req);
	if (error)
		return error;
	all.type = plan->type;
	all.kernel = plan->kernel->name;
	all.swapped = plan->swapped;
	all.in_place = plan->method != METHOD_GEMM;
	all.loops = plan->method == METHOD_LOOPS ||
		    plan->method == METHOD_SIDE;
	all.m = plan->m->total;
	all.n = plan->n->total;
	all.k = plan->k->total;
	all.batch = plan->batch->total;
	all.sum_a = plan->sum_a->total;
	all.sum_b = plan->sum_b->total;
	all.mr = plan->blocks.mr;
	all.nr = plan->blocks.nr;
	all.mc = plan->blocks.mc;
	all.nc = plan->blocks.nc;
	all.kc = plan->blocks.kc;
	all.flops = plan->flops;
	all.bytes = plan->moved;
	all.split = plan_split(plan, all.pm, all.pn);
	*info = all;
	return 0;
}
