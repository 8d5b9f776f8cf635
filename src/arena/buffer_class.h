/* SPDX-License-Identifier: MIT */
/*
 * Size classes of buffers, in pages:
 *
 *   class   0 1 2 3   4 5 6 7   8  9 10 11   12 13 14 15   ...
 *   pages   1 2 3 4   5 6 7 8  10 12 14 16   20 24 28 32   ...
 *
 * From four pages on there are four to a doubling, so a class is less than a
 * quarter larger than what it is the class of.
 */
#ifndef LEND_ARENA_BUFFER_CLASS_H
#define LEND_ARENA_BUFFER_CLASS_H

#include <stdint.h>
#include <stddef.h>

#define BUFFER_PAGE_BITS	12
#define BUFFER_CLASSES		136u
/* The largest class's bytes; no address space has room for more. */
#define BUFFER_BYTES_MAX	((size_t)1 << 47)

/* The class of a size from 1 to BUFFER_BYTES_MAX. */
static inline uint32_t
buffer_class(size_t bytes)
{
	size_t last = (bytes - 1) >> BUFFER_PAGE_BITS;
	uint32_t shift;

	if (last < 4)
		return (uint32_t)last;
	/* Its three leading bits, 4 to 7, and how many follow. */
	shift = (63 ^ (uint32_t)__builtin_clzll(last)) - 2;
	return shift * 4 + (uint32_t)(last >> shift);
}

/* The size that a class stands for. */
static inline size_t
buffer_class_bytes(uint32_t class)
{
	size_t pages = class + 1;

	if (class >= 4)
		pages = (size_t)(class % 4 + 5) << (class / 4 - 1);
	return pages << BUFFER_PAGE_BITS;
}

/*
 * The last class that may serve a request of so many bytes: its own, or a
 * larger one of which at most a quarter of the request is wasted.
 */
static inline uint32_t
buffer_class_last(size_t bytes)
{
	uint32_t class = buffer_class(bytes);

	while (class + 1 < BUFFER_CLASSES &&
	       buffer_class_bytes(class + 1) <= bytes + bytes / 4)
		class++;
	return class;
}

#endif
