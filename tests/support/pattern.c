/* SPDX-License-Identifier: MIT */
#include "support/pattern.h"

#ifdef HAVE_VALGRIND_H
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_DEFINED(p, size) ((void)(p), (void)(size))
#endif

static uint64_t
word_at(size_t i, uint64_t seed)
{
	return (seed + i) * UINT64_C(0x9e3779b97f4a7c15) ^ seed;
}

void
pattern_write(void *p, size_t bytes, uint64_t seed)
{
	uint64_t *word = p;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		word[i] = word_at(i, seed);
}

bool
pattern_holds(const void *p, size_t bytes, uint64_t seed)
{
	const uint64_t *word = p;

	for (size_t i = 0; i < bytes / sizeof(*word); i++)
		if (word[i] != word_at(i, seed))
			return false;
	return true;
}

void
pattern_stain(void *p, size_t bytes, uint64_t word)
{
	uint64_t *to = p;

	for (size_t i = 0; i < bytes / sizeof(*to); i++)
		to[i] = word;
}

size_t
pattern_count(const void *p, size_t bytes, uint64_t word)
{
	const uint64_t *from = p;
	size_t n = 0;

	if (bytes)
		VALGRIND_MAKE_MEM_DEFINED(p, bytes);
	for (size_t i = 0; i < bytes / sizeof(*from); i++)
		n += from[i] == word;
	return n;
}
