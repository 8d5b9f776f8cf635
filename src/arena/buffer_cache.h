/* SPDX-License-Identifier: MIT */
/*
 * A thread's cache of idle buffers in one arena, which a trimmer may empty at
 * any time.
 *
 *   slot of the cache --> magazine --> top[class] -> buffer -> buffer
 *
 * The protocol is the one of slot.h, its code included: what a worker slot
 * does with its three buffers, the cache's slot does with its magazine.  The
 * "loan" lasts for one push or pop.  A magazine and all that is in it belong
 * to who has marked the slot busy, or has taken the magazine by exchange.
 *
 *   owner    slot_checkout -- push or pop, alone with it -- slot_return
 *   trimmer  slot_reclaim -- releases what is in it -- spare
 *
 * What differs: the slot's account stays 0, since each buffer is in its own.
 * An owner that finds no magazine (a trimmer has it) goes on without one, to
 * borrow, or takes a spare one, to return; so magazines are no more than
 * caches and trimmers at once.
 *
 * The short forms, which the hot paths use, are slot_checkout and slot_return
 * cut down to the case without a flag: marked busy, no trimmer seen, what is
 * in place used and left there, unmarked.  Where a trimmer is seen they unmark
 * the slot and have touched nothing, as an owner that never came.  The look at
 * the trimmers acquires here for another reason than the account: what is read
 * as being in place must not be what was there before a trimmer's exchange.
 *
 * A magazine holds at most the arena's `buffer_cache` bytes.  A buffer for
 * which there is no room makes all others go to the lists that threads share:
 * what a thread no longer uses does not stay, and as each of them had come in
 * by a return of its own, a return still moves one buffer on average.
 */
#ifndef LEND_ARENA_BUFFER_CACHE_H
#define LEND_ARENA_BUFFER_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/buffer_class.h"
#include "arena/buffer_map.h"
#include "arena/bufs.h"
#include "arena/slot.h"
#include "sync/registry.h"

struct lend_arena;

/*
 * A buffer's descriptor.  It is in one place: out, in a magazine, on a list of
 * its class, in the hands of a call, or (without storage) spare.
 */
struct buffer {
	struct node node;
	struct page_buf buf;		/* account: its bytes */
	_Atomic(map_word *) word;	/* where the map has it, or null */
	struct buffer *next;		/* the magazine's holder's */
	struct lend_arena *arena;	/* constant once it has had storage */
	uint64_t out;			/* its word when out; constant while */
					/* it has storage */
	char pad[8];
};

/*
 * One page, all zero when empty.  `held` is what slot.h moves about; of its
 * fields the node alone is used, to name the magazine's place.
 */
struct magazine {
	struct bufs held;		/* see slot.h */
	size_t bytes;			/* of all that is in it */
	struct buffer *top[BUFFER_CLASSES];
};

_Static_assert(sizeof(struct buffer) == 64, "a power of two");
_Static_assert(sizeof(struct magazine) <= 4096, "a page");

static inline uint32_t
buffer_class_of(const struct buffer *buffer)
{
	return word_class(buffer->out);
}

/* The model looks whether its holder is alone. */
#ifndef MAGAZINE_IN_HAND
#define MAGAZINE_IN_HAND(magazine)	((void)(magazine))
#endif

/* Owner: begins; null: there is no magazine. */
static inline struct magazine *
cache_begin(struct slot *cache, _Atomic(uint32_t) *trimmers)
{
	return (struct magazine *)slot_checkout(cache, trimmers);
}

/* Owner: ends.  `magazine` is the one that it began with, or null. */
static inline void
cache_end(struct slot *cache, struct magazine *magazine)
{
	slot_return(cache, (struct bufs *)magazine);
}

/* Owner: ends with a magazine where it began without. */
static inline void
cache_end_with(struct slot *cache, struct magazine *magazine)
{
	slot_lend(cache, (struct bufs *)magazine, SLOT_FRESH);
	cache_end(cache, magazine);
}

/* Trimmer: takes the magazine; null: it is in use, or there is none. */
static inline struct magazine *
cache_reclaim(struct slot *cache)
{
	return (struct magazine *)slot_reclaim(cache);
}

/* Holder: a buffer of the class, the one that was put last, or null. */
static inline struct buffer *
magazine_take(struct magazine *magazine, uint32_t class)
{
	struct buffer *buffer = magazine->top[class];

	MAGAZINE_IN_HAND(magazine);
	if (unlikely(!buffer))
		return NULL;
	magazine->top[class] = buffer->next;
	magazine->bytes -= buf_bytes(&buffer->buf);
	return buffer;
}

/*
 * Holder: puts the buffer of that class; false: that would be more than `most`
 * bytes.
 */
static inline bool
magazine_put(struct magazine *magazine, struct buffer *buffer, uint32_t class,
	     size_t most)
{
	size_t bytes = magazine->bytes + buf_bytes(&buffer->buf);

	MAGAZINE_IN_HAND(magazine);
	if (unlikely(bytes > most))
		return false;
	magazine->bytes = bytes;
	buffer->next = magazine->top[class];
	magazine->top[class] = buffer;
	return true;
}

/*
 * Owner: the short forms, for when nothing is in the way.  They look at what
 * is in place, and only while no trimmer is about; else null or false, and
 * nothing has changed.
 */
static inline struct magazine *
cache_begin_in_place(struct slot *cache, _Atomic(uint32_t) *trimmers)
{
	if (unlikely(!slot_begin(cache, trimmers)))
		return NULL;
	return (struct magazine *)slot_in_place(cache);
}

static inline struct buffer *
cache_take_in_place(struct slot *cache, _Atomic(uint32_t) *trimmers,
		    uint32_t class)
{
	struct magazine *magazine = cache_begin_in_place(cache, trimmers);
	struct buffer *buffer = NULL;

	if (likely(magazine))
		buffer = magazine_take(magazine, class);
	SLOT_UNBUSY(cache);
	return buffer;
}

static inline bool
cache_put_in_place(struct slot *cache, _Atomic(uint32_t) *trimmers,
		   struct buffer *buffer, uint32_t class, size_t most)
{
	struct magazine *magazine = cache_begin_in_place(cache, trimmers);
	bool done = false;

	if (likely(magazine))
		done = magazine_put(magazine, buffer, class, most);
	SLOT_UNBUSY(cache);
	return done;
}

/* Owner: takes a buffer of the least class from `class` to `last`, or none. */
static inline struct buffer *
cache_take(struct slot *cache, _Atomic(uint32_t) *trimmers, uint32_t class,
	   uint32_t last)
{
	struct magazine *magazine = cache_begin(cache, trimmers);
	struct buffer *buffer = NULL;

	if (magazine)
		for (; !buffer && class <= last; class++)
			buffer = magazine_take(magazine, class);
	cache_end(cache, magazine);
	return buffer;
}

#endif
