/* SPDX-License-Identifier: MIT */
/*
 * A contraction: a plan made once, executed on memory that an arena lends, by
 * as many of a pool's threads as it is worth.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <lend/contract.h>

#define SIDE 24

/* C[d,f,c,e] += A[a,b,c,d] * B[a,e,b,f], row-major. */
static const char einsum[] = "abcd,aebf->dfce";
static double a[SIDE][SIDE][SIDE][SIDE], b[SIDE][SIDE][SIDE][SIDE];
static double c[SIDE][SIDE][SIDE][SIDE];

static int
execute(const lend_plan *plan, lend_arena *arena, const struct lend_exec *exec)
{
	const struct lend_call call = { .a = a, .b = b, .c = c };
	struct lend_error why;

	if (lend_plan_execute(plan, arena, exec, &call, &why) == 0)
		return 0;
	fprintf(stderr, "%s\n", why.text);
	return 1;
}

static int
check(void)
{
	double sum = 0;

	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++)
			sum += a[i][j][2][3] * b[i][4][j][5];
	printf("C[3,5,2,4] = %g, one by one %g\n", c[3][5][2][4], sum);
	return fabs(c[3][5][2][4] - sum) > 1e-9;
}

int
main(void)
{
	const size_t extent[] = { SIDE, SIDE, SIDE, SIDE };
	const struct lend_layout layout = { 4, extent, NULL };
	struct lend_stats stats;
	struct lend_exec exec;
	struct lend_error why;
	lend_arena *arena;
	lend_pool *pool;
	lend_plan *plan;
	int failed;

	for (size_t i = 0; i < sizeof(a) / sizeof(double); i++) {
		(&a[0][0][0][0])[i] = (double)(i % 7) - 3;
		(&b[0][0][0][0])[i] = (double)(i % 5) - 2;
	}
	if (lend_plan_create(&plan, einsum, LEND_F64, &layout, &layout, NULL,
			     NULL, &why)) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	if (lend_arena_create(&arena, NULL) || lend_pool_create(&pool, 2) ||
	    lend_exec_on_pool(&exec, pool, 2))
		return 1;
	failed = execute(plan, arena, &exec) || check();
	if (lend_arena_stats(arena, &stats) == 0)
		printf("the arena retains %zu bytes, %zu lent\n",
		       stats.retained_bytes, stats.leased_bytes);
	lend_plan_destroy(plan);
	return failed || lend_pool_destroy(pool) || lend_arena_destroy(arena);
}
