/* SPDX-License-Identifier: MIT */
/*
 * The pool's inside: what exec.c and the tests need of it.
 *
 * lend_pool_create(), lend_pool_destroy() and lend_pool_width() are in
 * <lend/exec.h>.
 */
#ifndef LEND_EXEC_POOL_H
#define LEND_EXEC_POOL_H

#include <stdbool.h>
#include <stddef.h>

#include "lend/exec.h"

/*
 * The pool as a host: each function takes the pool as its `host`, so that
 * exec.c need not tell a pool from a host.  Its `parallel` wants n > 1.
 *
 * The idle workers with the lowest numbers are taken first: a client that
 * broadcasts alone meets the same workers each time, with what is theirs
 * (warmed worker slots).
 */
extern const struct lend_exec_host lend__pool_host;

/*
 * lend_exec_team() on the pool, for budget <= width and a caller that is not
 * one of its workers.
 */
int lend__pool_team(struct lend_pool *pool, size_t budget, lend_exec_fn *fn,
		    void *ctx);

/* What a pool is doing, for tests. */
struct pool_view {
	size_t started;	/* threads there are */
	size_t idle;	/* of these, how many have nothing to do */
	size_t gangs;	/* broadcasts that wait for workers */
	size_t offers;	/* forks that would take another worker */
	bool sound;	/* the equations in dispatch.h hold */
};

/* Looks at the pool in one moment.  Any thread. */
void lend__pool_look(struct lend_pool *pool, struct pool_view *view);

#endif
