/* SPDX-License-Identifier: MIT */
/* Threads of the library's own. */
#ifndef LEND_BASE_SPAWN_H
#define LEND_BASE_SPAWN_H

#include <pthread.h>

/*
 * Starts fn(arg) on a thread that takes no signals but those of its own
 * faults: signals to the process are the program's.  It may call the
 * program's allocator, so the caller holds no lock of ours.
 * Errors: -EAGAIN.
 */
int spawn_thread(pthread_t *thread, void *(*fn)(void *), void *arg);

/* The calling thread's name, as the system shows it: at most 15 bytes. */
void spawn_name(const char *name);

#endif
