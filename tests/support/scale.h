/* SPDX-License-Identifier: MIT */
/*
 * How often a test repeats what it does: as often as it says, less often
 * where a tool makes every step many times slower, or where the environment's
 * LEND_TEST_LESS divides it by so much.
 */
#ifndef TESTS_SUPPORT_SCALE_H
#define TESTS_SUPPORT_SCALE_H

/* `n` of them, fewer under valgrind or a sanitizer; at least 1. */
unsigned scale(unsigned n);

#endif
