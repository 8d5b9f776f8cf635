/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* cpu_set_t */
#endif

#include "support/instep.h"

#include <sched.h>

#include "base/os.h"

/* After so many steps of a spin the other one is thought not to run. */
#define PATIENCE 2000
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

/*
 * Who comes first sleeps if the other one does not run: yielding, it would
 * wait for its turn after everybody else's on a busy machine, each round.
 *
 * All of it is sequentially consistent: either who arrives sees that somebody
 * may sleep, or that one sees, before it does, that somebody has arrived.  A
 * count, since each adds and takes away its own: who was held up on its way to
 * sleep writes over nothing that the other one, by then at the next meeting,
 * has announced.
 */
void
instep_meet(struct instep *step)
{
	uint32_t seen = atomic_fetch_add(&step->arrivals, 1) + 1;
	/* Of this meeting: the first one's number is odd. */
	uint32_t both = seen + seen % 2;

	if (atomic_load(&step->sleepers) > 0)
		os_futex_wake_all(&step->arrivals);
	for (unsigned spins = 1; seen < both; spins++) {
		if (spins % PATIENCE == 0) {
			atomic_fetch_add(&step->sleepers, 1);
			os_futex_wait(&step->arrivals, seen);
			atomic_fetch_sub(&step->sleepers, 1);
		}
		seen = atomic_load(&step->arrivals);
	}
}

void
instep_delay(size_t index, unsigned round)
{
	unsigned offset = round / 2 % OFFSETS;

	if (index == round % 2)
		while (offset-- > 0)
			os_cpu_relax();
}
