/* SPDX-License-Identifier: MIT */
/*
 * The warmer: a warm pool with threads that keep it filled.
 *
 *	request		claim(id) ------------> a slot, or none: make it cold
 *	  ...uses it, successfully...
 *			refill(id) -----------> returns at once
 *
 *	warmer's thread	begin_fill, prepare() ... offer, or abandon
 *
 * There are never more prepares under way than are planned: `target` slots an
 * id, ready or in flight, however many ask.  An id whose prepare fails is left
 * alone for a while, longer each time.  A prepare that takes longer than the
 * deadline is given up: its fill is abandoned then, and what it returns in the
 * end is torn down.
 *
 * Every function may be called by any thread at any time (not from a signal
 * handler or a callback of the same warmer).  A claim waits for no other
 * thread; the others take a lock for a short time.  The threads are started at
 * the first refill, with all signals blocked but those of their own faults,
 * and are named "lend-warmer".  A child of fork(2) has none of them: it must
 * leave the warmer alone.
 */
#ifndef LEND_WARMER_H
#define LEND_WARMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/visibility.h>
#include <lend/warm.h>

LEND_BEGIN_DECLS

typedef struct lend_warmer lend_warmer;

#define LEND_WARMER_THREADS_MAX 64

/* Start from LEND_WARMER_OPTIONS_INIT, and set prepare and destroy. */
struct lend_warmer_options {
	size_t size;	/* sizeof this struct, as the caller was compiled */
	size_t cap;	/* ids that are pooled at once */
	size_t target;	/* slots an id should have */
	size_t threads;	/* prepares at once, at most; 1 .. 64 */
	uint64_t deadline_ms;	/* of one prepare; 0: none */
	/*
	 * After the first failure an id is left alone for about so long, after
	 * each further one twice as long, up to backoff_most_ms.  The time is
	 * shortened at random by up to a half.
	 */
	uint64_t backoff_ms;
	uint64_t backoff_most_ms;
	/*
	 * Makes a slot of the id, on a thread of the warmer.  Returns 0 and
	 * writes what is not null to *slot, or returns a negative errno value.
	 */
	int (*prepare)(const char *id, void **slot, void *ctx);
	/* Tears a slot down, on any thread that calls the warmer. */
	void (*destroy)(void *slot, void *ctx);
	/* Whether a slot still serves; asked at each claim.  Null: all do. */
	bool (*alive)(void *slot, void *ctx);
	void *ctx;
};

#define LEND_WARMER_OPTIONS_INIT { \
	sizeof(struct lend_warmer_options), LEND_WARM_CAP_DEFAULT, 1, 2, \
	60000, 100, 30000, NULL, NULL, NULL, NULL }

/*
 * Makes a warmer; no thread is started yet.
 * Errors: -EINVAL (null, a count of 0 or too large, a missing callback, a size
 * that is not this struct's), -ENOMEM, -EAGAIN.
 */
LEND_API LEND_CHECKED int
lend_warmer_create(lend_warmer **warmer,
		   const struct lend_warmer_options *options);

/*
 * Ends the warmer: nothing new is begun, ready slots are torn down, prepares
 * under way are waited for, up to `patience_ms`, and torn down.  Null is
 * accepted.  No other call on it may be in progress or follow, but this one
 * again.  Once every prepare has come back it succeeds, and needs no memory
 * for that; it waits for slots that are being torn down, however long that
 * takes.
 * Errors: -EBUSY (a prepare has not come back in time: call again; all else
 * has been done, no slot is ready and no fill in flight any more), -ENOMEM
 * (the same, but slots may be ready or fills in flight, for want of memory to
 * take them out of the pool).
 */
LEND_API LEND_CHECKED int
lend_warmer_destroy(lend_warmer *warmer, uint64_t patience_ms);

/*
 * Claims a slot of the id that is alive; it is the caller's now.  Those that
 * are found dead are torn down, on the calling thread.
 * Errors: -EINVAL, -ENOENT (none is ready), -ENOMEM.
 */
LEND_API LEND_CHECKED int
lend_warmer_claim(lend_warmer *warmer, const char *id, void **slot);

/*
 * Has the id filled up, in the background: to be called after a successful
 * use.  While the id is left alone after a failure, nothing happens.
 * Errors: -EINVAL, -ENOMEM, -EAGAIN (no thread could be started),
 * -ESHUTDOWN (the warmer is ending).
 */
LEND_API LEND_CHECKED int
lend_warmer_refill(lend_warmer *warmer, const char *id);

/*
 * Tears down the ready slots of the id, or of all for null, on the calling
 * thread; the id is pooled no longer.
 * Errors: -EINVAL, -ENOMEM.
 */
LEND_API LEND_CHECKED int
lend_warmer_drain(lend_warmer *warmer, const char *id);

struct lend_warmer_stats {
	struct lend_warm_stats pool;
	uint64_t prepared;	/* prepares that gave a slot */
	uint64_t failed;	/* that gave none */
	uint64_t late;		/* that were given up at the deadline */
	uint64_t held_off;	/* refills of ids that were left alone */
	uint64_t dead;		/* slots found dead at a claim */
	uint64_t destroyed;	/* slots torn down, by the warmer */
	uint64_t preparing;	/* prepares under way, late ones too */
	uint64_t threads;	/* that have been started */
	uint64_t reserved[8];	/* 0: room for counts to come */
};

/* Errors: -EINVAL, -ENOMEM. */
LEND_API LEND_CHECKED int
lend_warmer_stats(lend_warmer *warmer, struct lend_warmer_stats *stats);

/* The pool that it fills, for statistics of an id. */
LEND_API lend_warm_pool *
lend_warmer_pool(lend_warmer *warmer);

LEND_END_DECLS

#endif
