/* SPDX-License-Identifier: MIT */
/*
 * Marks in memory: who wrote it, whether all of it is still so, whether any
 * of it has come elsewhere.  Sizes are multiples of 8, addresses aligned.
 */
#ifndef TESTS_SUPPORT_PATTERN_H
#define TESTS_SUPPORT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fills the range with words that tell the seed and their place. */
void pattern_write(void *p, size_t bytes, uint64_t seed);
/* Whether the range holds just that. */
bool pattern_holds(const void *p, size_t bytes, uint64_t seed);

/* Fills the range with one word. */
void pattern_stain(void *p, size_t bytes, uint64_t word);
/* How often the word occurs in the range, which need not be initialised. */
size_t pattern_count(const void *p, size_t bytes, uint64_t word);

#endif
