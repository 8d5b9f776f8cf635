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

/*
 * The calling thread's cache, or null.  The last one that was used is kept
 * beside the thread's table.
 */
static struct slot *
cache_own(const struct lend_arena *arena)
{
	const struct thread_entry *entry;

	if (lend__thread.cache_key == arena->key)
		return lend__thread.cache;
	entry = thread_entry(arena);
	if (!entry || !entry->slot->cache)
		return NULL;
	/* Where idle buffers are poisoned there is no short way. */
	if (likely(!lend__poison)) {
		lend__thread.cache_key = arena->key;
		lend__thread.cache = entry->slot->cache;
	}
	return entry->slot->cache;
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
		return cache_own(arena);
	gate_enter();
	if (registry_add(&arena->caches, &node) == 0)
		slot->cache = (struct slot *)node;
	gate_leave();
	return cache_own(arena);
}

/*
 * Puts it into what the owner has begun with.  What is there makes room, or
 * there was nothing.  False: the buffer is too large for any cache, or there
 * is no memory.
 */
static bool
cache_put(struct lend_arena *arena, struct magazine **magazine,
	  struct buffer *buffer)
{
	uint32_t class = buffer_class_of(buffer);

	if (buf_bytes(&buffer->buf) > arena->buffer_cache)
		return false;
	if (!*magazine)
		*magazine = magazine_get(arena);
	if (!*magazine)
		return false;
	if (magazine_put(*magazine, buffer, class, arena->buffer_cache))
		return true;
	magazine_flush(arena, *magazine);
	return magazine_put(*magazine, buffer, class, arena->buffer_cache);
}

/* A buffer in hand becomes idle, where there is something in the way. */
static OUTLINE void
put_otherwise(struct lend_arena *arena, struct buffer *buffer)
{
	struct slot *cache = cache_own(arena);
	struct magazine *had, *magazine;
	bool done;

	if (unlikely(lend__poison))
		poison_idle(buf_start(&buffer->buf), buf_bytes(&buffer->buf));
	if (!cache)
		cache = cache_attach(arena);
	if (!cache) {
		list_put(arena, buffer);
		return;
	}
	had = magazine = cache_begin(cache, &arena->trimmers);
	done = cache_put(arena, &magazine, buffer);
	if (magazine != had)
		cache_end_with(cache, magazine);
	else
		cache_end(cache, magazine);
	if (!done)
		list_put(arena, buffer);
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
	size_t bytes = extent_size(buffer_class_bytes(buffer_class_of(buffer)));
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
	store_relaxed(word, buffer->out & ~WORD_OUT);
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
	(*buffer)->out = word_out(*buffer, class);
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
	/* Relaxed: in hand. */
	WORD_LEND(load_relaxed(&buffer->word), buffer->out);
	return buf_start(&buffer->buf);
}

/* What the own cache has not got at once. */
static OUTLINE int
borrow_otherwise(struct lend_arena *arena, size_t bytes, void **start)
{
	struct buffer *buffer = NULL;
	uint32_t class, last;
	struct slot *cache;
	int error = 0;

	if (!arena || !start || bytes == 0)
		return -EINVAL;
	if (bytes > BUFFER_BYTES_MAX)
		return -EOVERFLOW;
	class = buffer_class(bytes);
	last = buffer_class_last(bytes);
	cache = cache_own(arena);
	if (cache)
		buffer = cache_take(cache, &arena->trimmers, class, last);
	for (uint32_t c = class; !buffer && c <= last; c++)
		buffer = list_take(arena, c);
	if (!buffer)
		error = grow(arena, class, &buffer);
	if (error)
		return error;
	if (unlikely(lend__poison))
		poison_lent(buf_start(&buffer->buf), buf_bytes(&buffer->buf));
	*start = lend_out(buffer);
	return 0;
}

/*
 * The hot paths, here and in the return: whatever is in the way, the function
 * that can do everything begins anew, as the last thing, so that no register
 * has to be saved.  The cache is the one of the thread's last call: found
 * through the buffer, its arena and the thread's table its address would come
 * at the end of a chain of ten loads (4 ns of 12 a loan).
 */
ALIGNED int
lend_buffer_borrow(lend_arena *arena, size_t bytes, void **start)
{
	struct buffer *buffer;

	if (unlikely(!arena) || unlikely(!start) ||
	    unlikely(bytes - 1 >= BUFFER_BYTES_MAX) ||
	    unlikely(lend__thread.cache_key != arena->key))
		return borrow_otherwise(arena, bytes, start);
	buffer = cache_take_in_place(lend__thread.cache, &arena->trimmers,
				     buffer_class(bytes));
	if (unlikely(!buffer))
		return borrow_otherwise(arena, bytes, start);
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

static OUTLINE int
return_otherwise(struct buffer *buffer)
{
	put_otherwise(buffer->arena, buffer);
	return 0;
}

ALIGNED int
lend_buffer_return(void *start)
{
	map_word *place = map_find(start);
	struct lend_arena *arena;
	struct buffer *buffer;
	uint64_t word;

	if (unlikely(!place))
		return -EINVAL;
	if (unlikely(!word_return(place, &word)))
		return refusal(place);
	buffer = word_buffer(word);
	arena = buffer->arena;
	/* The word tells the class before what the descriptor holds. */
	if (likely(lend__thread.cache_key == arena->key) &&
	    likely(cache_put_in_place(lend__thread.cache, &arena->trimmers,
				      buffer, word_class(word),
				      arena->buffer_cache)))
		return 0;
	return return_otherwise(buffer);
}

size_t
lend_buffer_size(size_t bytes)
{
	if (bytes - 1 >= BUFFER_BYTES_MAX)
		return 0;
	return extent_size(buffer_class_bytes(buffer_class(bytes)));
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
