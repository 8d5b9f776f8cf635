/* SPDX-License-Identifier: MIT */
/*
 * The warm pool: ready-made things, kept per id (a plan, a snapshot: any
 * string), so that a request claims one instead of waiting for its making.
 *
 * A slot is a pointer that is not null.  The pool decides how many slots an
 * id should have, and which ids may have any; the caller makes the slots and
 * tears them down:
 *
 *	claim(id)	gives a ready slot, or none
 *	begin_fill(id)	tells how many to make now ...
 *	offer(id)	... one of which is made,
 *	abandon_fill(id) ... or has failed
 *
 * At most `cap` ids are pooled at once; a further one evicts the one that was
 * begun or claimed from least recently.  Every slot that was offered is ready,
 * claimed, or handed back for teardown, always exactly one of them.
 *
 * Every function but create and destroy may be called by any thread at any
 * time (not from a signal handler), and takes effect at one moment between
 * its call and its return.  None waits for another thread, whatever that
 * thread is doing.  They return 0 or a negative errno value; after an error
 * nothing has changed, unless it says otherwise.  Everyone may fail with
 * -EINVAL for a null pointer, and with -ENOMEM: at the calling thread's first
 * call in the pool, for the first slots and ids (there may be 2^20 of each),
 * and where fills in flight of ids that left the list have to be kept.
 *
 * An id ends at its first zero byte, and may be of any length; it is copied.
 */
#ifndef LEND_WARM_H
#define LEND_WARM_H

#include <stddef.h>
#include <stdint.h>

#include <lend/visibility.h>

LEND_BEGIN_DECLS

typedef struct lend_warm_pool lend_warm_pool;

/* How many ids are pooled where the program has no wish. */
#define LEND_WARM_CAP_DEFAULT 2
/* The largest such number; an operation's cost grows with it. */
#define LEND_WARM_CAP_MAX 4096
/* How many slots an id may aim at. */
#define LEND_WARM_TARGET_MAX 1048576

/*
 * Takes a slot that is handed back: it is the caller's, to be torn down.
 * Called after the operation, on the calling thread; it may call the pool.
 * It must not throw.
 */
typedef void lend_warm_slot_fn(void *slot, void *ctx);

/*
 * Makes a pool for `cap` ids (1 .. LEND_WARM_CAP_MAX).
 * Errors: -EINVAL, -ENOMEM, -EAGAIN (no thread key to be had).
 */
LEND_API LEND_CHECKED int
lend_warm_pool_create(lend_warm_pool **pool, size_t cap);

/*
 * Frees the pool.  No other call on it may be in progress or follow, so the
 * offers of fills in flight must have come.  Null is accepted.
 * Errors: -EBUSY (slots are ready: drain them first; nothing is freed).
 */
LEND_API LEND_CHECKED int
lend_warm_pool_destroy(lend_warm_pool *pool);

/*
 * Takes the most recently offered slot of the id, which becomes the most
 * recent one; when no slot and no fill in flight is left for it, it is pooled
 * no longer.
 * Errors: -ENOENT (no slot is ready).
 */
LEND_API LEND_CHECKED int
lend_warm_pool_claim(lend_warm_pool *pool, const char *id, void **slot);

/*
 * Plans a refill of the id up to `target` slots, ready or in flight.  It is
 * pooled from now, as the most recent one.  *spawn is how many fills the
 * caller owes: it ends each of them by an offer or by abandoning it.  The
 * ready slots of the id that had to go, earliest first, go to `evicted`.
 * With a target of 0 nothing happens at all, and *spawn is 0.
 * Errors: -EOVERFLOW (target above LEND_WARM_TARGET_MAX).
 */
LEND_API LEND_CHECKED int
lend_warm_pool_begin_fill(lend_warm_pool *pool, const char *id, size_t target,
			  size_t *spawn, lend_warm_slot_fn *evicted, void *ctx);

/*
 * Ends a fill with a slot.  0: it is ready.  -ECANCELED: the id is pooled no
 * longer; the fill is accounted for, the slot is the caller's to tear down.
 * After another error, -ENOMEM, the fill is still in flight.
 */
LEND_API LEND_CHECKED int
lend_warm_pool_offer(lend_warm_pool *pool, const char *id, void *slot);

/* Ends a fill without a slot. */
LEND_API LEND_CHECKED int
lend_warm_pool_abandon_fill(lend_warm_pool *pool, const char *id);

/*
 * Has the id pooled no longer; its ready slots, earliest first, go to
 * `drained`.  Its fills in flight stay counted, and will be handed back when
 * they are offered, unless it is begun again before.
 */
LEND_API LEND_CHECKED int
lend_warm_pool_drain(lend_warm_pool *pool, const char *id,
		     lend_warm_slot_fn *drained, void *ctx);

/* The same for every id, at one moment. */
LEND_API LEND_CHECKED int
lend_warm_pool_drain_all(lend_warm_pool *pool, lend_warm_slot_fn *drained,
			 void *ctx);

/*
 * Of one id, or of all.  Ready, in flight and pooled are of one moment; the
 * counts are exact when no call is in progress.
 */
struct lend_warm_stats {
	uint64_t ready;		/* slots */
	uint64_t in_flight;	/* fills */
	uint64_t pooled;	/* ids that may have slots; of one: 0 or 1 */
	uint64_t claims;	/* that got a slot */
	uint64_t misses;	/* claims that did not */
	uint64_t evictions;	/* of ids, as others were begun */
	uint64_t rejected;	/* offers that were handed back */
	/* Ids begun again before `cap` others had left after their eviction. */
	uint64_t thrash;
	uint64_t reserved[8];	/* 0: room for counts to come */
};

/* Since the pool was made. */
LEND_API LEND_CHECKED int
lend_warm_pool_stats(lend_warm_pool *pool, struct lend_warm_stats *stats);

/*
 * Since the pool has known the id.  It knows those that are pooled or have
 * fills in flight, and the `cap` ones that left last.
 * Errors: -ENOENT (it does not know it).
 */
LEND_API LEND_CHECKED int
lend_warm_pool_id_stats(lend_warm_pool *pool, const char *id,
			struct lend_warm_stats *stats);

LEND_END_DECLS

#endif
