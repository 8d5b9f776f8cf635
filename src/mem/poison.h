/* SPDX-License-Identifier: MIT */
/*
 * Tells AddressSanitizer and valgrind what is lent and what lies idle, so
 * that they report a use after the return.  They do not see it themselves:
 * for them a retained buffer is a mapping like any other.
 */
#ifndef LEND_MEM_POISON_H
#define LEND_MEM_POISON_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether such a tool watches the process.  Set once by poison_init(), before
 * the first arena; callers on a hot path look before they call.
 */
extern bool lend__poison __attribute__((visibility("hidden")));

void poison_init(void);

/* From here on nobody may touch the range; page-aligned, whole pages. */
void poison_idle(void *p, size_t size);
/* The range may be used; what it holds is undefined. */
void poison_lent(void *p, size_t size);

#endif
