/* SPDX-License-Identifier: MIT */
#include "sync/reclaim.h"

#include <urcu-bp.h>

#include "base/assert.h"

/*
 * liburcu does not tell ThreadSanitizer what it orders.  A wait happens
 * before each section that begins after it, and each section that had begun
 * happens before the end of the wait; two addresses stand for the two edges.
 */
#ifdef LEND_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
static char waits, sections;
#define TSAN_ACQUIRE(address)	__tsan_acquire(address)
#define TSAN_RELEASE(address)	__tsan_release(address)
#else
#define TSAN_ACQUIRE(address)	((void)0)
#define TSAN_RELEASE(address)	((void)0)
#endif

void
reclaim_read_begin(void)
{
	urcu_bp_read_lock();
	TSAN_ACQUIRE(&waits);
}

void
reclaim_read_end(void)
{
	TSAN_RELEASE(&sections);
	urcu_bp_read_unlock();
}

bool
reclaim_reading(void)
{
	return urcu_bp_read_ongoing() != 0;
}

void
reclaim_wait(void)
{
	/* A wait inside a section would wait for itself. */
	lend_check(!reclaim_reading());
	TSAN_RELEASE(&waits);
	urcu_bp_synchronize_rcu();
	TSAN_ACQUIRE(&sections);
}

void
reclaim_fork_prepare(void)
{
	urcu_bp_before_fork();
}

void
reclaim_fork_parent(void)
{
	urcu_bp_after_fork_parent();
}

void
reclaim_fork_child(void)
{
	urcu_bp_after_fork_child();
}
