/* SPDX-License-Identifier: MIT */
#include "mem/poison.h"

#ifdef HAVE_VALGRIND_H
#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_MAKE_MEM_NOACCESS(p, size) ((void)(p), (void)(size))
#define VALGRIND_MAKE_MEM_UNDEFINED(p, size) ((void)(p), (void)(size))
#endif

/*
 * There at run time when any part of the program, not necessarily this one,
 * was built with AddressSanitizer; else null.
 */
#define WEAK __attribute__((weak, visibility("default")))
WEAK void __asan_poison_memory_region(const volatile void *p, size_t size);
WEAK void __asan_unpoison_memory_region(const volatile void *p, size_t size);

bool lend__poison;

static bool
under_asan(void)
{
	return __asan_poison_memory_region && __asan_unpoison_memory_region;
}

void
poison_init(void)
{
	lend__poison = under_asan() || RUNNING_ON_VALGRIND;
}

void
poison_idle(void *p, size_t size)
{
	if (under_asan())
		__asan_poison_memory_region(p, size);
	VALGRIND_MAKE_MEM_NOACCESS(p, size);
}

void
poison_lent(void *p, size_t size)
{
	if (under_asan())
		__asan_unpoison_memory_region(p, size);
	VALGRIND_MAKE_MEM_UNDEFINED(p, size);
}
