/* SPDX-License-Identifier: MIT */
#include "base/once.h"

#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/os.h"

/* Else: 0 is nobody's, or it is the id of the process that is at it. */
#define DONE UINT32_MAX

/* Whether this thread is to make it; false: it is done. */
static bool
claim(struct once *once)
{
	uint32_t self = (uint32_t)getpid(), seen;

	/* Pairs with the release in make(): all that start() wrote. */
	while ((seen = load_acquire(&once->state)) != DONE) {
		if (seen == self)
			os_futex_wait(&once->state, self);
		/*
		 * Nobody's, or a thread's of the process that forked this one.
		 * Acquire: pairs with the same release, after a failed try.
		 */
		else if (cas_acquire_acquire(&once->state, &seen, self))
			return true;
	}
	return false;
}

static int
make(struct once *once, int (*start)(void))
{
	int error = 0;

	if (claim(once)) {
		error = start();
		/* Pairs with claim() and once_try(). */
		store_release(&once->state, error ? 0 : DONE);
		os_futex_wake_all(&once->state);
	}
	return error;
}

int
once_try(struct once *once, int (*start)(void))
{
	int error, cancel;

	/* Pairs with the release in make(): all that start() wrote. */
	if (likely(load_acquire(&once->state) == DONE))
		return 0;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	error = make(once, start);
	pthread_setcancelstate(cancel, NULL);
	return error;
}
