/* SPDX-License-Identifier: MIT */
#include "arena/trim.h"

#include <errno.h>

#include "arena/buffer.h"
#include "arena/gate.h"
#include "arena/growth.h"
#include "arena/slot.h"
#include "arena/team.h"
#include "sync/stack.h"

void
bufs_release(struct lend_arena *arena, struct bufs *bufs)
{
	buf_release(arena, &bufs->a);
	buf_release(arena, &bufs->tile);
	buf_release(arena, &bufs->scatter);
	/* Relaxed: the holder is alone. */
	store_relaxed(&bufs->bytes, 0);
}

static int
trim_slots(struct lend_arena *arena)
{
	uint32_t slots = registry_count(&arena->slots);
	int error = 0;

	if (slots == 0)
		return 0;
	if (!slot_trim_begin(&arena->trimmers, arena->fast))
		error = -ENOTSUP;
	for (uint32_t i = 0; i < slots && !error; i++) {
		struct bufs *bufs = slot_reclaim(registry_at(&arena->slots, i));

		if (!bufs)
			continue;
		bufs_release(arena, bufs);
		stack_push(&arena->spare_bufs, &bufs->node);
	}
	if (!error)
		buffers_trim_caches(arena);
	slot_trim_end(&arena->trimmers);
	return error;
}

/*
 * One set in hand at a time, and its storage is released after it was put
 * among the spare ones: a take meanwhile finds it, so sets stay bounded by the
 * calls at once.
 */
static void
trim_sets(struct lend_arena *arena)
{
	uint32_t sets = registry_count(&arena->sets);

	for (uint32_t i = 0; i < sets; i++) {
		struct node *node = team_set_take(arena);
		struct team_storage storage;

		if (!node)
			return;
		team_set_empty((struct team_set *)node, &storage);
		stack_push(&arena->spare_sets, node);
		team_storage_release(arena, &storage);
	}
}

int
trim(struct lend_arena *arena)
{
	count(&arena->trims);
	trim_sets(arena);
	buffers_trim_lists(arena);
	return trim_slots(arena);
}

int
lend_arena_trim(lend_arena *arena)
{
	int error;

	if (!arena)
		return -EINVAL;
	gate_enter();
	error = trim(arena);
	gate_leave();
	return error;
}
