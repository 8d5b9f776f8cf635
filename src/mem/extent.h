/* SPDX-License-Identifier: MIT */
/*
 * Extents as the arena asks for them: from the reserved huge pages where that
 * is wished and possible, else from the backend.  Any thread.
 */
#ifndef LEND_MEM_EXTENT_H
#define LEND_MEM_EXTENT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The size that an extent of at least `bytes` really has, a multiple of
 * LEND_PAGE; 0 when no extent can be so large, or for 0 bytes.
 */
size_t extent_size(size_t bytes);

/*
 * A page-aligned extent near the calling thread; `size` is a result of
 * extent_size().  Its content is undefined, but never another owner's.
 * Null: no memory.
 */
void *extent_alloc(size_t size, bool hugetlb);

/*
 * Purges and releases it, with the same size, wherever it came from.  It may
 * still be poisoned.
 */
void extent_free(void *p, size_t size);

#endif
