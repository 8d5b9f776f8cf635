/* SPDX-License-Identifier: MIT */
#include <lend/contract.h>

#include <string.h>

#include "bench/contract_peer.h"
#include "bench/harness.h"

static struct {
	lend_arena *arena;
	lend_pool *pool;
	struct lend_exec exec;
	lend_plan *plan;
	struct lend_call call;
} lend;

bool
contract_lend_open(struct contract_peer *self)
{
	int error = lend_arena_create(&lend.arena, NULL);

	return error ? contract_refuse(self, "%s", strerror(-error)) : true;
}

static struct lend_layout
layout_of(const struct contract_case *c, int o)
{
	return (struct lend_layout){
		c->tensor[o].rank, c->tensor[o].extent, c->tensor[o].stride
	};
}

bool
contract_lend_begin(struct contract_peer *self,
		    const struct contract_job *job)
{
	struct lend_layout a = layout_of(job->c, CASE_A);
	struct lend_layout b = layout_of(job->c, CASE_B);
	struct lend_layout c = layout_of(job->c, CASE_C);
	struct lend_error why;

	if (lend_plan_create(&lend.plan, job->c->einsum,
			     job->c->single ? LEND_F32 : LEND_F64, &a, &b, &c,
			     NULL, &why))
		return contract_refuse(self, "%s", why.text);
	lend.pool = NULL;
	lend_exec_serial(&lend.exec);
	if (job->threads > 1 &&
	    (lend_pool_create(&lend.pool, (size_t)job->threads) ||
	     lend_exec_on_pool(&lend.exec, lend.pool, (size_t)job->threads)))
		bench_die("no pool of %d", job->threads);
	lend.call = (struct lend_call){
		.a = job->data[CASE_A],
		.b = job->data[CASE_B],
		.c = job->data[CASE_C],
	};
	return true;
}

struct contract_time
contract_lend_run(struct contract_peer *self, unsigned turns)
{
	struct contract_time start = contract_now();

	(void)self;
	for (unsigned i = 0; i < turns; i++) {
		struct lend_error why;

		if (lend_plan_execute(lend.plan, lend.arena, &lend.exec,
				      &lend.call, &why))
			bench_die("lend: %s", why.text);
	}
	return contract_since(start);
}

void
contract_lend_end(struct contract_peer *self)
{
	(void)self;
	lend_plan_destroy(lend.plan);
	if (lend.pool && lend_pool_destroy(lend.pool))
		bench_die("the pool is busy");
	if (lend_arena_trim(lend.arena))
		bench_die("no trim");
}
