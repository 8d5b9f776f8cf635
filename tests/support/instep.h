/* SPDX-License-Identifier: MIT */
/*
 * Two threads in step, as a rule without sleeping: for a race that lasts a few
 * nanoseconds.  Round after round both meet and go on at once, one of them a
 * little later than in the round before, so that in the end every offset has
 * been tried.
 */
#ifndef TESTS_SUPPORT_INSTEP_H
#define TESTS_SUPPORT_INSTEP_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct instep {
	_Alignas(128) _Atomic(uint32_t) arrivals;
	/* Who sleeps, or is about to, until another one arrives. */
	_Atomic(uint32_t) sleepers;
};

/*
 * First: gives the thread with this index, 0 or 1, a processor of its own,
 * where there are two.  On one they would run in turn, and never race.
 */
void instep_begin(size_t index);
/* Meets the other thread, which calls it as often. */
void instep_meet(struct instep *step);
/* The offset of this round for the thread with this index. */
void instep_delay(size_t index, unsigned round);

#endif
