/* SPDX-License-Identifier: MIT */
/*
 * Tokens of all three kinds, so that what is said of a token is tried on each:
 * serial, of a pool, of a host that has threads of its own.
 */
#ifndef TESTS_SUPPORT_TOKENS_H
#define TESTS_SUPPORT_TOKENS_H

#include <check.h>
#include <stdatomic.h>
#include <stddef.h>

#include "lend/exec.h"

enum kind { SERIAL, POOL, HOST, KINDS };

/* The host: makes threads for each call, the plainest that keeps to it. */
struct threads {
	size_t width;	/* WIDTH, until a test changes it */
	int refusal;	/* what broadcast returns instead of running */
	atomic_int broadcasts;
	atomic_int parallels;
};

extern struct threads threads;
extern struct lend_exec_host threads_host;
/* The pool, WIDTH wide. */
extern lend_pool *tokens_pool;

/* A token; a serial one has a budget of 1 all the same.  Asserts. */
struct lend_exec token(enum kind kind, size_t budget);

/* A case whose tests find the pool and the host made anew. */
TCase *tokens_case(Suite *suite, const char *name);

#endif
