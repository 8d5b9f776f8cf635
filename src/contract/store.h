/* SPDX-License-Identifier: MIT */
/*
 * Many small things that live and die together: pieces of a few chunks.
 * For one thread; a store of zeroes is empty.
 */
#ifndef LEND_CONTRACT_STORE_H
#define LEND_CONTRACT_STORE_H

#include <stddef.h>

struct store {
	struct store_chunk *chunks;	/* the first one has the room */
	char *next;
	size_t left;
};

/*
 * `count` things of `size` bytes, zeroed and aligned for any type.  Null: no
 * memory, or a product that overflows.  A count of 0 gives some address.
 */
void *store_get(struct store *store, size_t count, size_t size);

/* All of it; the store is empty again. */
void store_free(struct store *store);

#endif
