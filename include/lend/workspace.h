/* SPDX-License-Identifier: MIT */
/*
 * A workspace: an arena with a bound, the request that it was sized to.
 *
 * Within the bound an execution allocates nothing, from the first one on.
 * Beyond it, lend_workspace_admit() refuses before anything is written.
 *
 * Its arena may be used by any thread.  A trim, also one that a limit causes,
 * undoes the warmth; so does a loan of the calling thread that is out while
 * the workspace is warmed, as the slot that should be warm is then lent.
 *
 * The functions here that change the
 * bound (reserve, prepare_for, destroy) want one caller at a time, with no
 * other call on the workspace meanwhile.  No argument of the getters may be
 * null.
 */
#ifndef LEND_WORKSPACE_H
#define LEND_WORKSPACE_H

#include <stddef.h>

#include <lend/arena.h>
#include <lend/exec.h>
#include <lend/request.h>
#include <lend/visibility.h>

LEND_BEGIN_DECLS

typedef struct lend_workspace lend_workspace;

/*
 * Makes a workspace for `req` and warms it: the calling thread's slot and one
 * team set with its panel are grown and their pages touched.  `options` of
 * its arena may be null.
 * Errors: as lend_arena_create(), lend_worker_checkout(), lend_team_take(),
 * and -EDEADLK (inside an RCU read section, see lend_arena_destroy()).
 */
LEND_API LEND_CHECKED int
lend_workspace_create(lend_workspace **ws, const struct lend_req *req,
		      const struct lend_arena_options *options);

/*
 * Destroys the workspace with its arena.  Null is accepted.
 * Errors: as lend_arena_destroy().
 */
LEND_API LEND_CHECKED int
lend_workspace_destroy(lend_workspace *ws);

/*
 * Raises the bound to the component-wise maximum of itself and `req`, and
 * warms the calling thread's slot and a team set again when it changed; other
 * threads' slots want lend_workspace_prepare_for() again.  It never shrinks.
 * Errors: as lend_workspace_create(); the bound is then what it was.
 */
LEND_API LEND_CHECKED int
lend_workspace_reserve(lend_workspace *ws, const struct lend_req *req);

/*
 * Warms a team set, and one slot on each of the token's `budget` distinct
 * workers.  Where the
 * executor cannot run them at the same time (a forked token, a caller that is
 * a worker of the pool) only the calling thread's slot stays warm; that is no
 * error, and lend_workspace_slots() tells.
 * Errors: -EINVAL (null), as lend_exec_broadcast() for the rest, and as
 * lend_worker_checkout() when a worker could not be warmed;
 * lend_workspace_slots() is then what it was.
 */
LEND_API LEND_CHECKED int
lend_workspace_prepare_for(lend_workspace *ws, const struct lend_exec *exec);

/*
 * Whether an execution that needs `req` may run: 0, -ENOBUFS when the bound
 * does not cover it in every component, -EINVAL (null).
 */
LEND_API LEND_CHECKED int
lend_workspace_admit(const lend_workspace *ws, const struct lend_req *req);

/* The bound in bytes, as lend_req_bytes() counts it. */
LEND_API size_t
lend_workspace_have(const lend_workspace *ws);

/* The bound, component by component.  Valid until the bound changes. */
LEND_API const struct lend_req *
lend_workspace_req(const lend_workspace *ws);

/*
 * Worker slots warmed for the bound: 1 after create and after a reserve that
 * raised it, the largest budget so far after prepare_for.
 */
LEND_API size_t
lend_workspace_slots(const lend_workspace *ws);

/* What its arena retains now, in bytes. */
LEND_API size_t
lend_workspace_retained_bytes(const lend_workspace *ws);

/* The arena to lend from.  It lives as long as the workspace. */
LEND_API lend_arena *
lend_workspace_arena(const lend_workspace *ws);

LEND_END_DECLS

#endif
