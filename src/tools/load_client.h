/* SPDX-License-Identifier: MIT */
/* The clients of one measurement, and what they share. */
#ifndef LEND_TOOLS_LOAD_CLIENT_H
#define LEND_TOOLS_LOAD_CLIENT_H

#include <pthread.h>
#include <stdatomic.h>

#include "tools/load.h"
#include "tools/load_session.h"

struct run {
	const struct load *load;
	struct lender lender;	/* for requests that are of no session */
	struct load_sessions sessions;
	size_t clients;
	pthread_barrier_t barrier;	/* all clients and the main thread */
	atomic_bool stop;
	pthread_mutex_t lock;
	/* Guarded by the lock: what ended a client early, the first one. */
	int error;
	const char *file;
	struct lend_error why;
};

struct client {
	struct run *run;
	size_t number;
	pthread_t thread;
	/* Its own until it is joined; relaxed, for the eye, before. */
	atomic_ullong done;
	double flops;
	uint64_t refused;
	struct latency latency;
	/* Of sessions. */
	struct load_first cold, warm;
	uint64_t growths;
	size_t retained;	/* the most of one workspace */
};

/* A thread: warms up, meets the main thread twice, asks until `stop`. */
void *client_main(void *client);

#endif
