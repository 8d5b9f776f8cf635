/* SPDX-License-Identifier: MIT */
#include "mem/extent.h"

#include "base/assert.h"
#include "base/os.h"
#include "mem/address_set.h"
#include "mem/backend.h"
#include "mem/poison.h"

/*
 * Which extents came from the reserved huge pages: nothing in an extent can
 * tell, and the arena that asked for it may be gone.
 */
static struct address_set from_hugetlb;

size_t
extent_size(size_t bytes)
{
	return bytes ? lend__backend->extent_size(bytes) : 0;
}

static void *
hugetlb_alloc(size_t size)
{
	void *p;

	/* The backend's rounding, if any, is kept: the size is known by it. */
	if (size & (LEND_HUGE_PAGE - 1))
		return NULL;
	p = os_map_hugetlb(size);
	if (p && !address_set_add(&from_hugetlb, p)) {
		os_unmap(p, size);
		return NULL;
	}
	return p;
}

void *
extent_alloc(size_t size, bool hugetlb)
{
	void *p = hugetlb ? hugetlb_alloc(size) : NULL;

	return p ? p : lend__backend->extent_alloc(size);
}

void
extent_free(void *p, size_t size)
{
	if (unlikely(lend__poison))
		poison_lent(p, size);
	/* Removed first: once unmapped, the address may come again. */
	if (address_set_remove(&from_hugetlb, p))
		os_unmap(p, size);
	else
		lend__backend->extent_free(p, size);
}
