/* SPDX-License-Identifier: MIT */
#include "support/scale.h"

#include <stdlib.h>

#ifdef HAVE_VALGRIND_H
#include <valgrind/valgrind.h>
#else
#define RUNNING_ON_VALGRIND 0
#endif

#if defined(LEND_TSAN)
#define SLOWER 8
#elif defined(LEND_ASAN)
#define SLOWER 2
#else
#define SLOWER 1
#endif

unsigned
scale(unsigned n)
{
	const char *wish = getenv("LEND_TEST_LESS");
	long divisor = wish ? strtol(wish, NULL, 10) : 1;
	unsigned less = n / (RUNNING_ON_VALGRIND ? 32 : SLOWER);

	if (divisor > 1 && divisor <= 1000)
		less /= (unsigned)divisor;
	return less ? less : 1;
}
