/* SPDX-License-Identifier: MIT */
#include "arena/gate.h"

#include <pthread.h>

#include "base/assert.h"

static pthread_rwlock_t gate =
	PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

void
gate_enter(void)
{
	int error = pthread_rwlock_rdlock(&gate);

	lend_check(error == 0);
}

void
gate_leave(void)
{
	int error = pthread_rwlock_unlock(&gate);

	lend_check(error == 0);
}

void
gate_close(void)
{
	int error = pthread_rwlock_wrlock(&gate);

	lend_check(error == 0);
}

void
gate_open(void)
{
	gate_leave();
}

void
gate_reset(void)
{
	/*
	 * The lock knows its writer by the thread's kernel id, which is
	 * another one in the child: it cannot be unlocked there.  Race
	 * detectors are told that it is, then it is made anew.
	 */
	(void)pthread_rwlock_unlock(&gate);
	gate = (pthread_rwlock_t)
		PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;
}
