/* SPDX-License-Identifier: MIT */
#include "mem/backend.h"

#include <errno.h>
#include <string.h>

/* Until backend_init() has chosen, the one that is always there. */
const struct backend *lend__backend = &lend__backend_mmap;

/* In order of preference; the last one never fails its probe for good. */
static const struct backend *const backends[] = {
#ifdef LEND_HAVE_JEMALLOC
	&lend__backend_jemalloc,
#endif
	&lend__backend_mmap,
};

#define BACKENDS (sizeof backends / sizeof backends[0])

/* Whether an extent can be had and given back. */
static bool
probe(const struct backend *backend)
{
	size_t size = backend->extent_size(1);
	void *p = size ? backend->extent_alloc(size) : NULL;

	if (p)
		backend->extent_free(p, size);
	return p != NULL;
}

int
backend_init(const char *name)
{
	int err = name ? -EINVAL : -ENOMEM;
	size_t i;

	for (i = 0; i < BACKENDS; i++) {
		if (name && strcmp(name, backends[i]->name))
			continue;
		if (probe(backends[i])) {
			lend__backend = backends[i];
			return 0;
		}
		err = -ENOMEM;
	}
	return err;
}

void *
pages_alloc(size_t size)
{
	return lend__backend->pages_alloc(size);
}

void
pages_free(void *p, size_t size)
{
	lend__backend->pages_free(p, size);
}
