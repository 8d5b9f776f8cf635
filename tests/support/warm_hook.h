/* SPDX-License-Identifier: MIT */
/*
 * Included before the pool's sources, which are then compiled anew: a function
 * of the test is called at each step of an operation, on its thread, looks at
 * the root can be made to believe anything, and pauses are counted.
 */
#ifndef TESTS_SUPPORT_WARM_HOOK_H
#define TESTS_SUPPORT_WARM_HOOK_H

#include <stdbool.h>

/* Set while no other thread is in the pool; null: nothing happens. */
extern void (*warm_hook)(int step);
/* A mutant: the root is never looked at again. */
extern bool warm_hook_credulous;
/* The turns for which the calling thread's operations have paused. */
extern _Thread_local unsigned warm_hook_paused;

/* A hook: lets others run at one step in six, at random. */
void warm_hook_step_aside(int step);

#define WARM_STEP(step) do { \
	if (warm_hook) \
		warm_hook(step); \
} while (0)
#define ROOT_CREDULOUS() warm_hook_credulous
#define ROOT_BACK_OFF(turns) do { \
	warm_hook_paused += (turns); \
	for (unsigned turn_ = 0; turn_ < (turns); turn_++) \
		os_cpu_relax(); \
} while (0)

#endif
