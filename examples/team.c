/* SPDX-License-Identifier: MIT */
/*
 * A team loan: the threads of a team pack one shared panel, meet at its
 * barrier, and each of them reads what the others packed.
 */
#include <stdio.h>

#include <lend/lend.h>

#define PM 2			/* threads in the team */
#define PANEL 4096		/* doubles */

struct team {
	struct lend_team lease;
	double sum[PM];
};

static void
work(size_t index, void *ctx)
{
	struct team *team = ctx;
	double *panel = team->lease.panel;

	/* Each packs every other element ... */
	for (size_t i = index; i < PANEL; i += PM)
		panel[i] = (double)i;
	lend_barrier_wait(lend_team_barrier(&team->lease, 0));
	/* ... and reads all of them. */
	for (size_t i = 0; i < PANEL; i++)
		team->sum[index] += panel[i];
}

static int
run(lend_arena *arena, const struct lend_exec *exec)
{
	const struct lend_req req = { .barriers = 1, .team_scatter = 64 };
	struct team team = { .sum = { 0 } };
	int error = lend_team_take(arena, &req, PM, 1, &team.lease);

	if (error)
		return error;
	error = lend_team_panel(arena, &team.lease, PANEL * sizeof(double));
	if (!error)
		error = lend_exec_broadcast(exec, work, &team);
	lend_team_return(arena, &team.lease);
	printf("sums %g and %g\n", team.sum[0], team.sum[1]);
	return error ? error : team.sum[0] != team.sum[1];
}

int
main(void)
{
	struct lend_exec exec;
	lend_arena *arena;
	lend_pool *pool;
	int failed;

	if (lend_arena_create(&arena, NULL) || lend_pool_create(&pool, PM) ||
	    lend_exec_on_pool(&exec, pool, PM))
		return 1;
	failed = run(arena, &exec);
	failed |= lend_pool_destroy(pool) | lend_arena_destroy(arena);
	return failed ? 1 : 0;
}
