/* SPDX-License-Identifier: MIT */
#include "sync/barrier.h"

#include "base/assert.h"
#include "base/atomic.h"
#include "base/os.h"
#include "lend/request.h"

_Static_assert(sizeof(struct lend_barrier) == LEND_BARRIER_BYTES,
	       "the size that lend_req_bytes counts");

#define SLEEPER 1u

/*
 * About 5 us: longer than the gap between the threads of a team that all
 * run, shorter than a time slice when some do not.
 */
#define SPINS 200

struct lend_barrier *
lend_barrier_init(void *storage, size_t parties)
{
	struct lend_barrier *barrier = storage;

	if (!storage || parties == 0 || parties > UINT32_MAX)
		return NULL;
	/* Relaxed: the parties learn of it after. */
	store_relaxed(&barrier->phase, 0);
	barrier_init(barrier, (uint32_t)parties);
	return barrier;
}

size_t
lend_barrier_parties(const struct lend_barrier *barrier)
{
	return barrier->parties;
}

static bool
passed(struct lend_barrier *barrier, uint32_t meeting)
{
	/* Pairs with the release in open_barrier: all parties' writes. */
	return (load_acquire(&barrier->phase) & ~SLEEPER) != meeting;
}

static void
open_barrier(struct lend_barrier *barrier, uint32_t meeting)
{
	/* Relaxed: the exchange below publishes it. */
	store_relaxed(&barrier->arrived, 0);
	/* Release: pairs with passed(). */
	if (exchange_acq_rel(&barrier->phase, meeting + 2) & SLEEPER)
		os_futex_wake_all(&barrier->phase);
}

static void
await(struct lend_barrier *barrier, uint32_t meeting)
{
	uint32_t seen = meeting;

	for (int i = 0; i < SPINS; i++) {
		if (passed(barrier, meeting))
			return;
		os_cpu_relax();
	}
	while (!passed(barrier, meeting)) {
		seen = meeting;
		/* Relaxed: it orders nothing, passed() does. */
		if (cas_relaxed(&barrier->phase, &seen, meeting | SLEEPER) ||
		    seen == (meeting | SLEEPER))
			os_futex_wait(&barrier->phase, meeting | SLEEPER);
	}
}

bool
lend_barrier_wait(struct lend_barrier *barrier)
{
	/*
	 * Relaxed: the phase cannot move before this thread has arrived, and
	 * the last time that it moved this thread has seen, or its loan came
	 * after it.
	 */
	uint32_t meeting = load_relaxed(&barrier->phase) & ~SLEEPER;

	/*
	 * Release: this party's writes.  Acquire: the last one takes over
	 * those of all others, and hands them on by the phase.
	 */
	if (fetch_add_acq_rel(&barrier->arrived, 1) + 1 == barrier->parties) {
		open_barrier(barrier, meeting);
		return true;
	}
	await(barrier, meeting);
	return false;
}
