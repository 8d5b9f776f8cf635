/* SPDX-License-Identifier: MIT */
/* Worker loans: what the rooms around them share. */
#ifndef LEND_ARENA_WORKER_H
#define LEND_ARENA_WORKER_H

#include <lend/worker.h>

#include "arena/slot.h"
#include "arena/state.h"

/*
 * Makes the buffers cover the worker's components of the request, all or
 * nothing.  Null arena: private buffers.  `compact`: see growth.h.
 * Errors: as lend_worker_checkout().
 */
int bufs_grow(struct lend_arena *arena, struct bufs *bufs,
	      const struct lend_req *req, bool compact);

/* Writes the handle of a loan of these buffers, in a slot or private. */
static inline void
worker_fill(struct lend_worker *loan, const struct lend_arena *arena,
	    void *place, const struct bufs *bufs, uint64_t number)
{
	loan->a = buf_start(&bufs->a);
	loan->tile = buf_start(&bufs->tile);
	loan->scatter = buf_start(&bufs->scatter);
	loan->scatter_length = 0;
	loan->scatter_capacity = buf_elements(&bufs->scatter);
	loan->place = place;
	loan->key = arena->key;
	loan->number = number;
}

/*
 * A slot for the calling thread: an idle one, or a new one.  Inside the gate.
 * Errors: -ENOMEM, -EAGAIN (too many threads).
 */
int worker_slot_join(struct lend_arena *arena, struct slot **slot);
/*
 * The slot's thread ends: settles what is out and leaves the slot to the next
 * thread.  Inside the gate; the owner.
 */
void worker_slot_leave(struct lend_arena *arena, struct slot *slot);

#endif
