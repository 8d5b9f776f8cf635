/* SPDX-License-Identifier: MIT */
#include <lend/workspace.h>

#include <errno.h>

#include <lend/team.h>
#include <lend/worker.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/os.h"
#include "base/util.h"
#include "mem/backend.h"
#include "sync/reclaim.h"

struct lend_workspace {
	lend_arena *arena;
	struct lend_req req;	/* the bound */
	size_t slots;		/* worker slots warmed */
};

static void
touch(void *start, size_t bytes)
{
	if (bytes)
		os_populate(start, round_up(bytes, LEND_PAGE));
}

/* The calling thread's slot: grown and touched. */
static int
warm_worker(lend_arena *arena, const struct lend_req *req)
{
	struct lend_worker loan;
	int error = lend_worker_checkout(arena, req, &loan);

	if (error)
		return error;
	touch(loan.a, req->a_bytes);
	touch(loan.tile, req->tile_bytes);
	touch(loan.scatter, req->worker_scatter * sizeof(int64_t));
	return lend_worker_return(arena, &loan);
}

static int
warm_team(lend_arena *arena, const struct lend_req *req)
{
	struct lend_team lease;
	int error = lend_team_take(arena, req, 1, 1, &lease);

	if (error)
		return error;
	error = lend_team_panel(arena, &lease, req->b_bytes);
	if (!error) {
		touch(lease.panel, req->b_bytes);
		touch(lease.scatter, req->team_scatter * sizeof(int64_t));
	}
	(void)lend_team_return(arena, &lease);
	return error;
}

static int
warm(lend_arena *arena, const struct lend_req *req)
{
	int error = warm_worker(arena, req);

	return error ? error : warm_team(arena, req);
}

int
lend_workspace_create(lend_workspace **made, const struct lend_req *req,
		      const struct lend_arena_options *options)
{
	lend_workspace *ws;
	lend_arena *arena;
	size_t bytes;
	int error;

	if (!made)
		return -EINVAL;
	error = lend_req_bytes(req, &bytes);
	/* What is made could not be unmade. */
	if (!error && reclaim_reading())
		error = -EDEADLK;
	if (!error)
		error = lend_arena_create(&arena, options);
	if (error)
		return error;
	ws = pages_alloc(sizeof(*ws));
	error = ws ? warm(arena, req) : -ENOMEM;
	if (error) {
		/* Nothing is out, so it cannot fail. */
		int none = lend_arena_destroy(arena);

		lend_check(none == 0);
		if (ws)
			pages_free(ws, sizeof(*ws));
		return error;
	}
	ws->arena = arena;
	ws->req = *req;
	ws->slots = 1;
	*made = ws;
	return 0;
}

int
lend_workspace_destroy(lend_workspace *ws)
{
	int error;

	if (!ws)
		return 0;
	error = lend_arena_destroy(ws->arena);
	if (!error)
		pages_free(ws, sizeof(*ws));
	return error;
}

int
lend_workspace_reserve(lend_workspace *ws, const struct lend_req *req)
{
	struct lend_req bound;
	size_t bytes;
	int error;

	if (!ws || !req)
		return -EINVAL;
	bound = ws->req;
	lend_req_raise(&bound, req);
	if (lend_req_covered_by(&bound, &ws->req))
		return 0;
	error = lend_req_bytes(&bound, &bytes);
	if (!error)
		error = warm(ws->arena, &bound);
	if (error)
		return error;
	ws->req = bound;
	/* Other threads' slots were warmed for less. */
	ws->slots = 1;
	return 0;
}

struct warming {
	lend_workspace *ws;
	_Atomic(int) error;	/* the last one, or 0 */
};

static void
warm_one(size_t index, void *ctx)
{
	struct warming *warming = ctx;
	int error = warm_worker(warming->ws->arena, &warming->ws->req);

	(void)index;
	if (error)
		/* Relaxed: read after the broadcast has ended. */
		store_relaxed(&warming->error, error);
}

int
lend_workspace_prepare_for(lend_workspace *ws, const struct lend_exec *exec)
{
	struct warming warming = { .ws = ws };
	size_t budget;
	int error;

	if (!ws || !exec)
		return -EINVAL;
	budget = lend_exec_budget(exec);
	error = warm_team(ws->arena, &ws->req);
	if (error)
		return error;
	error = lend_exec_broadcast(exec, warm_one, &warming);
	/* It cannot co-schedule from here: the caller's slot has to do. */
	if (error == -EPERM || error == -EDEADLK)
		return warm_worker(ws->arena, &ws->req);
	if (error)
		return error;
	/* Relaxed: ordered by the end of the broadcast. */
	error = load_relaxed(&warming.error);
	if (!error)
		ws->slots = size_max(ws->slots, budget);
	return error;
}

int
lend_workspace_admit(const lend_workspace *ws, const struct lend_req *req)
{
	if (!ws || !req)
		return -EINVAL;
	return lend_req_covered_by(req, &ws->req) ? 0 : -ENOBUFS;
}

size_t
lend_workspace_have(const lend_workspace *ws)
{
	size_t bytes = 0;

	/* Cannot fail: the bound was checked when it was set. */
	return lend_req_bytes(&ws->req, &bytes) ? 0 : bytes;
}

const struct lend_req *
lend_workspace_req(const lend_workspace *ws)
{
	return &ws->req;
}

size_t
lend_workspace_slots(const lend_workspace *ws)
{
	return ws->slots;
}

size_t
lend_workspace_retained_bytes(const lend_workspace *ws)
{
	struct lend_stats stats;

	return lend_arena_stats(ws->arena, &stats) ? 0 : stats.retained_bytes;
}

lend_arena *
lend_workspace_arena(const lend_workspace *ws)
{
	return ws->arena;
}
