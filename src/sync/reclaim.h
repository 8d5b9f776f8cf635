/* SPDX-License-Identifier: MIT */
/*
 * Deferred reclamation: the only caller of liburcu, its bp flavour, whose
 * readers need not register.
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
 */
#ifndef LEND_SYNC_RECLAIM_H
#define LEND_SYNC_RECLAIM_H

#include <stdbool.h>

/*
 * Once, before anything else.  Where the system lets a process register for
 * membarrier and then refuses it, liburcu would end the program at the first
 * wait: there, and where membarrier must not be tried at all, a plain lock
 * takes its place, and sections exclude each other.
 */
void reclaim_init(bool try_membarrier);

/* A read section, which must not nest or wait for a grace period. */
void reclaim_read_begin(void);
void reclaim_read_end(void);

/* Whether the calling thread is inside a read section, ours or its own. */
bool reclaim_reading(void);

/*
 * Whether reclaim_wait() can be called: not when membarrier, which liburcu
 * relies on since the program began, has been refused meanwhile.
 */
bool reclaim_can_wait(void);

/* Waits until every read section that has begun has ended. */
void reclaim_wait(void);

/* Around fork(2), on the thread that forks. */
void reclaim_fork_prepare(void);
void reclaim_fork_parent(void);
void reclaim_fork_child(void);

#endif
