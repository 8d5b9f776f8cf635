/* SPDX-License-Identifier: MIT */
/*
 * Prepared workspaces: the slots of a contraction service's warmer.
 *
 * The id is a plan.  A slot is a workspace whose bound is the plan's request,
 * warm on the workers of an executor, so that the plan's first execution
 * allocates nothing and faults no page.
 *
 *	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;
 *	lend_prepared_use(&prepared, &options);
 *	lend_warmer_create(&warmer, &options);
 *	...
 *	lend_warmer_claim(warmer, plan, &slot);		slot: a lend_workspace *
 *	... execute in it, once or often ...
 *	lend_workspace_destroy(slot);
 *	lend_warmer_refill(warmer, plan);
 *
 * A workspace that is evicted or drained goes back to the system whole.  A
 * trim of its arena, and what happens in fork(2), is as for any workspace.
 */
#ifndef LEND_PREPARED_H
#define LEND_PREPARED_H

#include <stddef.h>

#include <lend/exec.h>
#include <lend/request.h>
#include <lend/visibility.h>
#include <lend/warmer.h>
#include <lend/workspace.h>

LEND_BEGIN_DECLS

struct lend_prepared {
	size_t size;	/* sizeof this struct, as the caller was compiled */
	/*
	 * Whose workers the workspaces are warm on.  With a serial token, and
	 * for any further thread, one slot is warm for the first thread that
	 * comes without.
	 */
	struct lend_exec exec;
	/*
	 * Writes what the plan needs to *req, on a thread of the warmer.
	 * Returns 0 or a negative errno value: the plan is then left alone
	 * for a while.
	 */
	int (*request)(const char *plan, struct lend_req *req, void *ctx);
	void *ctx;
	/* Ceiling on the bytes of each workspace's arena; 0: as its default. */
	size_t limit;
	const char *name;	/* of the arenas, for statistics; may be null */
	/*
	 * What else of the workspace should be warm, such as the buffers of a
	 * network (lend_network_warm()): runs on a thread of the warmer, when
	 * the rest is, and returns all it borrows.  What it has warmed on its
	 * own thread is left to the first thread that comes without.  An error
	 * ends the fill as a failed one.  May be null.
	 */
	int (*rehearse)(const char *plan, lend_workspace *ws, void *ctx);
};

/*
 * Sets the callbacks of *options so that its warmer makes prepared workspaces;
 * `alive` stays as it is.  *prepared must outlive the warmer.  The warmer's
 * drain and claim must not be called inside a read section of liburcu's mb
 * flavour, as lend_arena_destroy() must not.
 * Errors: -EINVAL (null, a missing request, a size that is not this struct's).
 */
LEND_API LEND_CHECKED int
lend_prepared_use(struct lend_prepared *prepared,
		  struct lend_warmer_options *options);

LEND_END_DECLS

#endif
