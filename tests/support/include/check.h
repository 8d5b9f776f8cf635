/* SPDX-License-Identifier: MIT */
/*
 * Check's own header, with assertions that cost nothing where they hold.
 *
 * Check writes the place of each assertion that holds to a file, to name the
 * last one where a test crashes: a system call or two, and most of the time of
 * a test that asserts in a loop.  Here a place is written when it is passed
 * for the first time in a process; each test is a process of its own, where a
 * crash is reported at all.
 */
#ifndef TESTS_SUPPORT_INCLUDE_CHECK_H
#define TESTS_SUPPORT_INCLUDE_CHECK_H

#include_next <check.h>

#include <stdbool.h>

/* Relaxed: a second thread that sees no mark yet writes the same place. */
static inline void
check_passed(bool *marked, const char *file, int line)
{
	if (__atomic_load_n(marked, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(marked, true, __ATOMIC_RELAXED);
	_mark_point(file, line);
}

/* What every ck_assert calls where it holds. */
#define _mark_point(file, line) __extension__ ({ \
	static bool check_marked; \
	\
	check_passed(&check_marked, file, line); \
})

#endif
