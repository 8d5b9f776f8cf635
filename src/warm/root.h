/* SPDX-License-Identifier: MIT */
/*
 * The pool's state as one value behind one word: Herlihy's construction for
 * small objects.
 *
 *   root   63                  20 19                 0
 *          [ version (44 bits)   ][ index of a buffer ]
 *                                          |
 *   buffer [ listed, known | strays | stray fills | entry ... ]
 *                               |                    |    |
 *                              trie               name   pile of nodes
 *
 *   buffer   spare -- install --> the root's    its thread owned it until then
 *            the root's -- another install --> spare of who did that
 *
 * An operation reads the root, copies the value into plain memory of its
 * thread, applies the policy's sequential code to the copy, writes the result
 * into its thread's spare buffer, and installs that by one compare-and-swap of
 * the root.  If it fails, another operation has succeeded, and it starts anew.
 * An operation that changes nothing (a claim that finds none) looks at the
 * root once more instead.
 *
 * Why it is right.  Whatever can be reached from a root (the buffer, the
 * links of piles, names, the trie) changes only after that root was replaced;
 * its memory is type-stable.  So what is read between two looks at an
 * unchanged root is the value of that root, and what is read otherwise is
 * thrown away: it may be nonsense, but it is memory, and every walk in it is
 * bounded.  The version makes "unchanged" true, as in sync/stack.h.  So each
 * operation takes effect at its successful compare-and-swap, or at its last
 * look at the root: they are linearizable, in the order of the versions.
 *
 * Order.  A buffer is written with releases and read with acquires.  Who reads
 * a word of its next life acquires, by that very word, the compare-and-swap
 * after which its writer owned it, so his look at the root shows that it has
 * moved.  (Fences would do, but tools do not see them.)  The install releases
 * the value, and all nodes that are new in it; all changes of the root are
 * read-modify-writes, so it carries on.
 *
 * A thread remembers which root its copy is of.  While the root stays that one,
 * or is the one that it has installed itself, it need not copy again.  So the
 * version must not come back to a thread that has been away for long, either:
 * 44 bits take a week of nothing but installs.
 *
 * What was replaced belongs to who replaced it, at once: nodes that it popped,
 * the path of the trie that it copied, names that nothing leads to any more.
 *
 * Progress: lock-free.  A thread that is stopped anywhere holds its spare and
 * what it has just taken, which nobody else wants.  No thread is sure to win a
 * race, and one that keeps changing the pool has the value in its cache, so it
 * wins nearly all of them.  Who has lost several in a row makes a plea, and
 * every other thread then pauses before its next operation, once for each plea
 * that it hears: long enough for a copy, and too short to be called a wait.
 *
 * The value holds at most 2 cap + 2 ids, so the cost of an operation is bounded
 * by cap, however many ids have fills in flight: those that left the list
 * long ago are in the trie (stray.h).
 */
#ifndef LEND_WARM_ROOT_H
#define LEND_WARM_ROOT_H

#include <stdbool.h>
#include <string.h>

#include "base/assert.h"
#include "base/os.h"
#include "warm/pool.h"

/* Tests stop a thread here, or let others run. */
#ifndef WARM_STEP
#define WARM_STEP(step) ((void)0)
#endif
enum warm_step {
	WARM_BEGUN, WARM_READ, WARM_CHANGED, WARM_WRITTEN, WARM_INSTALLED
};

/* The explorer's mutants take it away. */
#ifndef ROOT_VERSION_BITS
#define ROOT_VERSION_BITS 44
#endif
#define ROOT_INDEX_BITS REGISTRY_INDEX_BITS

/* A mutant believes that nothing has moved. */
#ifndef ROOT_CREDULOUS
#define ROOT_CREDULOUS() false
#endif

/* After a lost race: lets the winner go on, waits for nobody. */
#ifndef ROOT_BACK_OFF
#define ROOT_BACK_OFF(turns) do { \
	for (unsigned turn_ = 0; turn_ < (turns); turn_++) \
		os_cpu_relax(); \
} while (0)
#endif
#define ROOT_BACK_OFF_LEAST 16u
/* So many lost races in a row, and then a plea. */
#define ROOT_PATIENCE 3
/* How long everyone else steps back for it: a copy of a value and more. */
#define ROOT_STEP_BACK 128u

#define ROOT_HEADER 3		/* words before the entries */
#define ROOT_ENTRY 5		/* words of one */

/* One attempt of one operation. */
struct attempt {
	lend_warm_pool *pool;
	struct stock_thread *thread;
	uint64_t root;		/* the one that was read */
	unsigned lost;		/* races */
	struct name_key key;	/* what the operation is about */
};

/* No root: the first one has the version 1. */
#define ROOT_NONE 0

static inline uint32_t
root_index(uint64_t root)
{
	return (uint32_t)(root & (((uint64_t)1 << ROOT_INDEX_BITS) - 1));
}

static inline uint64_t
root_next(uint64_t root, uint32_t index)
{
	uint64_t version = (root >> ROOT_INDEX_BITS) + 1;

	version &= ((uint64_t)1 << ROOT_VERSION_BITS) - 1;
	return version << ROOT_INDEX_BITS | index;
}

/*
 * Entries field by field: a copy in whole words would read what was just
 * written in halves, which processors are slow at.
 */
static inline void
root_read_entry(struct policy_entry *entry, const _Atomic(uint64_t) *word)
{
	uint64_t counts;

	/* Acquires: see "Order" above. */
	entry->id = (void *)(uintptr_t)load_acquire(&word[0]);
	entry->mark = load_acquire(&word[1]);
	entry->top = (void *)(uintptr_t)load_acquire(&word[2]);
	counts = load_acquire(&word[3]);
	entry->ready = (uint32_t)counts;
	entry->in_flight = (uint32_t)(counts >> 33);
	entry->evicted = counts >> 32 & 1;
	entry->claims = load_acquire(&word[4]);
}

static inline void
root_write_entry(_Atomic(uint64_t) *word, const struct policy_entry *entry)
{
	/* Releases: see "Order" above. */
	store_release(&word[0], (uintptr_t)entry->id);
	store_release(&word[1], entry->mark);
	store_release(&word[2], (uintptr_t)entry->top);
	store_release(&word[3], entry->ready |
				(uint64_t)entry->evicted << 32 |
				(uint64_t)entry->in_flight << 33);
	store_release(&word[4], entry->claims);
}

/* Whether the root is still the one that was read. */
static inline bool
root_stands(const struct attempt *attempt)
{
	/*
	 * Relaxed: the acquires of what was read before keep it behind them;
	 * it publishes nothing.
	 */
	return load_relaxed(&attempt->pool->root) == attempt->root ||
	       ROOT_CREDULOUS();
}

/* Copies the value of the root that was read. */
static inline void
root_copy(struct attempt *attempt)
{
	struct stock *stock = &attempt->pool->stock;
	struct value *value = attempt->thread->value;
	const _Atomic(uint64_t) *word = stock_words(stock,
						    root_index(attempt->root));
	uint64_t ids;

	/* Acquires: see "Order" above. */
	ids = load_acquire(&word[0]);
	value->policy.cap = stock->cap;
	value->policy.listed = (uint32_t)ids;
	value->policy.known = (uint32_t)(ids >> 32);
	value->strays = (struct stray *)(uintptr_t)load_acquire(&word[1]);
	value->stray_fills = load_acquire(&word[2]);
	word += ROOT_HEADER;
	for (uint32_t i = 0; i < value->policy.known; i++)
		root_read_entry(&value->policy.entry[i],
				&word[i * ROOT_ENTRY]);
}

/* Has the thread's copy be the root's value; false: it has moved meanwhile. */
static inline bool
root_read(struct attempt *attempt)
{
	struct stock_thread *thread = attempt->thread;

	/* Acquire: pairs with the release in root_install. */
	attempt->root = load_acquire(&attempt->pool->root);
	WARM_STEP(WARM_BEGUN);
	if (thread->copy_of == attempt->root)
		return true;
	thread->copy_of = ROOT_NONE;
	root_copy(attempt);
	WARM_STEP(WARM_READ);
	if (!root_stands(attempt))
		return false;
	thread->copy_of = attempt->root;
	return true;
}

/* Makes the copy, as it is now, the pool's value; false: the root has moved. */
static inline bool
root_install(struct attempt *attempt)
{
	struct stock_thread *thread = attempt->thread;
	const struct value *value = thread->value;
	_Atomic(uint64_t) *word = stock_words(&attempt->pool->stock,
					      thread->spare);
	uint64_t seen = attempt->root;

	WARM_STEP(WARM_CHANGED);
	/* A stale copy may hold a name twice: it is not going to be installed. */
	lend_debug_check(policy_holds(&value->policy) || ROOT_CREDULOUS() ||
			 !root_stands(attempt));
	/* It has changed. */
	thread->copy_of = ROOT_NONE;
	/* Releases: see "Order" above. */
	store_release(&word[0], value->policy.listed |
				(uint64_t)value->policy.known << 32);
	store_release(&word[1], (uintptr_t)value->strays);
	store_release(&word[2], value->stray_fills);
	word += ROOT_HEADER;
	for (uint32_t i = 0; i < value->policy.known; i++)
		root_write_entry(&word[i * ROOT_ENTRY],
				 &value->policy.entry[i]);
	WARM_STEP(WARM_WRITTEN);
	/*
	 * Release: pairs with the acquire in root_read, publishes the value.
	 * Acquire: what is popped is ours, with all that its owner wrote.
	 */
	while (!cas_acq_rel_relaxed(&attempt->pool->root, &seen,
				    root_next(seen, thread->spare)))
		/* A weak one may fail for nothing. */
		if (seen != attempt->root)
			return false;
	thread->copy_of = root_next(attempt->root, thread->spare);
	thread->spare = root_index(attempt->root);
	WARM_STEP(WARM_INSTALLED);
	return true;
}

/* Before an operation: lets those go first who have asked for it. */
static inline void
root_step_back(lend_warm_pool *pool, struct stock_thread *thread)
{
	/* Relaxed, here and below: it only tells when to be slow. */
	uint64_t pleas = load_relaxed(&pool->pleas);

	if (likely(pleas == thread->pleas_heard))
		return;
	thread->pleas_heard = pleas;
	ROOT_BACK_OFF(ROOT_STEP_BACK);
}

static inline void
root_plead(lend_warm_pool *pool, struct stock_thread *thread)
{
	uint64_t before = fetch_add_relaxed(&pool->pleas, 1);

	/* Its own is not for itself to hear; but others' are. */
	if (thread->pleas_heard == before)
		thread->pleas_heard = before + 1;
}

static inline void
root_lost(struct attempt *attempt)
{
	unsigned lost = ++attempt->lost % ROOT_PATIENCE;

	if (lost)
		ROOT_BACK_OFF(ROOT_BACK_OFF_LEAST << lost);
	else
		root_plead(attempt->pool, attempt->thread);
}

#endif
