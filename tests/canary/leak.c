/* SPDX-License-Identifier: MIT */
/*
 * usage: leak wrong|right
 *
 * Leaks on purpose: blocks that are known to nobody but a lent buffer, which
 * then is returned and its arena destroyed.  LeakSanitizer and valgrind must
 * report them, and be silent when they are freed before.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <lend/lend.h>

#define BLOCKS 64

static __attribute__((noinline)) int
lose_blocks(lend_arena *arena, bool right)
{
	struct lend_req req = { .a_bytes = BLOCKS * sizeof(void *) };
	struct lend_worker loan;
	void **block;

	if (lend_worker_checkout(arena, &req, &loan))
		return 2;
	block = loan.a;
	for (int i = 0; i < BLOCKS; i++)
		block[i] = malloc(100);
	for (int i = 0; right && i < BLOCKS; i++)
		free(block[i]);
	return lend_worker_return(arena, &loan);
}

/* Over what the last call has left of their addresses on the stack. */
static __attribute__((noinline)) void
sweep_stack(void)
{
	volatile char sweep[8192];

	for (size_t i = 0; i < sizeof(sweep); i++)
		sweep[i] = 0;
}

int
main(int argc, char **argv)
{
	bool right = argc == 2 && strcmp(argv[1], "right") == 0;
	lend_arena *arena;

	if (lend_arena_create(&arena, NULL) || lose_blocks(arena, right))
		return 2;
	sweep_stack();
	return lend_arena_destroy(arena) ? 2 : 0;
}
