/* SPDX-License-Identifier: MIT */
#include "arena/ending.h"

#include <errno.h>

#include "arena/buffer.h"
#include "arena/directory.h"
#include "arena/gate.h"
#include "arena/loan.h"
#include "arena/private.h"
#include "arena/slot.h"
#include "arena/stats.h"
#include "arena/team.h"
#include "arena/trim.h"
#include "mem/backend.h"
#include "mem/init.h"
#include "sync/reclaim.h"

static bool
any_loan_out(struct lend_arena *arena)
{
	for (uint32_t i = 0; i < registry_count(&arena->slots); i++)
		if (loan_is_out(registry_at(&arena->slots, i)))
			return true;
	for (uint32_t i = 0; i < registry_count(&arena->sets); i++) {
		struct team_set *set = registry_at(&arena->sets, i);

		/* Relaxed: no other call is in progress. */
		if (number_is_out(load_relaxed(&set->number)))
			return true;
	}
	return buffers_any_out(arena) || private_any_out(arena);
}

/* Nobody finds the arena any more, unless a loan of it is out. */
static int
withdraw(struct lend_arena *arena)
{
	int error = 0;

	gate_enter();
	if (any_loan_out(arena))
		error = -EBUSY;
	else
		directory_withdraw(arena);
	gate_leave();
	return error;
}

static void
release_storage(struct lend_arena *arena)
{
	for (uint32_t i = 0; i < registry_count(&arena->bufs); i++)
		bufs_release(arena, registry_at(&arena->bufs, i));
	for (uint32_t i = 0; i < registry_count(&arena->sets); i++) {
		struct team_storage storage;

		team_set_empty(registry_at(&arena->sets, i), &storage);
		team_storage_release(arena, &storage);
	}
	buffers_fini(arena);
	registry_fini(&arena->slots);
	registry_fini(&arena->bufs);
	registry_fini(&arena->sets);
	registry_fini(&arena->privates);
	registry_fini(&arena->records);
}

void
ending_release(struct lend_arena *arena)
{
	uint32_t index = arena->index;

	release_storage(arena);
	pages_free(arena, sizeof(*arena));
	directory_recycle(index);
}

int
lend_arena_destroy(lend_arena *arena)
{
	int error;

	if (!arena)
		return 0;
	if (reclaim_reading())
		return -EDEADLK;
	error = withdraw(arena);
	if (error)
		return error;
	if (lend__conf.stats_print)
		stats_print(arena);
	/* A thread that is just ending may still be settling its slot. */
	reclaim_wait();
	gate_enter();
	ending_release(arena);
	gate_leave();
	return 0;
}
