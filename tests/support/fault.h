/* SPDX-License-Identifier: MIT */
/*
 * A backend for tests: counts what passes through to the one in use, and
 * fails chosen allocations.  One at a time per process.
 *
 * Counting and failing may happen on any thread.  Install and uninstall while
 * no arena exists; what was allocated before the installation may be freed
 * after it only if the test does not look at the outstanding bytes.
 *
 * To drive a function through every failure that it can meet:
 *
 *	for (n = 1; ; n++) {
 *		fault_fail_nth(FAULT_ANY, n);
 *		err = the_function();
 *		if (fault_pending())
 *			break;		(no n-th allocation: err is 0)
 *		... err is -ENOMEM, and nothing has changed ...
 *	}
 *	fault_fail_nth(FAULT_ANY, 0);
 */
#ifndef TESTS_SUPPORT_FAULT_H
#define TESTS_SUPPORT_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#include "mem/backend.h"

/* Kinds of allocation, to be or-ed. */
enum {
	FAULT_EXTENT = 1,
	FAULT_PAGES = 2,
	FAULT_ANY = FAULT_EXTENT | FAULT_PAGES
};

struct fault_counts {
	size_t extent_allocs;	/* that succeeded, since the installation */
	size_t extent_frees;
	size_t extent_bytes;	/* outstanding */
	size_t pages_allocs;
	size_t pages_frees;
	size_t pages_bytes;
	size_t failed;		/* by us or by the backend behind */
};

/*
 * Puts the wrapper in front of lend__backend (or of `behind`, where that is
 * not null), with all counts at zero and no failure set.
 */
void fault_install(const struct backend *behind);
/* Puts back the backend that was in use before. */
void fault_uninstall(void);

/* The n-th allocation of these kinds from now fails, 1 is the next; 0: none. */
void fault_fail_nth(unsigned kinds, unsigned long n);
/* Whether that failure is still to come. */
bool fault_pending(void);
/* Every allocation of these kinds fails, until told otherwise; 0: none. */
void fault_fail_all(unsigned kinds);

/* A snapshot; exact while no other thread allocates. */
struct fault_counts fault_counts(void);

#endif
