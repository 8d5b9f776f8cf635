/* SPDX-License-Identifier: MIT */
/* The sizes of the machine's caches, asked of the system once. */
#ifndef LEND_CONTRACT_CACHES_H
#define LEND_CONTRACT_CACHES_H

#include <stddef.h>

/* In bytes, as one thread sees them; common sizes where nobody knows. */
struct caches {
	size_t l1, l2, l3;
};

const struct caches *caches(void);

#endif
