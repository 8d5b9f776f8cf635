/* SPDX-License-Identifier: MIT */
#include "contract/task.h"

#include <string.h>

#include "contract/caches.h"

struct scalar
scalar_read(enum lend_type type, const void *from, double otherwise)
{
	float f[2] = { 0 };
	double d[2] = { 0 };

	if (!from)
		return (struct scalar){ otherwise, 0 };
	switch (type) {
	case LEND_F32:
	case LEND_CF32:
		memcpy(f, from, type == LEND_F32 ? sizeof(f[0]) : sizeof(f));
		return (struct scalar){ f[0], f[1] };
	case LEND_F64:
	case LEND_CF64:
		memcpy(d, from, type == LEND_F64 ? sizeof(d[0]) : sizeof(d));
		break;
	}
	return (struct scalar){ d[0], d[1] };
}

/* Whole blocks where there are enough of them. */
static size_t
sum_unit(const struct task *task)
{
	const struct lend_plan *plan = task->plan;

	return plan->k->total / plan->blocks.kc >= 16 * task->pn ?
	       plan->blocks.kc : 1;
}

struct shares
task_divide(const struct task *task, const struct seat *seat)
{
	const struct lend_plan *plan = task->plan;
	struct shares shares = {
		.batch = { 0, plan->batch->total },
		.n = { 0, plan->n->total },
		.k = { 0, plan->k->total },
		.m = share_of(plan->m->total, plan->blocks.m_share,
			      seat->rank, task->pm)
	};

	switch (task->split) {
	case LEND_SPLIT_BATCH:
		shares.batch = share_of(plan->batch->total, 1, seat->group,
					task->pn);
		break;
	case LEND_SPLIT_K:
		shares.k = share_of(plan->k->total, sum_unit(task),
				    seat->group, task->pn);
		break;
	case LEND_SPLIT_N:
		/* Few columns: all seats divide the rows. */
		if (plan->method != METHOD_GEMM)
			shares.m = share_of(plan->m->total, plan->blocks.m_share,
				seat->rank * task->pn + seat->group,
				task->pm * task->pn);
		else
			shares.n = share_of(plan->n->total, plan->blocks.n_share,
					    seat->group, task->pn);
		break;
	}
	return shares;
}

bool
task_streams(const struct task *task)
{
	const struct lend_plan *plan = task->plan;
	double bytes = (double)plan->m->total * (double)plan->n->total *
		       (double)plan->batch->total * (double)plan->bytes;

	/* Loops read at least as much, and it passes through as well. */
	if (plan->method == METHOD_LOOPS)
		bytes *= 2;
	return scalar_is(task->beta, 0) && bytes > (double)caches()->l3;
}

size_t
partial_elements(const struct lend_plan *plan)
{
	return plan->m->total * plan->n->total;
}
