/* SPDX-License-Identifier: MIT */
/*
 * The rooms, and the one arena that all memory of requests comes from, but
 * what contractions in prepared workspaces need.
 */
#ifndef EXAMPLES_SERVER_SERVER_H
#define EXAMPLES_SERVER_SERVER_H

#include <lend/arena.h>
#include <lend/exec.h>

#include "metrics.h"
#include "options.h"

struct http;
struct plans;
struct queue;
struct warm;

/* Set at the start, before there is a second thread. */
struct server {
	struct options options;
	lend_arena *arena;
	lend_pool *pool;
	struct lend_exec exec;
	struct metrics metrics;
	struct plans *plans;
	struct warm *warm;	/* null: nothing is prepared */
	struct queue *queue;
	struct http *http;
};

#endif
