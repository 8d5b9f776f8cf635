/* SPDX-License-Identifier: MIT */
/*
 * A registry: type-stable objects, found by index, never moved or freed
 * before the registry itself.
 *
 *   chunk[0]  [0 .. n)            n objects, one page or a little more
 *   chunk[1]  [n .. 3n)           twice as many
 *   chunk[2]  [3n .. 7n)          ...
 *
 * Type-stable memory is what lets a lock-free stack read the link of a node
 * that another thread has just popped, and a walker (statistics, trim) go
 * through all objects while others are added.  An object of zero bytes must
 * be a valid idle one: a walker may meet it before its maker has touched it.
 *
 * registry_add: any thread, lock-free.  registry_at: any thread, wait-free,
 * for an index below a count that it has seen.
 */
#ifndef LEND_SYNC_REGISTRY_H
#define LEND_SYNC_REGISTRY_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"

#define REGISTRY_INDEX_BITS 20
#define REGISTRY_MAX ((uint32_t)1 << REGISTRY_INDEX_BITS)
#define REGISTRY_CHUNKS 18

/* What every object begins with. */
struct node {
	_Atomic(uint32_t) next;	/* link of the stack that it is on */
	uint32_t index;		/* its own; written by registry_add alone */
};

struct registry {
	uint32_t object_bytes;	/* constant */
	uint32_t shift;		/* constant: log2 of the first chunk's objects */
	uint32_t lead;		/* constant: bytes before a chunk's first */
	_Atomic(uint32_t) count; /* only grows */
	_Atomic(char *) chunk[REGISTRY_CHUNKS]; /* set once each */
};

/*
 * `object_bytes` is a power of two, 256 or less.  `lead`, a multiple of it
 * below a page, shifts the objects within their pages: a processor takes a
 * load for dependent on an earlier store when the two addresses agree in
 * their last 12 bits, so objects that are used together in a hurry should not
 * all begin at the start of a page.
 */
void registry_init(struct registry *registry, size_t object_bytes,
		   size_t lead);
/* Frees all objects.  The caller is alone. */
void registry_fini(struct registry *registry);

/*
 * Adds one object, all zero but for its index, and writes it to *node.
 * Errors: -ENOMEM, -EAGAIN (REGISTRY_MAX objects).
 */
int registry_add(struct registry *registry, struct node **node);

/* How many objects there are: each index below is valid. */
static inline uint32_t
registry_count(const struct registry *registry)
{
	/* Pairs with the release in registry_add: the chunk is there. */
	return load_acquire(&registry->count);
}

static inline void *
registry_at(const struct registry *registry, uint32_t index)
{
	uint32_t first = 1u << registry->shift, place, top;
	char *chunk;

	/* Most arenas need no second chunk: spare them the logarithm. */
	if (__builtin_expect(index < first, 1)) {
		/* Pairs with the release that set the chunk; so below. */
		chunk = load_acquire(&registry->chunk[0]);
		return chunk + (size_t)index * registry->object_bytes;
	}
	place = index + first;
	top = 31 - (uint32_t)__builtin_clz(place);
	chunk = load_acquire(&registry->chunk[top - registry->shift]);
	return chunk + (size_t)(place - (1u << top)) * registry->object_bytes;
}

#endif
