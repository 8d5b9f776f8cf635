/* SPDX-License-Identifier: MIT */
/*
 * A workspace: sized once, after which executions within the bound allocate
 * nothing, and those beyond it are refused.
 */
#include <errno.h>
#include <stdio.h>

#include <lend/lend.h>

static void
execute(size_t index, void *ctx)
{
	lend_workspace *ws = ctx;
	struct lend_worker loan;

	if (lend_worker_checkout(lend_workspace_arena(ws),
				 lend_workspace_req(ws), &loan))
		return;
	((double *)loan.a)[0] = (double)index;
	lend_worker_return(lend_workspace_arena(ws), &loan);
}

static int
run(lend_workspace *ws, const struct lend_exec *exec)
{
	struct lend_req larger = *lend_workspace_req(ws);
	size_t before;

	if (lend_workspace_prepare_for(ws, exec))
		return 1;
	before = lend_workspace_retained_bytes(ws);
	printf("bound %zu bytes, %zu slots warm, %zu bytes retained\n",
	       lend_workspace_have(ws), lend_workspace_slots(ws), before);
	if (lend_exec_broadcast(exec, execute, ws))
		return 1;
	printf("after an execution: %zu bytes retained\n",
	       lend_workspace_retained_bytes(ws));
	larger.a_bytes *= 2;
	printf("twice the A block: %s\n",
	       lend_workspace_admit(ws, &larger) == -ENOBUFS ? "refused" :
	       "admitted");
	return lend_workspace_retained_bytes(ws) != before;
}

int
main(void)
{
	const struct lend_req req = {
		.a_bytes = 1 << 20, .tile_bytes = 4096,
		.worker_scatter = 512, .b_bytes = 8 << 20, .team_scatter = 4096,
		.barriers = 2,
	};
	struct lend_exec exec;
	lend_workspace *ws;
	lend_pool *pool;
	int failed;

	if (lend_pool_create(&pool, 2) || lend_exec_on_pool(&exec, pool, 2) ||
	    lend_workspace_create(&ws, &req, NULL))
		return 1;
	failed = run(ws, &exec);
	failed |= lend_workspace_destroy(ws) != 0;
	failed |= lend_pool_destroy(pool) != 0;
	return failed;
}
