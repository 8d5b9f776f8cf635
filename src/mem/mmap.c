/* SPDX-License-Identifier: MIT */
/*
 * The plain backend: every extent is a mapping of its own.  What is given
 * back leaves the process, so isolation and accounts are the kernel's.
 */
#include "mem/backend.h"

#include "base/os.h"
#include "base/util.h"

static size_t
mmap_extent_size(size_t bytes)
{
	size_t size = round_up(bytes, LEND_PAGE);

	return size <= PTRDIFF_MAX ? size : 0;
}

static void *
mmap_extent_alloc(size_t size)
{
	void *p;

	if (size < LEND_HUGE_PAGE)
		return os_map(size);
	p = os_map_aligned(size, LEND_HUGE_PAGE);
	if (p)
		os_advise_huge(p, size);
	return p;
}

/* What pages_alloc(size) maps: at least one page, 0 on overflow. */
static size_t
whole_pages(size_t size)
{
	return round_up(size_max(size, 1), LEND_PAGE);
}

static void *
mmap_pages_alloc(size_t size)
{
	size_t whole = whole_pages(size);

	return whole ? os_map(whole) : NULL;
}

static void
mmap_pages_free(void *p, size_t size)
{
	os_unmap(p, whole_pages(size));
}

const struct backend lend__backend_mmap = {
	.name = "mmap",
	.extent_size = mmap_extent_size,
	.extent_alloc = mmap_extent_alloc,
	.extent_free = os_unmap,
	.pages_alloc = mmap_pages_alloc,
	.pages_free = mmap_pages_free,
};
