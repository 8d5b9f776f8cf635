/* SPDX-License-Identifier: MIT */
/*
 * Loan numbers: which loan of an arena a handle stands for.
 *
 *   63            22 21     2  1        0
 *   [ count (42)   ][ index  ][ private ][ out ]
 *
 * Each slot, private loan and team set counts its loans in a number of its
 * own, which names it by index: of all handles ever given out by one arena no
 * two are equal until a count wraps (2^42 loans of one slot).
 */
#ifndef LEND_ARENA_NUMBER_H
#define LEND_ARENA_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "sync/registry.h"

#define NUMBER_OUT	((uint64_t)1)	/* the loan is out */
#define NUMBER_PRIVATE	((uint64_t)2)	/* a re-entrant worker loan */
#define NUMBER_SHIFT	2
#define NUMBER_STRIDE	((uint64_t)1 << (NUMBER_SHIFT + REGISTRY_INDEX_BITS))

static inline uint64_t
number_first(uint32_t index)
{
	return (uint64_t)index << NUMBER_SHIFT;
}

static inline bool
number_is_out(uint64_t number)
{
	return number & NUMBER_OUT;
}

static inline uint32_t
number_index(uint64_t number)
{
	return (uint32_t)(number >> NUMBER_SHIFT) & (REGISTRY_MAX - 1);
}

/* The number of the object's next loan, which is out. */
static inline uint64_t
number_next(uint64_t number)
{
	return (number | NUMBER_OUT) + NUMBER_STRIDE;
}

/* The number of the object after the loan `number` was returned. */
static inline uint64_t
number_after(uint64_t number)
{
	return (number & ~NUMBER_OUT) + NUMBER_STRIDE;
}

#endif
