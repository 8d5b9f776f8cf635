/* SPDX-License-Identifier: MIT */
/*
 * Where storage comes from: a table of functions, so that jemalloc, plain
 * mmap and the tests' fault injection stand behind one door.
 *
 *   extents      page buffers: large, kept, huge pages where possible
 *   bookkeeping  small zeroed pages for descriptors and tables, from mmap:
 *                never mixed with extents, which would break huge pages
 *
 * What is given back never reaches another owner with its bytes: an extent
 * is purged when it is released.
 */
#ifndef LEND_MEM_BACKEND_H
#define LEND_MEM_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

struct backend {
	const char *name;
	/*
	 * The size that an extent of at least `bytes` (> 0) really has, a
	 * multiple of LEND_PAGE; 0 when no extent can be so large.
	 */
	size_t (*extent_size)(size_t bytes);
	/*
	 * A page-aligned extent near the calling thread; `size` is a result
	 * of extent_size.  Not zeroed in any sense a caller may use.  Null:
	 * no memory.
	 */
	void *(*extent_alloc)(size_t size);
	/* Purges and releases it, with the same size. */
	void (*extent_free)(void *p, size_t size);
	/* Zeroed pages for bookkeeping; any size.  Null: no memory. */
	void *(*pages_alloc)(size_t size);
	void (*pages_free)(void *p, size_t size);
};

/* The plain mmap backend: always there. */
extern const struct backend lend__backend_mmap;
#ifdef LEND_HAVE_JEMALLOC
/* Extents from jemalloc, over our huge-page hooks (mem/jemalloc.c). */
extern const struct backend lend__backend_jemalloc;
#endif

/*
 * The backend in use.  Set once by backend_init() before the first arena;
 * tests put a wrapper in its place while no arena exists.
 */
extern const struct backend *lend__backend;

/*
 * Chooses the backend by name, or the best one for null.  Errors: -EINVAL
 * (no such backend in this build), -ENOMEM.
 */
int backend_init(const char *name);

/* `size` zeroed bytes for bookkeeping through the backend in use, or null. */
void *pages_alloc(size_t size);
void pages_free(void *p, size_t size);

#endif
