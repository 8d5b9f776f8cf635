/* SPDX-License-Identifier: MIT */
/*
 * Workspaces that are prepared for the plans that were asked for last, so that
 * a contraction finds its memory warm also where the arena has been trimmed.
 *
 *   request of a plan that is kept:
 *     claim --> execute in it --> destroy --> ask for another one
 *     none ready: execute with the arena's memory
 *
 * Each has an arena of its own of at most `warm_bytes`, and there are never
 * more than warm_places(): this much is taken off the limit of the server's
 * arena, so that the limit bounds all of it together.
 */
#ifndef EXAMPLES_SERVER_WARM_H
#define EXAMPLES_SERVER_WARM_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/network.h>
#include <lend/warmer.h>

#include "options.h"

struct plan;
struct server;
struct warm;

/* How many there are at most: one for each plan, and one in each worker. */
size_t warm_places(const struct options *options);

/* For options.warm plans, not 0.  0 or a negative errno value. */
int warm_create(struct warm **warm, struct server *server);
/*
 * No request is being worked on.  Null is accepted.  -EBUSY: one is still
 * being prepared, after so many seconds.
 */
int warm_destroy(struct warm *warm, size_t seconds);

/*
 * As lend_network_execute(), in a prepared workspace if one is there, else in
 * the server's arena.  A plan that was found in the cache, and so is asked for
 * again, gets another one.  Any thread.
 */
int warm_execute(struct server *server, const struct plan *plan, bool found,
		 const struct lend_network_call *call, struct lend_error *why);

struct warm_counts {
	struct lend_warmer_stats warmer;
	size_t workspaces;	/* there are, in use or not */
};

/* 0 or a negative errno value. */
int warm_counts(struct warm *warm, struct warm_counts *counts);

#endif
