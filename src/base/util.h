/* SPDX-License-Identifier: MIT */
/* Sizes: rounding and sums that cannot wrap unseen. */
#ifndef LEND_BASE_UTIL_H
#define LEND_BASE_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_LINE 64
/* Two lines: the prefetcher of some processors fetches them as a pair. */
#define FALSE_SHARING 128

/* `size` rounded up to a multiple of `unit`, a power of two; 0 on overflow. */
static inline size_t
round_up(size_t size, size_t unit)
{
	size_t sum;

	if (__builtin_add_overflow(size, unit - 1, &sum))
		return 0;
	return sum & ~(unit - 1);
}

/* The least power of two that is at least `size`; 0 on overflow. */
static inline size_t
round_up_power(size_t size)
{
	if (size <= 1)
		return 1;
	if (size > SIZE_MAX / 2 + 1)
		return 0;
	return (size_t)1 << (64 - __builtin_clzll(size - 1));
}

/* The quotient, rounded up; b is not 0. */
static inline size_t
ceil_div(size_t a, size_t b)
{
	return a / b + (a % b != 0);
}

static inline size_t
size_min(size_t a, size_t b)
{
	return a < b ? a : b;
}

static inline size_t
size_max(size_t a, size_t b)
{
	return a > b ? a : b;
}

#endif
