/* SPDX-License-Identifier: MIT */
#include "arena/gate.h"

#include <pthread.h>

#include "base/assert.h"

/* glibc's default kind prefers readers: a nested reader never waits. */
static pthread_rwlock_t gate = PTHREAD_RWLOCK_INITIALIZER;

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
