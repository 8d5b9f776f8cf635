/* SPDX-License-Identifier: MIT */
/* Memory for whole tensors: from the system, in huge pages if it can be. */
#ifndef LEND_TOOLS_MEMORY_H
#define LEND_TOOLS_MEMORY_H

#include <stddef.h>

/*
 * Zeroes, at a page's beginning; of 0 bytes too, and null when there is no
 * memory.
 */
void *memory_map(size_t bytes);
/* Null is accepted. */
void memory_unmap(void *memory, size_t bytes);

#endif
