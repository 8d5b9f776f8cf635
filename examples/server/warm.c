/* SPDX-License-Identifier: MIT */
#include "warm.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include <lend/prepared.h>

#include "plans.h"
#include "server.h"

struct warm {
	struct server *server;
	struct lend_prepared prepared;
	struct lend_warmer_options inner;	/* how slots are made */
	lend_warmer *warmer;
	pthread_mutex_t lock;
	size_t taken;	/* places; under the lock */
};

size_t
warm_places(const struct options *options)
{
	return options->warm ? options->warm + options->workers : 0;
}

/* ------------------------------------------------------------------------
 * Places
 * ------------------------------------------------------------------------ */

static bool
place_take(struct warm *warm)
{
	bool free;

	pthread_mutex_lock(&warm->lock);
	free = warm->taken < warm_places(&warm->server->options);
	warm->taken += free;
	pthread_mutex_unlock(&warm->lock);
	return free;
}

static void
place_leave(struct warm *warm)
{
	pthread_mutex_lock(&warm->lock);
	warm->taken--;
	pthread_mutex_unlock(&warm->lock);
}

/* ------------------------------------------------------------------------
 * What the warmer calls.  A plan may be gone by then: that is an error.
 * ------------------------------------------------------------------------ */

static int
request(const char *id, struct lend_req *req, void *ctx)
{
	struct server *server = ((struct warm *)ctx)->server;
	struct plan *plan = plans_find(server->plans, id);
	size_t bytes;
	int error;

	if (!plan)
		return -ENOENT;
	error = lend_network_req(plan->network,
				 lend_exec_budget(&server->exec), req, &bytes);
	plans_return(server->plans, plan);
	return error;
}

static int
rehearse(const char *id, lend_workspace *ws, void *ctx)
{
	struct server *server = ((struct warm *)ctx)->server;
	struct plan *plan = plans_find(server->plans, id);
	int error;

	if (!plan)
		return -ENOENT;
	error = lend_network_warm(plan->network, lend_workspace_arena(ws),
				  &server->exec, NULL);
	plans_return(server->plans, plan);
	return error;
}

static int
prepare(const char *id, void **slot, void *ctx)
{
	struct warm *warm = ctx;
	int error;

	if (!place_take(warm))
		return -EDQUOT;
	error = warm->inner.prepare(id, slot, warm->inner.ctx);
	if (error)
		place_leave(warm);
	return error;
}

static void
destroy(void *slot, void *ctx)
{
	struct warm *warm = ctx;

	warm->inner.destroy(slot, warm->inner.ctx);
	place_leave(warm);
}

/* ------------------------------------------------------------------------
 * The start and the end
 * ------------------------------------------------------------------------ */

static int
start(struct warm *warm)
{
	const struct options *o = &warm->server->options;
	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;
	int error;

	warm->prepared = (struct lend_prepared){
		.size = sizeof warm->prepared, .exec = warm->server->exec,
		.request = request, .rehearse = rehearse, .ctx = warm,
		.limit = o->warm_bytes, .name = "prepared",
	};
	options.cap = o->warm;
	error = lend_prepared_use(&warm->prepared, &options);
	if (error)
		return error;
	warm->inner = options;
	options.prepare = prepare;
	options.destroy = destroy;
	options.ctx = warm;
	return lend_warmer_create(&warm->warmer, &options);
}

int
warm_create(struct warm **made, struct server *server)
{
	struct warm *warm = calloc(1, sizeof *warm);
	int error;

	if (!warm)
		return -ENOMEM;
	warm->server = server;
	pthread_mutex_init(&warm->lock, NULL);
	error = start(warm);
	if (!error) {
		*made = warm;
		return 0;
	}
	pthread_mutex_destroy(&warm->lock);
	free(warm);
	return error;
}

int
warm_destroy(struct warm *warm, size_t seconds)
{
	int error;

	if (!warm)
		return 0;
	error = lend_warmer_destroy(warm->warmer, seconds * 1000);
	if (error)
		return error;
	pthread_mutex_destroy(&warm->lock);
	free(warm);
	return 0;
}

int
warm_counts(struct warm *warm, struct warm_counts *counts)
{
	pthread_mutex_lock(&warm->lock);
	counts->workspaces = warm->taken;
	pthread_mutex_unlock(&warm->lock);
	return lend_warmer_stats(warm->warmer, &counts->warmer);
}

/* ------------------------------------------------------------------------
 * Executions
 * ------------------------------------------------------------------------ */

/*
 * Whether one for the plan may be had within `warm_bytes`, by its numbers: a
 * worker's loan for each thread and for who asks, a team's, the buffers.
 */
static bool
fits(const struct server *server, const struct plan *plan)
{
	size_t budget = lend_exec_budget(&server->exec), worker, all, bytes;
	struct lend_req req, alone;

	if (lend_network_req(plan->network, budget, &req, &bytes) ||
	    lend_req_bytes(&req, &all))
		return false;
	alone = req;
	alone.b_bytes = alone.team_scatter = alone.barriers = 0;
	if (lend_req_bytes(&alone, &worker) ||
	    __builtin_mul_overflow(worker, budget, &worker) ||
	    __builtin_add_overflow(all, worker, &all) ||
	    __builtin_add_overflow(all, bytes, &all))
		return false;
	return all <= server->options.warm_bytes;
}

/* -ENOENT: none is ready. */
static int
execute_warm(struct server *server, const struct plan *plan,
	     const struct lend_network_call *call, struct lend_error *why)
{
	struct warm *warm = server->warm;
	void *slot;
	int error = lend_warmer_claim(warm->warmer, plan->id, &slot);

	if (error)
		return -ENOENT;
	error = lend_network_execute(plan->network, lend_workspace_arena(slot),
				     &server->exec, call, why);
	destroy(slot, warm);
	return error;
}

int
warm_execute(struct server *server, const struct plan *plan, bool found,
	     const struct lend_network_call *call, struct lend_error *why)
{
	bool may = server->warm && found && fits(server, plan);
	int error = may ? execute_warm(server, plan, call, why) : -ENOENT;

	/* Beyond its limit nothing has been written. */
	if (error == -ENOENT || error == -EDQUOT)
		error = lend_network_execute(plan->network, server->arena,
					     &server->exec, call, why);
	/* If it cannot be begun, the next request is served as this one was. */
	if (!error && may &&
	    lend_warmer_refill(server->warm->warmer, plan->id))
		return 0;
	return error;
}
