/* SPDX-License-Identifier: MIT */
#include "arena/buffer_map.h"

#include "mem/backend.h"

_Atomic(map_word *) buffer_map__root[(size_t)1 << MAP_ROOT_BITS];

/* Makes the leaf behind this place of the root. */
static bool
leaf_make(_Atomic(map_word *) *place)
{
	map_word *leaf = pages_alloc(MAP_LEAF_BYTES), *none = NULL;

	if (!leaf)
		return false;
	leaf += MAP_LEAF_LEAD / sizeof(*leaf);
	/*
	 * Release: pairs with map_find, publishes the zeroes.  The loop is for
	 * a weak CAS that failed for nothing.
	 */
	while (!cas_release_relaxed(place, &none, leaf)) {
		if (none) {
			pages_free(leaf, MAP_LEAF_BYTES);
			return true;
		}
	}
	return true;
}

map_word *
map_reach(const void *address)
{
	uintptr_t at = (uintptr_t)address >> (BUFFER_PAGE_BITS + MAP_LEAF_BITS);
	map_word *word = map_find(address);

	if (word || at >> MAP_ROOT_BITS || !leaf_make(&buffer_map__root[at]))
		return word;
	return map_find(address);
}
