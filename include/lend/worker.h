/* SPDX-License-Identifier: MIT */
/*
 * A worker loan: one thread's A block, accumulator tile and scatter scratch,
 * for the length of one call.
 *
 * The buffers are page-aligned, never zeroed, allocated by the thread that
 * asks for them.  They are kept by the arena between loans, so that a loan
 * that fits costs a few nanoseconds and no system call.  A second checkout on
 * the same thread in the same arena, while the first is out, gets buffers of
 * its own, freed at its return; they are outside the arena's accounts, limit
 * and trace.
 *
 * A loan is returned by the thread that took it.  It is a value: copies are
 * allowed, and of all copies exactly one return succeeds; a copy does not
 * learn of a resize.  What is still out when the thread ends is settled then.
 * Buffers start at multiples of 4096.
 */
#ifndef LEND_WORKER_H
#define LEND_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include <lend/arena.h>
#include <lend/request.h>
#include <lend/visibility.h>

LEND_BEGIN_DECLS

struct lend_worker {
	void *a;		/* at least a_bytes, or null without storage */
	void *tile;		/* at least tile_bytes, or null */
	int64_t *scatter;	/* at least worker_scatter elements, or null */
	size_t scatter_length;	/* elements in use: 0 at checkout, yours */
	size_t scatter_capacity;
	void *place;		/* private: what was lent */
	uint64_t key;		/* private: which arena */
	uint64_t number;	/* private: which loan of it */
};

/*
 * Lends the calling thread its buffers, each with at least the capacity that
 * `req` asks for (the team's components are ignored), and fills *loan.
 * Errors: -EINVAL (null), -EOVERFLOW (a size that no buffer can have),
 * -ENOMEM, -EDQUOT (the arena's limit), -EAGAIN (more than 2^20 threads at
 * once).
 */
LEND_API LEND_CHECKED int
lend_worker_checkout(lend_arena *arena, const struct lend_req *req,
		     struct lend_worker *loan);

/*
 * Returns the loan.  *loan keeps its pointers: they are not yours any more.
 * Errors, each of which changes nothing: -EINVAL (null), -EXDEV (a loan of
 * another arena), -EPERM (taken by another thread), -EALREADY (returned
 * before, or a handle of zeroes).
 */
LEND_API int
lend_worker_return(lend_arena *arena, struct lend_worker *loan);

/*
 * Sets the length of the loan's scatter scratch, growing its storage where
 * needed; elements below both lengths keep their values, others are
 * undefined.  The arena's accounts learn of the growth at the return.
 * The thread that took the loan.
 * Errors: as lend_worker_return(), and -EOVERFLOW, -ENOMEM, -EDQUOT.  After
 * -ENOMEM under a limit an empty scratch may be elsewhere, or gone: the loan's
 * fields tell.
 */
LEND_API LEND_CHECKED int
lend_worker_scatter_resize(lend_arena *arena, struct lend_worker *loan,
			   size_t length);

typedef void lend_worker_fn(struct lend_worker *loan, void *ctx);

/*
 * Lends the buffers to fn(loan, ctx) and returns them whatever ends it: a
 * plain return, a C++ exception, pthread_exit(), cancellation.
 * Errors: as lend_worker_checkout(), and fn has then not run.
 */
LEND_API LEND_CHECKED int
lend_with_worker(lend_arena *arena, const struct lend_req *req,
		 lend_worker_fn *fn, void *ctx);

LEND_END_DECLS

#endif
