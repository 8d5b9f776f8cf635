/* SPDX-License-Identifier: MIT */
/*
 * Parents and children: what tests of fork(2) share.  Main thread of the
 * process unless said otherwise.
 */
#ifndef TESTS_SUPPORT_FAMILY_H
#define TESTS_SUPPORT_FAMILY_H

#include <check.h>
#include <stddef.h>

#include "lend/lend.h"

/*
 * What a child can do under tools.
 *
 * ThreadSanitizer keeps the parent's threads on its books and stops a child
 * that starts one at the address of another; and it does not watch a child
 * whose parent had threads.  Where those were busy such a child had better
 * end at once: liburcu has a lock of its own around the beginnings and ends
 * of threads, which it does not guard against a fork, and which under this
 * tool is held long enough to be met.
 *
 * AddressSanitizer's allocator stays locked for ever in a child when one of
 * the parent's threads was inside it: no threads where those were busy.
 */
#if defined(LEND_TSAN)
#define CHILD_STARTS_THREADS 0
#define BUSY_CHILD_LIVES 0
#else
#define CHILD_STARTS_THREADS 1
#define BUSY_CHILD_LIVES 1
#endif
#if defined(LEND_TSAN) || defined(LEND_ASAN)
#define BUSY_CHILD_STARTS_THREADS 0
#else
#define BUSY_CHILD_STARTS_THREADS 1
#endif

/* A case whose tests find the backend counted and leave no extent behind. */
TCase *family_case(Suite *suite, const char *name);

/*
 * Forks; the child runs fn(arg), which demand()s (support/demand.h), and ends
 * well, or with a signal when it hangs.  Returns what waitpid() tells of it
 * as process_child() does: 0 is well.  Any thread.
 */
int family_fork(void (*fn)(void *arg), void *arg);

/*
 * Demands that the accounts of all arenas are the sums over what is there,
 * and those what the backend has given and not got back.  Any thread, when no
 * other one is at work.
 */
void demand_accounts(void);

/* Statistics of the arena.  Any thread. */
struct lend_stats stats_now(const lend_arena *arena);

/* Demands that a trim leaves nothing, and that the arena can be destroyed. */
void demand_end(lend_arena *arena);

#endif
