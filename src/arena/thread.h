/* SPDX-License-Identifier: MIT */
/*
 * A thread's table: its slot in each arena, found in O(1).
 *
 *   thread-local            table
 *   [ table, length ] --->  [ key | slot ]   place 0
 *                           [ key | slot ]   place 1: arena with index 1
 *                           ...
 *
 * An entry is believed when its key is the arena's: keys are never used
 * again, so an entry that outlived its arena is recognised.  The thread-local
 * part is two words, and the credit of sync/cells.h, in the initial-exec
 * model: one addition to find, and little enough for the space that the loader
 * keeps for libraries opened at run time.
 *
 * When the thread ends, a key destructor hands its slots back to the arenas
 * that still live, and marks the thread as over.  What runs later still (the
 * destructors of others) is served by private loans, so that the table and
 * the thread's RCU record are not made anew at every round.
 */
#ifndef LEND_ARENA_THREAD_H
#define LEND_ARENA_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena/slot.h"
#include "arena/state.h"
#include "sync/cells.h"

struct thread_entry {
	uint64_t key;		/* of the arena; 0: empty */
	struct slot *slot;
};

struct thread {
	struct thread_entry *table;
	size_t length;		/* entries */
	struct cells_credit credit; /* team.c: after a lost race */
	/* buffer.c: where the last buffer went, so that no look-up is needed. */
	uint64_t cache_key;	/* of the arena; 0: none */
	struct slot *cache;	/* in that arena */
};

extern _Thread_local struct thread lend__thread
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Who the calling thread is: an address that no other living thread has. */
static inline void *
thread_self(void)
{
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
	return __builtin_thread_pointer();
#endif
#endif
	return &lend__thread;
}

/*
 * The calling thread's entry for the arena; null: it has no slot there.  The
 * hot path asks for the entry: a slot that is found need not be compared with
 * null again.
 */
static inline const struct thread_entry *
thread_entry(const struct lend_arena *arena)
{
	const struct thread_entry *entry;

	if (unlikely(arena->index >= lend__thread.length))
		return NULL;
	entry = &lend__thread.table[arena->index];
	return likely(entry->key == arena->key) ? entry : NULL;
}

/* The calling thread's slot in the arena, or null. */
static inline struct slot *
thread_slot(const struct lend_arena *arena)
{
	const struct thread_entry *entry = thread_entry(arena);

	return entry ? entry->slot : NULL;
}

/*
 * Before the first attach, again where the start was not made: one thread at
 * a time.  Errors: -EAGAIN, -ENOMEM.
 */
int thread_init(void);

/*
 * Gives the calling thread a slot in the arena, an idle one where there is
 * one.  Errors: -ENOMEM, -EAGAIN (too many threads), -ESRCH (the thread is
 * over; thread_rearm instead).
 */
int thread_attach(struct lend_arena *arena, struct slot **slot);

/*
 * The calling thread has no more use for its slot in the arena: the next new
 * thread there gets it as it is.  No loan of it may be out.
 */
void thread_detach(struct lend_arena *arena);

/*
 * The thread is over, but takes a private loan all the same: has the
 * destructor run once more, to settle it.
 */
void thread_rearm(void);

/* Whether the thread's slots have been handed back. */
bool thread_is_over(void);

#endif
