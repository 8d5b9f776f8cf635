/* SPDX-License-Identifier: MIT */
/*
 * Numbers that look random and are the same in every run.  Each thread has a
 * state of its own, started with any number.
 */
#ifndef TESTS_SUPPORT_RANDOM_H
#define TESTS_SUPPORT_RANDOM_H

#include <stddef.h>
#include <stdint.h>

/* Weyl's sequence, its bits mixed. */
static inline uint64_t
random_next(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

/* 0 .. n - 1, for a small n. */
static inline unsigned
random_below(uint64_t *state, unsigned n)
{
	return (unsigned)(random_next(state) >> 32) % n;
}

/* 0 in one case of four, else up to `most`, every magnitude alike. */
static inline size_t
random_size(uint64_t *state, size_t most)
{
	size_t size = most >> random_below(state, 8);

	if (random_below(state, 4) == 0)
		return 0;
	return size - random_next(state) % (size / 2 + 1);
}

#endif
