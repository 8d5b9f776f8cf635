/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* pthread_setname_np */
#endif
#include "base/spawn.h"

#include <signal.h>
#include <stddef.h>

/* Faults stay open, else one would end the program past its handlers. */
static void
blocked_signals(sigset_t *set)
{
	static const int faults[] = {
		SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS
	};

	sigfillset(set);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(set, faults[i]);
}

int
spawn_thread(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	sigset_t blocked, old;
	int error;

	blocked_signals(&blocked);
	pthread_sigmask(SIG_SETMASK, &blocked, &old);
	error = pthread_create(thread, NULL, fn, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -error;
}

void
spawn_name(const char *name)
{
	(void)pthread_setname_np(pthread_self(), name);
}
