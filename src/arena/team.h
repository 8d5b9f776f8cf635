/* SPDX-License-Identifier: MIT */
/*
 * Team sets: taken and returned through two lock-free stacks, one with cells
 * beside it (sync/cells.h).
 *
 *                 take                        return
 *   idle  ------------------------+    +----------------> idle
 *   spare (none idle) ------------+--> out
 *   new   (none at all) ----------+
 *
 *   idle -- trim: storage released --> spare
 *
 * A set that is on no stack, nor in a cell, belongs to whoever took it from
 * there: a lease, a trimmer, or a take whose preparation failed and which puts
 * it back.  A lease is over when somebody has moved the set's number on (CAS):
 * of several returns of one lease exactly one does, and it alone may put it.
 *
 * A new set is made only when at one moment there was no idle set, and after
 * that no spare one, so there are never more sets than there were leases and
 * calls (take, or a trim for the length of a few instructions) at once.
 */
#ifndef LEND_ARENA_TEAM_H
#define LEND_ARENA_TEAM_H

#include "arena/state.h"
#include "arena/thread.h"
#include "base/assert.h"
#include "sync/cells.h"
#include "sync/stack.h"

/* What a set has held, on its way out. */
struct team_storage {
	struct page_buf buf[3];
};

/* Empties a set that the caller has in hand, and settles its account. */
void team_set_empty(struct team_set *set, struct team_storage *storage);
/* Inside the gate. */
void team_storage_release(struct lend_arena *arena,
			  struct team_storage *storage);
/* Makes the account of such a set what its storage is. */
static inline void
team_set_settle(struct team_set *set)
{
	/* Relaxed: the holder's own; each word is right by itself. */
	store_relaxed(&set->panel_bytes, buf_bytes(&set->panel));
	store_relaxed(&set->rest_bytes,
		      buf_bytes(&set->scatter) + buf_bytes(&set->barrier));
	set->resized = false;
}

/* What such a set holds. */
static inline size_t
set_bytes(const struct team_set *set)
{
	return buf_bytes(&set->panel) + buf_bytes(&set->scatter) +
	       buf_bytes(&set->barrier);
}

/* An idle set, now the caller's; null: at one moment there was none. */
static inline struct node *
team_set_take(struct lend_arena *arena)
{
	return cells_take(&arena->idle_sets, &arena->sets,
			  &lend__thread.credit, arena->key);
}

/* Puts it where it belongs: idle with storage, else spare. */
static inline void
team_set_put(struct lend_arena *arena, struct team_set *set)
{
	if (likely(set_bytes(set)))
		cells_put(&arena->idle_sets, &arena->sets, &set->node,
			  &lend__thread.credit, arena->key);
	else
		stack_push(&arena->spare_sets, &set->node);
}

#endif
