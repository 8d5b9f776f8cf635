/* SPDX-License-Identifier: MIT */
#include "sync/reclaim.h"

#include <pthread.h>
#include <urcu/urcu-mb.h>

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

/* Set in a child of fork(2), while it has one thread. */
static bool by_lock;
static pthread_mutex_t sections_lock = PTHREAD_MUTEX_INITIALIZER;

void
reclaim_read_begin(void)
{
	if (by_lock) {
		pthread_mutex_lock(&sections_lock);
		return;
	}
	urcu_mb_register_thread();
	urcu_mb_read_lock();
	TSAN_ACQUIRE(&waits);
}

void
reclaim_read_end(void)
{
	if (by_lock) {
		pthread_mutex_unlock(&sections_lock);
		return;
	}
	TSAN_RELEASE(&sections);
	urcu_mb_read_unlock();
	urcu_mb_unregister_thread();
}

bool
reclaim_reading(void)
{
	return !by_lock && urcu_mb_read_ongoing() != 0;
}

void
reclaim_wait(void)
{
	/* A wait inside a section would wait for itself. */
	lend_check(!reclaim_reading());
	if (by_lock) {
		pthread_mutex_lock(&sections_lock);
		pthread_mutex_unlock(&sections_lock);
		return;
	}
	TSAN_RELEASE(&waits);
	urcu_mb_synchronize_rcu();
	TSAN_ACQUIRE(&sections);
}

void
reclaim_fork_child(void)
{
	/* A child's child may find it locked. */
	sections_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	by_lock = true;
}
