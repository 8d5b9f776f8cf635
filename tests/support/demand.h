/* SPDX-License-Identifier: MIT */
/*
 * Assertions of a child process, which has no runner that would hear of a
 * failed one: it is written to standard error, and the child ends with 1.
 */
#ifndef TESTS_SUPPORT_DEMAND_H
#define TESTS_SUPPORT_DEMAND_H

#include <stdio.h>
#include <unistd.h>

#define demand(condition) \
	((condition) ? (void)0 : demand_failed(__FILE__, __LINE__, #condition))

static inline _Noreturn void
demand_failed(const char *file, int line, const char *condition)
{
	dprintf(STDERR_FILENO, "%s:%d: in process %d: %s\n", file, line,
		(int)getpid(), condition);
	_exit(1);
}

#endif
