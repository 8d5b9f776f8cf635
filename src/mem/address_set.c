/* SPDX-License-Identifier: MIT */
/*
 * Slots in a list of chunks that only grows:
 *
 *   first: | p | 0 | q | 0 ... | next --> | 0 | r | 0 ... | next --> null
 *
 *   slot   0 --add(p): CAS--> p --remove(p): store, p's owner alone--> 0
 *   next   null --add: CAS--> a zeroed chunk, for ever
 *
 * Every operation on a slot is relaxed, as a slot publishes nothing but the
 * address itself.  remove(p) cannot miss p: p came to its caller from the
 * caller of add(p), so that the CAS happened before, and from then on nobody
 * else changes that slot.  Nor can it hit a wrong one: p is in the set at
 * most once, as memory has one owner.  For the same reasons `count` is at
 * least 1 for whoever owns an address of the set.
 *
 * add() is lock-free, remove() wait-free.  Both look at every slot in the
 * worst case, 0.2 us per chunk, beside a system call each.
 */
#include "mem/address_set.h"

#include "base/assert.h"
#include "base/atomic.h"
#include "base/os.h"
#include "mem/backend.h"

#ifndef LEND_MODEL
_Static_assert(sizeof(struct address_chunk) == LEND_PAGE,
	       "a chunk is one page");
#endif

/* The chunk after this one, a new one where there is none; null: no memory. */
static struct address_chunk *
next_or_new(struct address_chunk *chunk)
{
	struct address_chunk *next, *fresh;

	/* Pairs with the release below: the chunk's zeroes. */
	next = load_acquire(&chunk->next);
	if (next)
		return next;
	fresh = pages_alloc(sizeof *fresh);
	if (!fresh)
		return NULL;
	/*
	 * Release: pairs with the acquire loads here and in remove().  The
	 * loop is for a weak CAS that failed without a reason.
	 */
	while (!cas_release_relaxed(&chunk->next, &next, fresh)) {
		if (next) {
			pages_free(fresh, sizeof *fresh);
			/* Acquire: as above. */
			return load_acquire(&chunk->next);
		}
	}
	return fresh;
}

static bool
chunk_add(struct address_chunk *chunk, uintptr_t address)
{
	uintptr_t empty;
	size_t i;

	for (i = 0; i < ADDRESSES_PER_CHUNK; i++) {
		/* Relaxed: stale, it costs one slot or one failed CAS. */
		empty = load_relaxed(&chunk->slot[i]);
		/* Relaxed: see above; a spurious failure skips one slot. */
		if (empty == 0 &&
		    cas_relaxed(&chunk->slot[i], &empty, address))
			return true;
	}
	return false;
}

bool
address_set_add(struct address_set *set, const void *p)
{
	struct address_chunk *chunk = &set->first;

	/* Relaxed: whoever is given p sees it counted, see above. */
	fetch_add_relaxed(&set->count, 1);
	while (!chunk_add(chunk, (uintptr_t)p)) {
		chunk = next_or_new(chunk);
		if (!chunk) {
			/* Relaxed: nobody relied on it. */
			fetch_sub_relaxed(&set->count, 1);
			return false;
		}
	}
	return true;
}

bool
address_set_remove(struct address_set *set, const void *p)
{
	struct address_chunk *chunk = &set->first;
	size_t i;

	/* Relaxed: for an owner of an address in the set it is not 0. */
	if (likely(load_relaxed(&set->count) == 0))
		return false;
	do {
		for (i = 0; i < ADDRESSES_PER_CHUNK; i++) {
			/* Relaxed: see above. */
			if (load_relaxed(&chunk->slot[i]) != (uintptr_t)p)
				continue;
			store_relaxed(&chunk->slot[i], 0);
			/* Relaxed: stale, it costs a search. */
			fetch_sub_relaxed(&set->count, 1);
			return true;
		}
		/* Pairs with the release in next_or_new(). */
		chunk = load_acquire(&chunk->next);
	} while (chunk);
	return false;
}
