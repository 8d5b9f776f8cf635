/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stddef.h>
#include <stdint.h>

#include "support/random.h"

void (*warm_hook)(int step);
bool warm_hook_credulous;
_Thread_local unsigned warm_hook_paused;

void
warm_hook_step_aside(int step)
{
	static _Thread_local uint64_t dice;

	(void)step;
	if (dice == 0)
		dice = (uint64_t)(uintptr_t)&dice;
	if (random_below(&dice, 6) == 0)
		sched_yield();
}
