/* SPDX-License-Identifier: MIT */
/* What becomes of idle buffers: lists, trim, the ends of threads and arenas. */
#include "arena/buffer.h"

#include "arena/growth.h"
#include "arena/thread.h"
#include "base/assert.h"
#include "mem/backend.h"
#include "mem/poison.h"
#include "sync/stack.h"

/* Releases the storage of a buffer in hand, whose descriptor is then spare. */
static void
release(struct lend_arena *arena, struct buffer *buffer)
{
	/*
	 * Relaxed: forgotten before the address can come again, which who
	 * gets it then learns from the backend.
	 */
	store_relaxed(load_relaxed(&buffer->word), 0);
	buf_release(arena, &buffer->buf);
	stack_push(&arena->spare_buffers, &buffer->node);
}

void
magazine_flush(struct lend_arena *arena, struct magazine *magazine)
{
	for (uint32_t c = 0; magazine->bytes; c++) {
		struct buffer *buffer;

		lend_check(c < BUFFER_CLASSES);
		while ((buffer = magazine_take(magazine, c)))
			list_put(arena, buffer);
	}
}

static void
magazine_release(struct lend_arena *arena, struct magazine *magazine)
{
	for (uint32_t c = 0; magazine->bytes; c++) {
		struct buffer *buffer;

		lend_check(c < BUFFER_CLASSES);
		while ((buffer = magazine_take(magazine, c)))
			release(arena, buffer);
	}
	stack_push(&arena->spare_magazines,
		   registry_at(&arena->magazines,
			       magazine->held.node.index));
}

void
buffers_trim_lists(struct lend_arena *arena)
{
	/* No more than there are: others may put what it has in mind. */
	uint32_t left = registry_count(&arena->buffers);

	for (uint32_t c = 0; c < BUFFER_CLASSES && left; c++) {
		struct buffer *buffer;

		while (left && (buffer = list_take(arena, c))) {
			release(arena, buffer);
			left--;
		}
	}
}

void
buffers_trim_caches(struct lend_arena *arena)
{
	uint32_t caches = registry_count(&arena->caches);

	for (uint32_t i = 0; i < caches; i++) {
		struct magazine *magazine =
			cache_reclaim(registry_at(&arena->caches, i));

		if (magazine)
			magazine_release(arena, magazine);
	}
}

void
buffers_leave(struct lend_arena *arena, struct slot *slot)
{
	struct magazine *magazine;

	if (!slot->cache)
		return;
	magazine = cache_begin(slot->cache, &arena->trimmers);
	if (magazine)
		magazine_flush(arena, magazine);
	cache_end(slot->cache, magazine);
}

bool
buffers_any_out(struct lend_arena *arena)
{
	for (uint32_t i = 0; i < registry_count(&arena->buffers); i++)
		if (buffer_is_out(registry_at(&arena->buffers, i)))
			return true;
	return false;
}

static struct magazine *
magazine_at(const struct lend_arena *arena, uint32_t index)
{
	struct magazine_place *place = registry_at(&arena->magazines, index);

	return place->magazine;
}

void
buffers_fini(struct lend_arena *arena)
{
	for (uint32_t i = 0; i < registry_count(&arena->buffers); i++) {
		struct buffer *buffer = registry_at(&arena->buffers, i);

		if (buf_bytes(&buffer->buf))
			release(arena, buffer);
	}
	for (uint32_t i = 0; i < registry_count(&arena->magazines); i++)
		pages_free(magazine_at(arena, i), sizeof(struct magazine));
	registry_fini(&arena->buffers);
	registry_fini(&arena->caches);
	registry_fini(&arena->magazines);
}

/* All stores from here on are relaxed: the child has one thread. */

/* All magazines are empty; the calling thread's stays where it is. */
static void
rebuild_caches(struct lend_arena *arena)
{
	struct slot *own = thread_slot(arena);
	struct slot *mine = own ? own->cache : NULL;
	struct bufs *held = mine ? load_relaxed(&mine->bufs) : NULL;

	for (uint32_t i = 0; i < registry_count(&arena->caches); i++) {
		struct slot *cache = registry_at(&arena->caches, i);

		if (cache == mine)
			continue;
		store_relaxed(&cache->loan.busy, 0);
		cache->loan.flags = 0;
		store_relaxed(&cache->bufs, NULL);
	}
	stack_reset(&arena->spare_magazines);
	for (uint32_t i = 0; i < registry_count(&arena->magazines); i++) {
		struct magazine_place *place =
			registry_at(&arena->magazines, i);
		struct magazine *magazine = place->magazine;

		magazine->bytes = 0;
		for (uint32_t c = 0; c < BUFFER_CLASSES; c++)
			magazine->top[c] = NULL;
		if (&magazine->held != held)
			stack_push(&arena->spare_magazines, &place->node);
	}
}

/* Where the buffer belongs in the child. */
static void
rebuild_buffer(struct lend_arena *arena, struct buffer *buffer)
{
	if (buf_bytes(&buffer->buf) == 0) {
		stack_push(&arena->spare_buffers, &buffer->node);
		return;
	}
	/* Any thread may have use for it, also one that is still here. */
	if (buffer_is_out(buffer))
		return;
	if (lend__poison)
		poison_idle(buf_start(&buffer->buf), buf_bytes(&buffer->buf));
	list_put(arena, buffer);
}

void
buffers_rebuild(struct lend_arena *arena)
{
	rebuild_caches(arena);
	stack_reset(&arena->spare_buffers);
	for (uint32_t c = 0; c < BUFFER_CLASSES; c++)
		stack_reset(&arena->idle_buffers[c]);
	for (uint32_t i = 0; i < registry_count(&arena->buffers); i++) {
		struct buffer *buffer = registry_at(&arena->buffers, i);

		buffer->node.index = i;
		rebuild_buffer(arena, buffer);
	}
}
