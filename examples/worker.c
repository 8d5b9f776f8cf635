/* SPDX-License-Identifier: MIT */
/*
 * A worker loan: the same buffers come back at each call, and a re-entrant
 * call gets buffers of its own.
 */
#include <stdio.h>

#include <lend/lend.h>

static int
contract(lend_arena *arena, const struct lend_req *req, int depth)
{
	struct lend_worker loan;
	int error = lend_worker_checkout(arena, req, &loan);

	if (error)
		return error;
	printf("depth %d: A block at %p, tile at %p, scatter of %zu\n", depth,
	       loan.a, loan.tile, loan.scatter_capacity);
	if (depth < 1)
		error = contract(arena, req, depth + 1);
	lend_worker_return(arena, &loan);
	return error;
}

int
main(void)
{
	const struct lend_req req = {
		.a_bytes = 384 << 10, .tile_bytes = 1536,
		.worker_scatter = 1024,
	};
	struct lend_stats stats;
	lend_arena *arena;

	if (lend_arena_create(&arena, NULL))
		return 1;
	for (int call = 0; call < 2; call++)
		if (contract(arena, &req, 0))
			return 1;
	lend_arena_stats(arena, &stats);
	printf("retained %zu bytes, leased %zu, grown %llu times\n",
	       stats.retained_bytes, stats.leased_bytes,
	       (unsigned long long)stats.growths);
	return lend_arena_destroy(arena) ? 1 : 0;
}
