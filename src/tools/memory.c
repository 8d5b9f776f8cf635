/* SPDX-License-Identifier: MIT */
#include "tools/memory.h"

#include <sys/mman.h>

void *
memory_map(size_t bytes)
{
	void *memory = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	/* Advice: small pages do as well. */
	madvise(memory, bytes, MADV_HUGEPAGE);
	return memory;
}

void
memory_unmap(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes ? bytes : 1);
}
