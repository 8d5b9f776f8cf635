/* SPDX-License-Identifier: MIT */
/*
 * From an address to the buffer that starts there, in the whole process.
 *
 *   47        30 29        12 11   0
 *   [ root place ][ leaf place ][ 0 ]	an address
 *
 *   root[ ] --> leaf[ ] = word of the page
 *
 *   word  63     56 55          6  0
 *         [ class  ][ descriptor ][out]	0: no buffer starts here
 *
 *   0 -- growth --> idle -- borrow (its holder: store) -----------> out
 *                   idle <-- return (CAS: of many exactly one) ---- out
 *   0 <- release -- idle
 *
 * Any address whatever may be asked for: only the map's own memory is looked
 * at, never what the address leads to.  Leaves are never freed, so a word may
 * be read at any time, also when its arena is gone: it is then 0, or of the
 * buffer that starts there now.  A descriptor is followed only by who has just
 * moved its word from out to idle: the buffer was lent, so its arena lives.
 *
 * The version that a stack's head needs is not needed here: a CAS from out to
 * idle returns whichever loan is out now, which is what an address means.
 *
 * Order.  The borrow's store releases what it and the growth before it wrote
 * to the descriptor, the CAS of a return acquires it, whichever thread's it
 * is.  Leaves: set once by a releasing CAS, read with acquire.
 *
 * Costs: 2 MiB of address space for the root, 2 MiB for each GiB in which
 * buffers lie, of both the pages in use alone.
 *
 * Progress: wait-free, but for the CAS, which fails only if somebody else's
 * succeeds (or for nothing, on some processors).
 */
#ifndef LEND_ARENA_BUFFER_MAP_H
#define LEND_ARENA_BUFFER_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/buffer_class.h"
#include "base/assert.h"
#include "base/atomic.h"

struct buffer;

#define MAP_LEAF_BITS	18
#define MAP_ROOT_BITS	18
#define MAP_ADDRESS_BITS (BUFFER_PAGE_BITS + MAP_LEAF_BITS + MAP_ROOT_BITS)

/*
 * Of a leaf's memory; its first word has a place in its page that is not a
 * page's start: see struct lend_arena.
 */
#define MAP_LEAF_LEAD	320
#define MAP_LEAF_BYTES	((sizeof(map_word) << MAP_LEAF_BITS) + MAP_LEAF_LEAD)

#define WORD_OUT	((uint64_t)1)
#define WORD_CLASS_BITS	56

typedef _Atomic(uint64_t) map_word;

/* The steps that carry the proof; the model's mutants replace them. */
#ifndef WORD_LEND
/* Release: pairs with WORD_RETURN. */
#define WORD_LEND(word, value)	store_release(word, value)
#endif
#ifndef WORD_RETURN
/* Acquire: pairs with WORD_LEND. */
#define WORD_RETURN(word, seen, value) \
	cas_acquire_acquire(word, seen, value)
#endif

/* The word of a buffer of the class that is out. */
static inline uint64_t
word_out(const struct buffer *buffer, uint32_t class)
{
	return (uint64_t)(uintptr_t)buffer |
	       (uint64_t)class << WORD_CLASS_BITS | WORD_OUT;
}

static inline struct buffer *
word_buffer(uint64_t word)
{
	uint64_t mask = ((uint64_t)1 << WORD_CLASS_BITS) - 1 - WORD_OUT;

	return (struct buffer *)(uintptr_t)(word & mask);
}

static inline uint32_t
word_class(uint64_t word)
{
	return (uint32_t)(word >> WORD_CLASS_BITS);
}

/*
 * Moves the word from out to idle: then the buffer is the caller's, and *idle
 * is the word that it now has.  False: it was not out.
 */
static inline bool
word_return(map_word *word, uint64_t *idle)
{
	/* Relaxed: a guess, which the CAS verifies; or the word is refused. */
	uint64_t seen = load_relaxed(word);

	while (likely(seen & WORD_OUT)) {
		/* Not what the CAS has seen: that comes later. */
		*idle = seen & ~WORD_OUT;
		if (likely(WORD_RETURN(word, &seen, *idle)))
			return true;
	}
	return false;
}

#ifndef LEND_MODEL
extern _Atomic(map_word *) buffer_map__root[(size_t)1 << MAP_ROOT_BITS]
	__attribute__((visibility("hidden")));

/* The word of the page that begins at the address; null: there is none. */
static inline map_word *
map_find(const void *address)
{
	/* Its number; or more, with bits of the address that must be 0. */
	uintptr_t page = (uintptr_t)address >> BUFFER_PAGE_BITS |
			 (uintptr_t)address << (64 - BUFFER_PAGE_BITS);
	map_word *leaf;

	if (unlikely(page >> (MAP_LEAF_BITS + MAP_ROOT_BITS)))
		return NULL;
	/* Acquire: pairs with the release in map_reach. */
	leaf = load_acquire(&buffer_map__root[page >> MAP_LEAF_BITS]);
	if (unlikely(!leaf))
		return NULL;
	return &leaf[page & (((uintptr_t)1 << MAP_LEAF_BITS) - 1)];
}

/*
 * The same, making what is missing.  Null: no memory, or an address beyond
 * what is mapped.  Inside the gate.
 */
map_word *map_reach(const void *address);
#endif

#endif
