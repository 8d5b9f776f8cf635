/* SPDX-License-Identifier: MIT */
#include "sync/reclaim.h"

#include <pthread.h>
#include <urcu-bp.h>

#include "base/assert.h"
#include "base/os.h"

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

/* Constant once reclaim_init has returned. */
static enum {
	BY_FENCE,	/* liburcu without membarrier */
	BY_BARRIER,	/* liburcu, which counts on membarrier */
	BY_LOCK		/* no liburcu */
} mode;

static pthread_mutex_t sections_lock = PTHREAD_MUTEX_INITIALIZER;

void
reclaim_init(bool try_membarrier)
{
	if (!try_membarrier)
		mode = BY_LOCK;
	else if (os_membarrier_register())
		mode = os_membarrier() ? BY_BARRIER : BY_LOCK;
}

void
reclaim_read_begin(void)
{
	if (mode == BY_LOCK) {
		pthread_mutex_lock(&sections_lock);
		return;
	}
	urcu_bp_read_lock();
	TSAN_ACQUIRE(&waits);
}

void
reclaim_read_end(void)
{
	if (mode == BY_LOCK) {
		pthread_mutex_unlock(&sections_lock);
		return;
	}
	TSAN_RELEASE(&sections);
	urcu_bp_read_unlock();
}

bool
reclaim_reading(void)
{
	return mode != BY_LOCK && urcu_bp_read_ongoing() != 0;
}

bool
reclaim_can_wait(void)
{
	return mode != BY_BARRIER || os_membarrier();
}

void
reclaim_wait(void)
{
	/* A wait inside a section would wait for itself. */
	lend_check(!reclaim_reading());
	if (mode == BY_LOCK) {
		pthread_mutex_lock(&sections_lock);
		pthread_mutex_unlock(&sections_lock);
		return;
	}
	TSAN_RELEASE(&waits);
	urcu_bp_synchronize_rcu();
	TSAN_ACQUIRE(&sections);
}

void
reclaim_fork_prepare(void)
{
	urcu_bp_before_fork();
	pthread_mutex_lock(&sections_lock);
}

void
reclaim_fork_parent(void)
{
	pthread_mutex_unlock(&sections_lock);
	urcu_bp_after_fork_parent();
}

void
reclaim_fork_child(void)
{
	pthread_mutex_unlock(&sections_lock);
	urcu_bp_after_fork_child();
}
