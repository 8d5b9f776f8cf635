/* SPDX-License-Identifier: MIT */
/*
 * Included before the pool's sources, which are then compiled anew: a function
 * of the test is called at each step of an operation, on its thread, and looks
 * at the root can be made to believe anything.
 */
#ifndef TESTS_SUPPORT_WARM_HOOK_H
#define TESTS_SUPPORT_WARM_HOOK_H

#include <stdbool.h>

/* Set while no other thread is in the pool; null: nothing happens. */
extern void (*warm_hook)(int step);
/* A mutant: the root is never looked at again. */
extern bool warm_hook_credulous;

#define WARM_STEP(step) do { \
	if (warm_hook) \
		warm_hook(step); \
} while (0)
#define ROOT_CREDULOUS() warm_hook_credulous

#endif
