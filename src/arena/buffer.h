/* SPDX-License-Identifier: MIT */
/*
 * Plain buffers.
 *
 *            borrow                             return
 *   cached -----------+                      +--> cached (by who returned it)
 *   listed (none) ----+--> in hand --> out --+       | no room, thread's end
 *   grown (none) -----+                      +--> listed
 *
 *   cached, listed -- trim: storage released --> spare
 *
 * cached: buffer_cache.h.  listed: one lock-free stack for each class.  out:
 * the word in the map says so, buffer_map.h.  In hand: nobody else's.
 *
 * A buffer grows only when, at some moment of the call, the caller's cache and
 * then the lists had none that serves.  So of each class there is no more than
 * was out at once, what other threads' caches hold, and one for each call
 * that is in progress.
 */
#ifndef LEND_ARENA_BUFFER_H
#define LEND_ARENA_BUFFER_H

#include <stdbool.h>

#include "arena/state.h"

/* Of the buffer, at this moment. */
static inline bool
buffer_is_out(const struct buffer *buffer)
{
	/* Relaxed, both: statistics; a word is never unmapped. */
	map_word *place = load_relaxed(&buffer->word);
	uint64_t word = place ? load_relaxed(place) : 0;

	return (word & WORD_OUT) && word_buffer(word) == buffer;
}

static inline void
list_put(struct lend_arena *arena, struct buffer *buffer)
{
	stack_push(&arena->idle_buffers[buffer_class_of(buffer)], &buffer->node);
}

static inline struct buffer *
list_take(struct lend_arena *arena, uint32_t class)
{
	return (struct buffer *)stack_pop(&arena->idle_buffers[class],
					  &arena->buffers);
}

/* Moves all that the magazine has, which is in hand, to the lists. */
void magazine_flush(struct lend_arena *arena, struct magazine *magazine);

/* Releases the buffers on lists.  Inside the gate. */
void buffers_trim_lists(struct lend_arena *arena);
/* Those in caches, between slot_trim_begin and its end.  Inside the gate. */
void buffers_trim_caches(struct lend_arena *arena);
/* The slot's thread ends: its cache goes to the lists. */
void buffers_leave(struct lend_arena *arena, struct slot *slot);

/* Destroy: no other call is in progress. */
bool buffers_any_out(struct lend_arena *arena);
void buffers_fini(struct lend_arena *arena);

/* In a child of fork(2), whose only thread is the caller. */
void buffers_rebuild(struct lend_arena *arena);

#endif
