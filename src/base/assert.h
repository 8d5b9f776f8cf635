/* SPDX-License-Identifier: MIT */
/*
 * Two tiers of assertion.
 *
 * lend_check: in every build, for what would corrupt memory or accounts.  It
 * stops the program with a message: a count that wrapped is worse.
 * lend_debug_check: with --enable-debug alone, for what costs.
 *
 * Running out of memory is never asserted: it is a return value.
 */
#ifndef LEND_BASE_ASSERT_H
#define LEND_BASE_ASSERT_H

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

_Noreturn void lend__check_failed(const char *file, int line,
				  const char *what);

#ifdef LEND_MODEL
#include "model_atomic.h"
#define lend_check(x)	MODEL_ASSERT(x)
#else
#define lend_check(x) \
	(likely(x) ? (void)0 : lend__check_failed(__FILE__, __LINE__, #x))
#endif

#ifdef LEND_DEBUG
#define lend_debug_check(x)	lend_check(x)
#else
#define lend_debug_check(x)	((void)sizeof(!(x)))
#endif

#endif
