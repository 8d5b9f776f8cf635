/* SPDX-License-Identifier: MIT */
/*
 * usage: use_after_return worker|panel|buffer|right
 *
 * A program that writes to what it has returned.  AddressSanitizer and
 * valgrind must report it at the program's own line, a marked one,
 * although to them the memory is a mapping like any other.
 */
#include <stdbool.h>
#include <string.h>

#include <lend/lend.h>

static const struct lend_req req = { .a_bytes = 4096, .b_bytes = 4096 };

static int
use_worker(lend_arena *arena, bool late)
{
	struct lend_worker loan;
	volatile char *a;

	if (lend_worker_checkout(arena, &req, &loan))
		return 2;
	a = loan.a;
	*a = 1;
	if (lend_worker_return(arena, &loan))
		return 2;
	if (late)
		*a = 2;	/* HERE: worker */
	return 0;
}

static int
use_panel(lend_arena *arena, bool late)
{
	struct lend_team lease;
	volatile char *panel;

	if (lend_team_take(arena, &req, 1, 1, &lease) ||
	    lend_team_panel(arena, &lease, req.b_bytes))
		return 2;
	panel = lease.panel;
	*panel = 1;
	if (lend_team_return(arena, &lease))
		return 2;
	if (late)
		*panel = 2;	/* HERE: panel */
	return 0;
}

static int
use_buffer(lend_arena *arena, bool late)
{
	volatile char *buffer;
	void *start;

	if (lend_buffer_borrow(arena, req.a_bytes, &start))
		return 2;
	buffer = start;
	*buffer = 1;
	if (lend_buffer_return(start))
		return 2;
	if (late)
		*buffer = 2;	/* HERE: buffer */
	return 0;
}

int
main(int argc, char **argv)
{
	const char *kind = argc == 2 ? argv[1] : "";
	lend_arena *arena;

	if (lend_arena_create(&arena, NULL))
		return 2;
	if (use_worker(arena, !strcmp(kind, "worker")) ||
	    use_panel(arena, !strcmp(kind, "panel")) ||
	    use_buffer(arena, !strcmp(kind, "buffer")))
		return 2;
	return lend_arena_destroy(arena) ? 2 : 0;
}
