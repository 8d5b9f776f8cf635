/* SPDX-License-Identifier: MIT */
/*
 * The warmer as its files see it.
 *
 * A fill ends exactly once.  Its hand (a thread of the warmer) and the keeper
 * decide under the lock whose it is: the hand's, which comes back and clears
 * `preparing`, or the keeper's, which finds the deadline over and sets `late`
 * first.  Who has it offers or abandons it, without the lock.  (The end of the
 * warmer is a keeper, too.)
 *
 *	          +-----------------------------------------------+
 *	          v                comes back                     |
 *	hand    idle --> preparing ----------> bringing in -------+
 *	         ^ |         | deadline, end     ends the fill    |
 *	         | v         v     comes back                     |
 *	       planning    late -------------> tearing down ------+
 *
 *	away	= preparing + late, those in the caller's prepare()
 *	on_time	= preparing + bringing in
 *	late	= late + tearing down
 *
 * The end has every hand go that is or comes to be idle.  It waits for those
 * that are not away, as long as they take, and for those that are as long as
 * the caller has patience; then it makes them late.  Once
 * gone + away == hands, those that are left will tear down, and nothing else.
 *
 * The lock is held for short: never while a callback runs, a thread is
 * started, or the pool is called.  So no lock is ever waited for in a claim.
 *
 * Fills cannot always be abandoned without memory.  Hands and keeper wait for
 * it, until the warmer ends: then they leave the fill to who ends it, as one
 * that is pending.
 *
 * A task that somebody works on has `users`, and stays.
 */
#ifndef LEND_WARM_WARMER_H
#define LEND_WARM_WARMER_H

#include <lend/warmer.h>

#include <pthread.h>

#include "base/atomic.h"
#include "warm/task.h"

/* Hands that are late do not count, up to as many again. */
#define HANDS_MAX (2 * LEND_WARMER_THREADS_MAX)

struct hand {
	lend_warmer *warmer;	/* constant */
	pthread_t thread;	/* written before it is started */
	struct task *task;	/* while preparing; guarded by lock, as below */
	bool preparing, late;
	uint64_t deadline;	/* ns; UINT64_MAX: none */
};

struct lend_warmer {
	struct lend_warmer_options options;	/* constant */
	lend_warm_pool *pool;			/* constant */
	_Atomic(uint64_t) dead, destroyed;	/* counts: any thread */
	pthread_mutex_t start_lock;	/* held by who starts threads; first */
	bool keeper_started;		/* stored under both locks */
	pthread_t keeper;
	pthread_mutex_t lock;		/* guards all that follows */
	pthread_cond_t work;		/* hands sleep here */
	pthread_cond_t time;		/* the keeper */
	pthread_cond_t quiet;		/* who ends the warmer */
	struct task_list tasks;
	struct task_policy policy;
	size_t hands;			/* started; stored under both locks */
	size_t gone;			/* of them, that have ended */
	size_t away, on_time, late;	/* see above */
	bool ending;
	uint64_t prepared, failed, given_up, held_off;
	struct hand hand[HANDS_MAX];
};

/* Starts what is missing.  Errors: -EAGAIN (not one hand is there). */
int warmer_start(lend_warmer *warmer);

/* lend_warm_slot_fn: tears the slot down.  `ctx` is the warmer. */
void warmer_tear_down(void *slot, void *ctx);

/*
 * Those fills of the task end without a slot that are pending, and so many
 * more that hands have taken.  What there is no memory for is waited for, or,
 * if the warmer is ending, pending.  The lock is held, and let go in between.
 */
void warmer_abandon(lend_warmer *warmer, struct task *task, size_t taken);

/*
 * Gives up the fills of hands that prepare beyond `now`.  The lock is held,
 * and let go in between.
 */
void warmer_give_up(lend_warmer *warmer, uint64_t now);

/* A moment of CLOCK_MONOTONIC, for pthread_cond_timedwait(). */
struct timespec warmer_moment(uint64_t ns);

#endif
