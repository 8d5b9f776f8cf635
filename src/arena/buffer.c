/* SPDX-License-Identifier: MIT */
#include "arena/buffer.h"

#include <errno.h>

#include <lend/buffer.h>

#include "arena/account.h"
#include "arena/gate.h"
#include "arena/growth.h"
#include "arena/thread.h"
#include "arena/trace.h"
#include "arena/trim.h"
#include "base/assert.h"
#include "mem/backend.h"
#include "mem/extent.h"
#include "mem/poison.h"
#include "sync/stack.h"

#define COLD __attribute__((noinline, cold))
#define OUTLINE __attribute__((noinline))
#define ALIGNED __attribute__((aligned(64)))

static COLD struct magazine *
magazine_make(struct lend_arena *arena)
{
	struct magazine *magazine;
	struct node *node = NULL;

	gate_enter();
	magazine = pages_alloc(sizeof(*magazine));
	if (magazine && registry_add(&arena->magazines, &node)) {
		pages_free(magazine, sizeof(*magazine));
		magazine = NULL;
	}
	if (magazine) {
		magazine->held.node.index = node->index;
		((struct magazine_place *)node)->magazine = magazine;
	}
	gate_leave();
	return magazine;
}

/* An empty one; null: no memory. */
static struct magazine *
magazine_get(struct lend_arena *arena)
{
	struct node *node = stack_pop(&arena->spare_magazines,
				      &arena->magazines);

	return node ? ((struct magazine_place *)node)->magazine :
	       magazine_make(arena);
}

/* The calling thread's cache in another arena than the last one; or null. */
static OUTLINE struct slot *
cache_other(const struct lend_arena *arena)
{
	const struct thread_entry *entry = thread_entry(arena);

	if (!entry || !entry->slot->cache)
		return NULL;
	lend__thread.cache_key = arena->key;
	lend__thread.cache = entry->slot->cache;
	return lend__thread.cache;
}

/*
 * The calling thread's cache, or null.  Where it is the one of the last call,
 * its address does not wait for what the buffer leads to: that is compared
 * while the processor goes on (measured: 4 ns of 11 a loan).
 */
static inline struct slot *
cache_own(const struct lend_arena *arena)
{
	if (likely(lend__thread.cache_key == arena->key))
		return lend__thread.cache;
	return cache_other(arena);
}

/* The same, made where it is missing; null: no memory, a thread that ends. */
static COLD struct slot *
cache_attach(struct lend_arena *arena)
{
	struct slot *slot = thread_slot(arena);
	struct node *node;

	if (!slot && thread_attach(arena, &slot))
		return NULL;
	if (slot->cache)
		return cache_other(arena);
	gate_enter();
	if (registry_add(&arena->caches, &node) == 0)
		slot->cache = (struct slot *)node;
	gate_leave();
	return cache_other(arena);
}

/* From the own cache: of the least class that has one. */
static inline struct buffer *
cache_take(struct lend_arena *arena, uint32_t class, uint32_t last)
{
	struct slot *cache = cache_own(arena);
	struct buffer *buffer = NULL;
	struct magazine *magazine;

	if (unlikely(!cache))
		return NULL;
	magazine = cache_begin(cache, &arena->trimmers);
	if (likely(magazine))
		do
			buffer = magazine_take(magazine, class);
		while (unlikely(!buffer) && class++ < last);
	cache_end(cache, magazine);
	return buffer;
}

/*
 * The owner has begun, and the buffer does not fit in what it has.  What is in
 * the cache makes room, unless the buffer is too large for any.
 */
static OUTLINE void
cache_put_slowly(struct lend_arena *arena, struct slot *cache,
		 struct magazine *magazine, struct buffer *buffer)
{
	bool fits = buf_bytes(&buffer->buf) <= arena->buffer_cache;
	bool fresh = false;

	if (fits && !magazine) {
		magazine = magazine_get(arena);
		fresh = magazine;
	}
	if (fits && magazine) {
		magazine_flush(arena, magazine);
		fits = magazine_put(magazine, buffer, buffer->class,
				    arena->buffer_cache);
	}
	if (fresh)
		cache_end_with(cache, magazine);
	else
		cache_end(cache, magazine);
	if (!fits || !magazine)
		list_put(arena, buffer);
}

/*
 * A buffer in hand becomes idle.  Its class comes from the word, which is
 * there before what the descriptor holds.
 */
static inline void
put(struct lend_arena *arena, struct buffer *buffer, uint32_t class)
{
	struct slot *cache = cache_own(arena);
	struct magazine *magazine;

	if (unlikely(!cache)) {
		cache = cache_attach(arena);
		if (!cache) {
			list_put(arena, buffer);
			return;
		}
	}
	magazine = cache_begin(cache, &arena->trimmers);
	if (likely(magazine) &&
	    likely(magazine_put(magazine, buffer, class, arena->buffer_cache)))
		cache_end(cache, magazine);
	else
		cache_put_slowly(arena, cache, magazine, buffer);
}

static int
reserve(struct lend_arena *arena, size_t bytes)
{
	if (account_reserve(arena, bytes))
		return 0;
	trim(arena);
	return account_reserve(arena, bytes) ? 0 : -EDQUOT;
}

/* Gives an empty descriptor storage of its class. */
static int
fill(struct lend_arena *arena, struct buffer *buffer)
{
	size_t bytes = extent_size(buffer_class_bytes(buffer->class));
	void *start = NULL;
	map_word *word = NULL;
	int error;

	if (bytes == 0)
		return -EOVERFLOW;
	error = reserve(arena, bytes);
	if (error)
		return error;
	start = extent_alloc(bytes, arena->hugetlb);
	if (start)
		word = map_reach(start);
	if (!word) {
		if (start)
			extent_free(start, bytes);
		account_release(arena, bytes);
		return -ENOMEM;
	}
	/* Relaxed, all: in hand; statistics take each by itself. */
	store_relaxed(&buffer->word, word);
	store_relaxed(word, word_of(buffer, buffer->class));
	store_relaxed(&buffer->buf.start, start);
	store_relaxed(&buffer->buf.bytes, bytes);
	return 0;
}

/* A descriptor without storage. */
static int
buffer_new(struct lend_arena *arena, struct buffer **buffer)
{
	struct node *node = stack_pop(&arena->spare_buffers, &arena->buffers);
	int error = node ? 0 : registry_add(&arena->buffers, &node);

	*buffer = (struct buffer *)node;
	return error;
}

/* The three parts of a growth; what was got before an error stays with *. */
static int
acquire(struct lend_arena *arena, uint32_t class, struct buffer **buffer,
	struct record **record)
{
	int error = buffer_new(arena, buffer);

	if (error)
		return error;
	(*buffer)->arena = arena;
	(*buffer)->class = class;
	if (arena->trace)
		error = trace_prepare(arena, record);
	return error ? error : fill(arena, *buffer);
}

static COLD int
grow(struct lend_arena *arena, uint32_t class, struct buffer **found)
{
	struct record *record = NULL;
	struct buffer *buffer = NULL;
	int error;

	gate_enter();
	error = acquire(arena, class, &buffer, &record);
	if (error) {
		if (record)
			trace_drop(arena, record);
		if (buffer)
			stack_push(&arena->spare_buffers, &buffer->node);
	} else {
		if (record)
			trace_record(arena, record, LEND_BUFFER_PLAIN,
				     buf_bytes(&buffer->buf));
		count(&arena->growths);
		*found = buffer;
	}
	gate_leave();
	return error;
}

/* A buffer that is in hand is out, and the caller's. */
static inline void *
lend_out(struct buffer *buffer)
{
	uint64_t word = word_of(buffer, buffer->class) | WORD_OUT;

	if (unlikely(lend__poison))
		poison_lent(buf_start(&buffer->buf), buf_bytes(&buffer->buf));
	/* Relaxed, both: in hand; a child of fork looks at the taker. */
	store_relaxed(&buffer->taker, thread_self());
	WORD_LEND(load_relaxed(&buffer->word), word);
	return buf_start(&buffer->buf);
}

/* The own cache has none of the class itself. */
static OUTLINE int
borrow_otherwise(struct lend_arena *arena, size_t bytes, uint32_t class,
		 void **start)
{
	uint32_t last = buffer_class_last(bytes);
	struct buffer *buffer = NULL;
	int error = 0;

	if (last > class)
		buffer = cache_take(arena, class + 1, last);
	for (uint32_t c = class; !buffer && c <= last; c++)
		buffer = list_take(arena, c);
	if (!buffer)
		error = grow(arena, class, &buffer);
	if (!error)
		*start = lend_out(buffer);
	return error;
}

ALIGNED int
lend_buffer_borrow(lend_arena *arena, size_t bytes, void **start)
{
	struct buffer *buffer;
	uint32_t class;

	if (unlikely(!arena) || unlikely(!start) || unlikely(bytes == 0))
		return -EINVAL;
	if (unlikely(bytes > BUFFER_BYTES_MAX))
		return -EOVERFLOW;
	class = buffer_class(bytes);
	buffer = cache_take(arena, class, class);
	if (unlikely(!buffer))
		return borrow_otherwise(arena, bytes, class, start);
	*start = lend_out(buffer);
	return 0;
}

/* Why a word is not of a buffer that is out. */
static COLD int
refusal(const map_word *word)
{
	/* Relaxed: it says no either way. */
	return word && load_relaxed(word) ? -EALREADY : -EINVAL;
}

ALIGNED int
lend_buffer_return(void *start)
{
	map_word *place = map_find(start);
	struct buffer *buffer;
	uint64_t word;

	if (unlikely(!place))
		return -EINVAL;
	word = word_return(place);
	if (unlikely(!word))
		return refusal(place);
	buffer = word_buffer(word);
	if (unlikely(lend__poison))
		poison_idle(start, buf_bytes(&buffer->buf));
	put(buffer->arena, buffer, word_class(word));
	return 0;
}

int
lend_buffer_capacity(const void *start, size_t *bytes)
{
	map_word *place = map_find(start);
	uint64_t word;

	if (!bytes || !place)
		return -EINVAL;
	/* Relaxed: the word alone tells; its descriptor is not looked at. */
	word = load_relaxed(place);
	if (!(word & WORD_OUT))
		return refusal(place);
	*bytes = extent_size(buffer_class_bytes(word_class(word)));
	return 0;
}
