/* SPDX-License-Identifier: MIT */
/*
 * A limit: growth beyond it first gives up what is idle, then fails with an
 * error of its own, and nothing is lost.
 */
#include <errno.h>
#include <stdio.h>

#include <lend/lend.h>

static const char *
attempt(lend_arena *arena, size_t bytes)
{
	const struct lend_req req = { .b_bytes = bytes };
	struct lend_team lease;
	int error = lend_team_take(arena, &req, 1, 1, &lease);

	if (error)
		return "no set";
	error = lend_team_panel(arena, &lease, bytes);
	lend_team_return(arena, &lease);
	return error == -EDQUOT ? "over the limit" :
	       error ? "failed" : "lent";
}

int
main(void)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	const struct lend_req small = { .a_bytes = 6 << 20 };
	struct lend_worker loan;
	struct lend_stats stats;
	lend_arena *arena;

	options.limit = 16 << 20;
	options.name = "limited";
	if (lend_arena_create(&arena, &options) ||
	    lend_worker_checkout(arena, &small, &loan))
		return 1;
	printf("8 MiB A block out.  A panel of 8 MiB: %s\n",
	       attempt(arena, 8 << 20));
	printf("A panel of 16 MiB: %s\n", attempt(arena, 16 << 20));
	lend_worker_return(arena, &loan);
	printf("A block returned.  A panel of 16 MiB: %s\n",
	       attempt(arena, 16 << 20));
	lend_arena_stats(arena, &stats);
	printf("retained %zu of %zu bytes after %llu trims\n",
	       stats.retained_bytes, stats.limit_bytes,
	       (unsigned long long)stats.trims);
	return lend_arena_destroy(arena) ? 1 : 0;
}
