/* SPDX-License-Identifier: MIT */
#include "arena/fork.h"

#include <pthread.h>

#include "arena/buffer.h"
#include "arena/directory.h"
#include "arena/ending.h"
#include "arena/gate.h"
#include "arena/loan.h"
#include "arena/private.h"
#include "arena/slot.h"
#include "arena/team.h"
#include "arena/thread.h"
#include "base/assert.h"
#include "base/os.h"
#include "mem/init.h"
#include "sync/reclaim.h"
#include "sync/stack.h"

/* All stores here are relaxed: the child has one thread. */

/* Whether the forking thread's slot, or a loan of it, has the buffers. */
static bool
bufs_are_mine(struct lend_arena *arena, const struct bufs *bufs)
{
	struct slot *mine = thread_slot(arena);

	if (!mine)
		return false;
	if (loan_is_out(&mine->loan) && slot_lent(mine) == bufs)
		return true;
	return load_relaxed(&mine->bufs) == bufs;
}

/* The next descriptor with storage that is nobody's, from *index on. */
static struct bufs *
orphan_bufs(struct lend_arena *arena, uint32_t *index)
{
	uint32_t all = registry_count(&arena->bufs);

	while (*index < all) {
		struct bufs *bufs = registry_at(&arena->bufs, (*index)++);

		if (bufs_are_mine(arena, bufs))
			continue;
		bufs->node.index = *index - 1;
		/* A resize may not have reached the sum yet. */
		store_relaxed(&bufs->bytes, buf_bytes(&bufs->a) +
			      buf_bytes(&bufs->tile) +
			      buf_bytes(&bufs->scatter));
		if (bufs_bytes(bufs))
			return bufs;
		stack_push(&arena->spare_bufs, &bufs->node);
	}
	return NULL;
}

/*
 * Other threads' slots become idle, and each gets buffers that somebody left.
 * There are as many slots as there can be descriptors with storage: each
 * belonged to one, as a trimmer's hands are empty behind a closed gate.
 */
static void
rebuild_slots(struct lend_arena *arena)
{
	uint32_t all = registry_count(&arena->slots), index = 0;

	stack_reset(&arena->idle_slots);
	stack_reset(&arena->spare_bufs);
	for (uint32_t i = 0; i < all; i++) {
		struct slot *slot = registry_at(&arena->slots, i);
		struct bufs *bufs;

		if (slot == thread_slot(arena))
			continue;
		if (loan_is_out(&slot->loan)) {
			count(&arena->abandoned);
			store_relaxed(&slot->loan.busy, 0);
		}
		/* One that was caught before it had a number. */
		if (load_relaxed(&slot->loan.number) == 0)
			store_relaxed(&slot->loan.number,
				      number_first() | NUMBER_OUT);
		slot->loan.node.index = i;
		bufs = orphan_bufs(arena, &index);
		store_relaxed(&slot->bufs, bufs);
		store_relaxed(&slot->bytes, bufs ? bufs_bytes(bufs) : 0);
		store_relaxed(&slot->loan.owner, NULL);
		slot->loan.flags = 0;
		stack_push(&arena->idle_slots, &slot->loan.node);
	}
	lend_check(!orphan_bufs(arena, &index));
}

static void
rebuild_sets(struct lend_arena *arena)
{
	uint32_t all = registry_count(&arena->sets);

	cells_reset(&arena->idle_sets);
	stack_reset(&arena->spare_sets);
	for (uint32_t i = 0; i < all; i++) {
		struct team_set *set = registry_at(&arena->sets, i);
		uint64_t number = load_relaxed(&set->number);

		/* A growth may not have reached the account yet. */
		team_set_settle(set);
		if (number_is_out(number)) {
			if (load_relaxed(&set->taker) == thread_self())
				continue;
			count(&arena->abandoned);
			store_relaxed(&set->number, number_after(number));
		}
		if (number == 0)
			store_relaxed(&set->number, number_first());
		/* Others may have been at its barriers. */
		set->prepared = 0;
		set->node.index = i;
		team_set_put(arena, set);
	}
}

/* Rebuilds a stack of objects that have only two places: on it, or in use. */
static void
rebuild_privates(struct lend_arena *arena)
{
	uint32_t all = registry_count(&arena->privates);

	stack_reset(&arena->idle_privates);
	for (uint32_t i = 0; i < all; i++) {
		struct private_loan *private =
			registry_at(&arena->privates, i);
		struct loan *loan = &private->loan;
		bool out = loan_is_out(loan);

		if (out && load_relaxed(&loan->owner) == thread_self())
			continue;
		if (load_relaxed(&loan->number) == 0)
			store_relaxed(&loan->number,
				      number_first() | NUMBER_PRIVATE |
				      NUMBER_OUT);
		loan->node.index = i;
		private_settle(arena, private);
		if (out)
			count(&arena->abandoned);
	}
}

/* Records that a taker had in hand are lost to the child. */
static void
rebuild_arena(struct lend_arena *arena)
{
	store_relaxed(&arena->trimmers, arena->fast ? 0 : 1);
	rebuild_slots(arena);
	rebuild_sets(arena);
	rebuild_privates(arena);
	buffers_rebuild(arena);
}

static void
child(void)
{
	/* Registered before, the system may have forgotten it in the child. */
	if (lend__membarrier &&
	    !(os_membarrier_register() && os_membarrier()))
		lend__membarrier = false;
	for (uint32_t i = 0; i < directory_count(); i++) {
		struct lend_arena *arena = directory_at(i);

		if (directory_ending_at(i))
			ending_release(directory_ending_at(i));
		if (!arena)
			continue;
		arena->fast &= lend__membarrier;
		rebuild_arena(arena);
	}
	gate_reset();
	reclaim_fork_child();
}

int
fork_init(void)
{
	if (!lend__conf.fork)
		return 0;
	return -pthread_atfork(gate_close, gate_open, child);
}
