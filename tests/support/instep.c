/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* cpu_set_t */
#endif

#include "support/instep.h"

#include <sched.h>

#include "base/os.h"

/* After so many steps of a spin the other one is thought not to run. */
#define PATIENCE 200
/* Offsets of so many steps, in either direction. */
#define OFFSETS 24

void
instep_begin(size_t index)
{
	cpu_set_t all, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(all), &all))
		return;
	/* The first one that we may use, and the second one. */
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || index-- > 0)
			continue;
		CPU_SET(cpu, &one);
		(void)sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

void
instep_meet(struct instep *step)
{
	unsigned arrived = atomic_fetch_add(&step->arrivals, 1) + 1;
	/* Of this meeting: the first one's number is odd. */
	unsigned both = arrived + arrived % 2;

	for (unsigned spins = 1; atomic_load(&step->arrivals) < both; spins++)
		if (spins % PATIENCE == 0)
			sched_yield();
}

void
instep_delay(size_t index, unsigned round)
{
	unsigned offset = round / 2 % OFFSETS;

	if (index == round % 2)
		while (offset-- > 0)
			os_cpu_relax();
}
