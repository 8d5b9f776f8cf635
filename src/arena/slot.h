/* SPDX-License-Identifier: MIT */
/*
 * The slot protocol: how a worker slot's buffers are lent while a trimmer
 * may come at any time, at the price of two plain stores.
 *
 * Who writes what
 *
 *   busy      the owner alone: 1 while its loan is out
 *   trimmers  (of the arena) how many trimmers are about
 *   bufs      the idle buffers; null: a trimmer took them, or a loan has
 *             taken them by exchange
 *   bytes     the account: the capacity of the slot's buffers
 *
 *   owner, checkout                        trimmer
 *   1 busy = 1              (plain)        a trimmers += 1
 *   2 compiler barrier                     b membarrier (every thread passes
 *   3 trimmers == 0 ?                        a full barrier)
 *     yes: fast, read bufs                 c busy ? leave it alone
 *     no:  slow, bufs <- null by exchange  d b = bufs <- null by exchange
 *          null: begin anew, empty         e bytes -= b's; release b's
 *   owner, return                            storage; b is spare
 *   4 fast: bytes = new, if it grew        f trimmers -= 1   (release)
 *     slow: bytes += growth
 *   5 bufs = b, where it is not there      (release)
 *   6 busy = 0                             (release)
 *
 * Why it is right.
 *
 * Two never use the same buffers.  If both go by exchange (slow), one of them
 * gets null.  If the owner is fast, it read trimmers == 0 at 3.  Either its 1
 * was before the trimmer's b, then c sees it and leaves the slot alone.  Or
 * its 1, hence its 3, came after b, hence after a: it cannot have read 0 from
 * before a, so it read a 0 that some f wrote after a, when that trimmer was
 * done.  The barrier between 1 and 3 is paid by the trimmer, in b, for every
 * thread; the owner must only keep the compiler from swapping them.
 *
 * Order.  6 (release) and c (acquire): what the loan wrote to the buffers and
 * the account is seen by the trimmer that frees them.  f (release) and 3
 * (acquire): what the trimmer did to the account is seen by the next fast
 * loan, which stores it plainly.  5 (release) and d (acquire) do for slow
 * loans what 6 and c do for fast ones.  Without release at 6 the machine
 * model (not TSO) lets the growth appear after the slot was taken.
 *
 * The account never goes below zero: 4 comes before 5, so buffers that can be
 * taken are in the account.  A fast loan may store it plainly, as nobody else
 * writes it then: a trimmer that took buffers before has passed f.
 *
 * The loan is returned the way it was checked out, since what it must do at 5
 * depends on whether bufs still holds its buffers.
 *
 * Where membarrier is refused, trimmers never falls to 0: all go by exchange,
 * and the trimmer skips b.
 *
 * Progress: wait-free for the owner and for a trimmer.
 */
#ifndef LEND_ARENA_SLOT_H
#define LEND_ARENA_SLOT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/bufs.h"
#include "arena/loan.h"
#include "base/assert.h"
#include "base/atomic.h"
#include "base/util.h"
#include "sync/registry.h"

/*
 * What the return of the loan has to do beyond taking the mark away; the
 * owner's alone.  Without a flag the buffers have stayed in place, and `lent`
 * says nothing.
 */
#define SLOT_SLOW	2u	/* bufs was taken by exchange: put back */
#define SLOT_FRESH	4u	/* fast, but bufs was null: put */
#define SLOT_GROWN	8u	/* the scratch grew: settle the account */
#define SLOT_POISON	16u	/* to be poisoned, if that is on */

struct slot {
	struct loan loan;		/* flags: SLOT_*, 0 when idle */
	_Atomic(struct bufs *) bufs;	/* atomic */
	_Atomic(size_t) bytes;		/* atomic */
	/* Below: the owner's alone, while there is one. */
	struct bufs *lent;		/* with a flag: buffers of the loan */
	uint32_t nested;		/* private loans of the thread here */
	struct slot *cache;		/* of buffers, or null: buffer_cache.h */
	_Alignas(FALSE_SHARING) char end[];
};

/* The steps that carry the proof; the model's mutants replace them. */
#ifndef SLOT_MARK_BUSY
#define SLOT_MARK_BUSY(slot) do { \
	/* Relaxed: the trimmer's membarrier makes it seen. */ \
	store_relaxed(&(slot)->loan.busy, 1); \
	compiler_barrier(); \
} while (0)
#endif
#ifndef SLOT_TRIMMERS
/* Acquire: pairs with the release in slot_trim_end. */
#define SLOT_TRIMMERS(trimmers)		load_acquire(trimmers)
#endif
#ifndef SLOT_UNBUSY
/* Release: pairs with the acquire in slot_reclaim. */
#define SLOT_UNBUSY(slot)	store_release(&(slot)->loan.busy, 0)
#endif
#ifndef SLOT_MEMBARRIER
#include "base/os.h"
#define SLOT_MEMBARRIER()		os_membarrier()
#endif

/* Owner, loan out: its buffers. */
static inline struct bufs *
slot_lent(struct slot *slot)
{
	/* Relaxed: in place they are the owner's while it is busy. */
	return slot->loan.flags ? slot->lent : load_relaxed(&slot->bufs);
}

/*
 * Owner: marks the slot busy and looks whether a trimmer is about.  True: the
 * loan is fast, and what is in place is its own.  False: it takes them.
 */
static inline bool
slot_begin(struct slot *slot, _Atomic(uint32_t) *trimmers)
{
	SLOT_MARK_BUSY(slot);
	return likely(SLOT_TRIMMERS(trimmers) == 0);
}

/* Owner, fast: its idle buffers; null: none. */
static inline struct bufs *
slot_in_place(struct slot *slot)
{
	/* Relaxed: ours since the last return, or see SLOT_TRIMMERS. */
	return load_relaxed(&slot->bufs);
}

/* Owner, slow: the same, taken away. */
static inline struct bufs *
slot_take(struct slot *slot)
{
	slot->loan.flags = SLOT_SLOW;
	/* Acquire: pairs with the release of a return in slow form. */
	return exchange_acquire(&slot->bufs, NULL);
}

/*
 * Owner: the three in one.  Null: the loan begins anew with buffers of its
 * choice.  Unless it uses those that are in place as they are, the caller says
 * what it has by slot_lend().
 */
static inline struct bufs *
slot_checkout(struct slot *slot, _Atomic(uint32_t) *trimmers)
{
	return slot_begin(slot, trimmers) ? slot_in_place(slot) :
	       slot_take(slot);
}

/* Owner, loan out: it has these buffers, and a return that does `flags`. */
static inline void
slot_lend(struct slot *slot, struct bufs *bufs, uint32_t flags)
{
	slot->loan.flags |= flags;
	slot->lent = bufs;
}

/* Owner, loan out: the account follows from `before` to `after` bytes. */
static inline void
slot_settle(struct slot *slot, size_t before, size_t after)
{
	size_t was;

	if (after == before)
		return;
	if (!(slot->loan.flags & SLOT_SLOW)) {
		lend_debug_check(load_relaxed(&slot->bytes) == before);
		/* Relaxed: nobody else writes it; see the head comment. */
		store_relaxed(&slot->bytes, after);
		return;
	}
	/*
	 * Relaxed: published by the put that follows.  A trimmer may be about
	 * to subtract the buffers that it has taken: read-modify-write.  A
	 * negative change wraps through the sum, never the account itself.
	 */
	was = fetch_add_relaxed(&slot->bytes, after - before);
	lend_check(was >= before);
}

/*
 * Owner: puts the buffers back where they are not there, and unmarks the
 * slot.  `bufs` may be null when there are none.  The account is settled.
 */
static inline void
slot_return(struct slot *slot, struct bufs *bufs)
{
	if (unlikely(slot->loan.flags)) {
		slot->loan.flags = 0;
		/* Release: pairs with the exchange in slot_reclaim. */
		store_release(&slot->bufs, bufs);
	}
	SLOT_UNBUSY(slot);
}

/*
 * Trimmer: announces itself.  `fast` tells whether owners go by plain stores.
 * Returns false when the system refused the barrier: then nothing may be
 * reclaimed.
 */
static inline bool
slot_trim_begin(_Atomic(uint32_t) *trimmers, bool fast)
{
	/* Relaxed: the membarrier orders it before everything that follows. */
	fetch_add_relaxed(trimmers, 1);
	return !fast || SLOT_MEMBARRIER();
}

/* Trimmer: takes the idle buffers of a slot; null: lent, or none. */
static inline struct bufs *
slot_reclaim(struct slot *slot)
{
	struct bufs *bufs;
	size_t bytes, was;

	/* Acquire: pairs with SLOT_UNBUSY, the last loan's writes. */
	if (load_acquire(&slot->loan.busy))
		return NULL;
	/* Acquire: pairs with the release in slot_return. */
	bufs = exchange_acquire(&slot->bufs, NULL);
	if (!bufs)
		return NULL;
	bytes = bufs_bytes(bufs);
	/* Relaxed: slot_trim_end publishes it. */
	was = fetch_sub_relaxed(&slot->bytes, bytes);
	lend_check(was >= bytes);
	return bufs;
}

/* Trimmer: is done with all slots. */
static inline void
slot_trim_end(_Atomic(uint32_t) *trimmers)
{
	/* Release: pairs with SLOT_TRIMMERS. */
	uint32_t was = fetch_sub_release(trimmers, 1);

	lend_check(was > 0);
}

#endif
