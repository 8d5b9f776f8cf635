/* SPDX-License-Identifier: MIT */
/* The example server as a process of its own, for one test. */
#ifndef TESTS_SERVER_SERVICE_H
#define TESTS_SERVER_SERVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct service {
	pid_t pid;
	uint16_t port;
	int output;		/* its standard output */
	int errors;		/* a file that has its standard error */
	char text[4096];	/* that, after service_end() */
};

/* Whether loopback can be used here: else the tests are skipped. */
bool service_possible(void);

/*
 * Starts it with these arguments, the last one null, besides --port 0, and
 * waits until it listens.  It ends with the test.
 */
void service_start(struct service *service, const char *const *arguments);

/* Runs it to its end with these arguments; the exit status. */
int service_run(struct service *service, const char *const *arguments);

/* Waits until it ends; the exit status, or 128 + the signal. */
int service_wait(struct service *service);

/* Sends SIGTERM; it must end with 0 and have complained of nothing. */
void service_end(struct service *service);

#endif
