/* SPDX-License-Identifier: MIT */
/*
 * Whether memory stays flat while something is repeated.  All of it asserts.
 */
#ifndef TESTS_SUPPORT_FLAT_H
#define TESTS_SUPPORT_FLAT_H

#include <pthread.h>
#include <stddef.h>

/*
 * How much the process may gain in between, under no tool: 13 bytes for each
 * of 20,000 threads; and in memory two huge pages more, which the system may
 * put in the place of small ones at any time.
 */
#define FLAT_MAPPED ((size_t)256 << 10)
#define FLAT_RESIDENT (FLAT_MAPPED + ((size_t)4 << 20))

struct flat {
	size_t extents, pages;	/* outstanding; in a watched_case() */
	size_t mapped, resident;
};

/* After a warm-up, so that what is kept for the next time is there. */
void flat_begin(struct flat *flat);
/* What the library holds is the same, and the process has not grown. */
void flat_end(const struct flat *flat);

/*
 * A thread with a stack too small for huge pages, whose coming and going
 * would be seen in the process's memory.
 */
pthread_t flat_thread(void *(*fn)(void *arg), void *arg);

#endif
