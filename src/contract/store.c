/* SPDX-License-Identifier: MIT */
#include "contract/store.h"

#include <stdalign.h>
#include <stdlib.h>

#include "base/util.h"

#define ALIGN alignof(max_align_t)
#define CHUNK ((size_t)16 << 10)

struct store_chunk {
	struct store_chunk *next;
	alignas(max_align_t) char bytes[];
};

void *
store_get(struct store *store, size_t count, size_t size)
{
	size_t bytes, room;
	void *piece;

	if (__builtin_mul_overflow(count, size, &bytes) ||
	    bytes > SIZE_MAX / 4)
		return NULL;
	bytes = round_up(size_max(bytes, 1), ALIGN);
	if (bytes > store->left) {
		struct store_chunk *chunk;

		room = size_max(bytes, CHUNK);
		chunk = calloc(1, sizeof(*chunk) + room);
		if (!chunk)
			return NULL;
		chunk->next = store->chunks;
		store->chunks = chunk;
		store->next = chunk->bytes;
		store->left = room;
	}
	piece = store->next;
	store->next += bytes;
	store->left -= bytes;
	return piece;
}

void
store_free(struct store *store)
{
	while (store->chunks) {
		struct store_chunk *chunk = store->chunks;

		store->chunks = chunk->next;
		free(chunk);
	}
	*store = (struct store){ 0 };
}
