/* SPDX-License-Identifier: MIT */
/* The program's pool. */
#ifndef LEND_TOOLS_THREADS_H
#define LEND_TOOLS_THREADS_H

#include <stddef.h>

#include <lend/exec.h>

struct threads {
	lend_pool *pool;	/* null: the calling thread alone */
	struct lend_exec exec;
};

/* How many processors this process may use. */
size_t threads_of_machine(void);
/* 0, or STATUS_BAD, told. */
int threads_start(struct threads *threads, size_t n);
void threads_stop(struct threads *threads);

#endif
