/* SPDX-License-Identifier: MIT */
/*
 * Who gets the idle workers of a pool: plain sequential code.
 *
 * There are two kinds of work, each a record on the stack of its caller:
 *
 *   gang   a broadcast.  Gangs queue first come, first served; when as many
 *          workers are idle as the head wants, it gets them all at once.  A
 *          team goes with its caller in the place of a worker if it can go at
 *          once; otherwise it is a gang like any other: workers that are busy
 *          go from one work to the next without a sleep, and a caller would
 *          have to be woken.
 *   offer  a fork that would like helpers.  It gets idle workers one by one,
 *          but none while a gang waits: those are being saved for its head.
 *          Its caller works meanwhile, and withdraws what is left of the
 *          offer when it has nothing more to do.
 *
 * A pool has `width` seats; who works for it takes one, be it a worker or a
 * team's caller, its guest.  So no more threads work at once than it is wide,
 * however many call.  (A fork's caller takes none: it does what it would do
 * alone.)
 *
 * Equations, true before and after every function here:
 *
 *   (1) idle = number of bits in idle_map, idle + busy <= width,
 *       busy + guests <= width
 *   (2) a gang waits                      =>  its head cannot go: idle or
 *       the free seats < what it wants
 *   (3) no gang waits and an offer waits  =>  idle = 0 or no seat is free
 *
 * What could break (2) or (3) is a worker that becomes idle, a guest that
 * leaves or a work that is queued: all end with a round of giving, which
 * restores them.  So nothing waits that could run.
 *
 * No starvation.  Of gangs: no later gang and no offer takes an idle worker
 * while the head waits, and what was running when it became the head is
 * finite.  Of forks: their callers run every job that no helper took, so an
 * endless stream of broadcasts can cost a fork its helpers, not its progress.
 *
 * The caller of every function holds the pool's lock, which guards every
 * field that is not marked constant.
 */
#ifndef LEND_EXEC_DISPATCH_H
#define LEND_EXEC_DISPATCH_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lend/exec.h"

struct work {
	TAILQ_ENTRY(work) link;	/* in a queue while wanted > 0 */
	lend_exec_fn *fn;	/* constant, as is ctx */
	void *ctx;
	size_t wanted;		/* workers still to come */
	size_t index;		/* what the next one gets */
	bool seated;		/* its caller is a guest */
	size_t running;		/* workers that have it */
	pthread_cond_t ended;	/* its caller sleeps here, nobody else */
};

TAILQ_HEAD(work_queue, work);

struct worker {
	struct lend_pool *pool;	/* constant once it is started */
	pthread_t thread;	/* the same */
	struct work *work;	/* null while idle */
	size_t index;		/* its part of the work */
	pthread_cond_t wake;	/* it sleeps here, nobody else */
};

struct dispatch {
	size_t width;		/* constant, as are the pointers */
	struct worker *workers;	/* width of them */
	uint64_t *idle_map;	/* one bit per worker */
	size_t idle;
	size_t busy;		/* workers that have a work */
	size_t guests;		/* callers that have a seat */
	struct work_queue gangs;
	struct work_queue offers;
};

/* How many words the map of so many workers has. */
size_t dispatch_map_words(size_t width);

/* Nobody idle, nothing queued.  width, workers and idle_map are set. */
void dispatch_reset(struct dispatch *dispatch);

/* The worker has nothing to do.  It may have a new work at the return. */
void dispatch_idle(struct dispatch *dispatch, struct worker *worker);

/* Queues the work; wanted > 0. */
void dispatch_gang(struct dispatch *dispatch, struct work *gang);
void dispatch_offer(struct dispatch *dispatch, struct work *offer);

/*
 * Has the gang go, its caller as number 0, if it can go at once; wanted > 0.
 * False: nothing has changed.
 */
bool dispatch_team(struct dispatch *dispatch, struct work *gang);

/* The team's caller has done its part: its seat is free. */
void dispatch_leave(struct dispatch *dispatch, struct work *gang);

/* What the offer has not been given yet, it will not be. */
void dispatch_withdraw(struct dispatch *dispatch, struct work *offer);

/* Whether the equations hold. */
bool dispatch_sound(const struct dispatch *dispatch);

#endif
