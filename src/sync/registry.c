/* SPDX-License-Identifier: MIT */
#include "sync/registry.h"

#include <errno.h>

#include "base/assert.h"
#include "base/os.h"
#include "mem/backend.h"

static size_t
chunk_bytes(const struct registry *registry, uint32_t c)
{
	return (((size_t)registry->object_bytes << registry->shift) << c) +
	       registry->lead;
}

static void
chunk_free(const struct registry *registry, uint32_t c, char *chunk)
{
	pages_free(chunk - registry->lead, chunk_bytes(registry, c));
}

void
registry_init(struct registry *registry, size_t object_bytes, size_t lead)
{
	size_t objects = LEND_PAGE / object_bytes;

	lend_check((object_bytes & (object_bytes - 1)) == 0 && objects >= 16);
	registry->object_bytes = (uint32_t)object_bytes;
	registry->shift = (uint32_t)__builtin_ctzl(objects);
	registry->lead = (uint32_t)lead;
	/* Relaxed: nobody knows the registry yet. */
	store_relaxed(&registry->count, 0);
	for (uint32_t c = 0; c < REGISTRY_CHUNKS; c++)
		store_relaxed(&registry->chunk[c], NULL);
}

void
registry_fini(struct registry *registry)
{
	for (uint32_t c = 0; c < REGISTRY_CHUNKS; c++) {
		/* Relaxed: the caller is alone. */
		char *chunk = load_relaxed(&registry->chunk[c]);

		if (chunk)
			chunk_free(registry, c, chunk);
		store_relaxed(&registry->chunk[c], NULL);
	}
	store_relaxed(&registry->count, 0);
}

/* Makes sure that the chunk of `index` is there. */
static int
chunk_ensure(struct registry *registry, uint32_t index)
{
	uint32_t place = index + (1u << registry->shift);
	uint32_t c = 31 - (uint32_t)__builtin_clz(place) - registry->shift;
	char *chunk, *none = NULL;

	lend_check(c < REGISTRY_CHUNKS);
	/* Pairs with the release below. */
	if (load_acquire(&registry->chunk[c]))
		return 0;
	chunk = pages_alloc(chunk_bytes(registry, c));
	if (!chunk)
		return -ENOMEM;
	chunk += registry->lead;
	/*
	 * Release publishes the zeroes; pairs with registry_at.  A weak CAS
	 * may fail for nothing: only a chunk seen there is another's.
	 */
	while (!cas_acq_rel_relaxed(&registry->chunk[c], &none, chunk)) {
		if (none) {
			chunk_free(registry, c, chunk);
			return 0;
		}
	}
	return 0;
}

int
registry_add(struct registry *registry, struct node **node)
{
	/* Relaxed: the CAS decides; the chunk is looked up on its own. */
	uint32_t index = load_relaxed(&registry->count);
	int error;

	do {
		if (index >= REGISTRY_MAX)
			return -EAGAIN;
		error = chunk_ensure(registry, index);
		if (error)
			return error;
		/* Release: pairs with registry_count, publishes the chunk. */
	} while (!cas_release_relaxed(&registry->count, &index, index + 1));
	*node = registry_at(registry, index);
	(*node)->index = index;
	return 0;
}
