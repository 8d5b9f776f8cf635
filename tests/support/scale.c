/* SPDX-License-Identifier: MIT */
#include "support/scale.h"

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
	unsigned less = n / (RUNNING_ON_VALGRIND ? 32 : SLOWER);

	return less ? less : 1;
}
