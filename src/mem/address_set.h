/* SPDX-License-Identifier: MIT */
/*
 * A set of addresses, small and rarely asked: which extents did not come from
 * the backend.  Any thread may add and remove; an address is removed by
 * whoever owns the memory there, after it was added.  Lock-free, so that a
 * fork at any moment leaves the child a set that works.
 */
#ifndef LEND_MEM_ADDRESS_SET_H
#define LEND_MEM_ADDRESS_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With the link they fill a page.  The model has fewer. */
#ifndef ADDRESSES_PER_CHUNK
#define ADDRESSES_PER_CHUNK 511
#endif

struct address_chunk {
	_Atomic(uintptr_t) slot[ADDRESSES_PER_CHUNK];	/* 0: empty */
	_Atomic(struct address_chunk *) next;		/* set once */
};

/* Starts as zeroes. */
struct address_set {
	_Atomic(size_t) count;
	struct address_chunk first;
};

/* False: no memory, *set is as before.  `p` is not null, and not in it. */
bool address_set_add(struct address_set *set, const void *p);
/* Whether `p` was in the set, which it now is not. */
bool address_set_remove(struct address_set *set, const void *p);

#endif
