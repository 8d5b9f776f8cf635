/* SPDX-License-Identifier: MIT */
/*
 * A start that is made once, as by pthread_once(), but may fail: then the
 * next caller tries again.
 *
 * fork(2): as with pthread_once(), and unlike with a mutex, a child that is
 * forked while another thread is at it finds the start undone, and makes it
 * (again: it must not mind what a first try left half done).  The state names
 * the process that is at it, so the child needs no handler.  (Should the child
 * have its parent's number, in a new namespace of them, it would wait for
 * ever.)
 */
#ifndef LEND_BASE_ONCE_H
#define LEND_BASE_ONCE_H

#include <stdint.h>

#include "base/atomic.h"

/* All zeroes before the first try. */
struct once {
	_Atomic(uint32_t) state;
};

/*
 * Calls start() unless it has returned 0 before; one caller at a time, others
 * wait.  Returns what it did.  The caller cannot be cancelled meanwhile.
 */
int once_try(struct once *once, int (*start)(void));

#endif
