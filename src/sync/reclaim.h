/* SPDX-License-Identifier: MIT */
/*
 * Deferred reclamation: the only caller of liburcu.
 *
 * One thing is guarded: an arena that is found through the directory by a
 * thread that is not a caller of that arena, that is, a thread which is just
 * ending or which prints the statistics of all arenas.
 *
 *   ending thread                     lend_arena_destroy
 *   reclaim_read_begin                directory entry = null
 *     look into the directory         reclaim_wait
 *     settle slots of what is there   free the arena
 *   reclaim_read_end
 *
 * Checkouts and returns never come here, and nobody waits here but destroy.
 * Waiting, rather than deferring to a helper thread, keeps the library free
 * of threads of its own, and lets a race detector see the order.
 *
 * The flavour is mb: a section registers its thread and unregisters it at its
 * end, which allocates nothing and leaves nothing behind.  The bp flavour
 * would register by itself and end the program where that finds no memory, or
 * where membarrier is granted first and refused later; and its fork hooks
 * may run but once per fork, which may be the program's own.
 *
 * A child of fork(2) goes by a lock from then on: liburcu's own locks may be
 * held there by threads that the child has not.
 */
#ifndef LEND_SYNC_RECLAIM_H
#define LEND_SYNC_RECLAIM_H

#include <stdbool.h>

/* A read section, which must not nest or wait for a grace period. */
void reclaim_read_begin(void);
void reclaim_read_end(void);

/* Whether the calling thread is inside a section of this flavour. */
bool reclaim_reading(void);

/* Waits until every read section that has begun has ended. */
void reclaim_wait(void);

/* In a child of fork(2), whose only thread is the caller. */
void reclaim_fork_child(void);

#endif
