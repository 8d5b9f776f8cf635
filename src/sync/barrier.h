/* SPDX-License-Identifier: MIT */
/*
 * A barrier of a team, one cache line each.
 *
 *   phase  31                 1 0
 *          [ count of meetings ][ somebody sleeps ]
 *
 *   arrive, not last   spin a little while the phase stands, then set the
 *                      bit (CAS) and sleep on the word
 *   arrive, last       arrived = 0, phase to the next meeting with the bit
 *                      cleared, in one exchange; wake if the bit was set
 *
 * The bit lives in the word that is slept on, so a wake-up cannot be lost:
 * either the sleeper's CAS finds the old phase, and the last one's exchange
 * sees the bit, or it finds the new one and does not sleep.  `arrived` is
 * reset before the phase moves, so whoever leaves may arrive again at once.
 * The phase wraps after 2^31 meetings, which no waiter sleeps through.
 */
#ifndef LEND_SYNC_BARRIER_H
#define LEND_SYNC_BARRIER_H

#include <stddef.h>
#include <stdint.h>

#include <lend/team.h>

#include "base/atomic.h"

struct lend_barrier {
	_Alignas(64) uint32_t parties;	/* constant while the loan is out */
	_Atomic(uint32_t) arrived;
	_Atomic(uint32_t) phase;
};

/*
 * A barrier that was zero at first, for a new team.  Nobody may arrive
 * meanwhile; a party of the last team may still be leaving, so the phase goes
 * on from where it is.
 */
static inline void
barrier_init(struct lend_barrier *barrier, uint32_t parties)
{
	barrier->parties = parties;
	/* Relaxed: the team learns of it with its lease. */
	store_relaxed(&barrier->arrived, 0);
}

#endif
