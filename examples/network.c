/* SPDX-License-Identifier: MIT */
/*
 * A network of three matrices along a path: what it will borrow is known
 * beforehand, and given back when it is done.
 */
#include <math.h>
#include <stdio.h>

#include <lend/network.h>

#define SIDE 32

static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE], r[SIDE][SIDE];

static int
check(void)
{
	double sum = 0;

	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++)
			sum += a[3][i] * b[i][j] * c[j][4];
	printf("R[3,4] = %g, one by one %g\n", r[3][4], sum);
	return fabs(r[3][4] - sum) > 1e-9;
}

/* Prints each step, and what all of them borrow. */
static int
tell(const lend_network *network)
{
	struct lend_network_info info = { .size = sizeof(info) };
	struct lend_req req;
	size_t bytes;
	char text[64];

	if (lend_network_describe(network, &info) ||
	    lend_network_req(network, 1, &req, &bytes))
		return 1;
	for (size_t s = 0; s < info.steps; s++) {
		lend_network_einsum(network, s, text, sizeof(text));
		printf("step %zu: %s\n", s, text);
	}
	printf("%g flops; buffers hold %zu bytes at most\n", info.flops,
	       bytes);
	return 0;
}

int
main(void)
{
	const size_t extent[] = { SIDE, SIDE };
	const struct lend_layout side = { 2, extent, NULL };
	const struct lend_layout layouts[] = { side, side, side };
	const struct lend_network_pair path[] = { { 1, 2 }, { 0, 1 } };
	const void *const operands[] = { a, b, c };
	const struct lend_network_call call = { operands, r, NULL, NULL };
	struct lend_exec exec;
	struct lend_error why;
	lend_network *network;
	lend_arena *arena;
	int failed;

	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			a[i][j] = (i + j) % 5 - 2;
			b[i][j] = (i * j) % 7 - 3;
			c[i][j] = (i - j) % 3;
		}
	lend_exec_serial(&exec);
	if (lend_network_create(&network, "ab,bc,cd->ad", LEND_F64, 3,
				layouts, path, 2, NULL, &why)) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	if (lend_arena_create(&arena, NULL))
		return 1;
	failed = tell(network);
	if (lend_network_execute(network, arena, &exec, &call, &why)) {
		fprintf(stderr, "%s\n", why.text);
		failed = 1;
	}
	failed |= check();
	lend_network_destroy(network);
	return failed || lend_arena_destroy(arena);
}
