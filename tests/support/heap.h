/* SPDX-License-Identifier: MIT */
/*
 * This program's malloc and its kin, counted and made to fail.  For the
 * programs that name heap.c among their sources: it replaces the functions.
 * Under a sanitizer, which replaces them as well, all is zero and nothing
 * fails.
 */
#ifndef TESTS_SUPPORT_HEAP_H
#define TESTS_SUPPORT_HEAP_H

#include <stdbool.h>

/* Whether calls are counted at all. */
bool heap_counts(void);

/* Calls so far, by all threads, free included. */
unsigned long heap_calls(void);
/* Allocations so far that were not freed. */
unsigned long heap_outstanding(void);

/* The calling thread's n-th allocation from now fails; 0: none. */
void heap_fail_nth(unsigned long n);
/* Whether that failure is still to come. */
bool heap_pending(void);

#endif
