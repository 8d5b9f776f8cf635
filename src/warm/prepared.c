/* SPDX-License-Identifier: MIT */
#include <lend/prepared.h>

#include <errno.h>

#include "arena/thread.h"
#include "base/assert.h"

/* The workspace goes, and with it all that it retains. */
static void
destroy(void *slot, void *ctx)
{
	int error = lend_workspace_destroy(slot);

	(void)ctx;
	/* Nothing is lent, and the caller is in no read section. */
	lend_check(error == 0);
}

/*
 * Warms it where it will be used.  The slot that the calling thread has
 * warmed is left to the first thread that comes: one of the executor's where
 * it has any, else the claimer.
 */
static int
warm(lend_workspace *ws, const struct lend_exec *exec)
{
	bool serial = !exec->pool && !exec->host;
	int error = 0;

	thread_detach(lend_workspace_arena(ws));
	if (serial)
		return 0;
	error = lend_workspace_prepare_for(ws, exec);
	/* Where it could not broadcast, it has warmed this thread again. */
	thread_detach(lend_workspace_arena(ws));
	return error;
}

/* What the program wants warm beside the loans of the bound. */
static int
rehearse(const struct lend_prepared *prepared, const char *plan,
	 lend_workspace *ws)
{
	int error;

	if (!prepared->rehearse)
		return 0;
	error = prepared->rehearse(plan, ws, prepared->ctx);
	/* The thread's slot and its idle buffers. */
	thread_detach(lend_workspace_arena(ws));
	return error;
}

static int
prepare(const char *plan, void **slot, void *ctx)
{
	const struct lend_prepared *prepared = ctx;
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct lend_req req = { .a_bytes = 0 };
	lend_workspace *ws;
	int error = prepared->request(plan, &req, prepared->ctx);

	if (error)
		return error;
	options.limit = prepared->limit;
	options.name = prepared->name;
	error = lend_workspace_create(&ws, &req, &options);
	if (error)
		return error;
	error = warm(ws, &prepared->exec);
	if (!error)
		error = rehearse(prepared, plan, ws);
	if (error) {
		destroy(ws, NULL);
		return error;
	}
	*slot = ws;
	return 0;
}

int
lend_prepared_use(struct lend_prepared *prepared,
		  struct lend_warmer_options *options)
{
	if (!prepared || !options || !prepared->request ||
	    prepared->size != sizeof(*prepared))
		return -EINVAL;
	options->prepare = prepare;
	options->destroy = destroy;
	options->ctx = prepared;
	return 0;
}
