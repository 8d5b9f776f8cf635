/* SPDX-License-Identifier: MIT */
/*
 * What tests of arenas begin and end with.  What asserts is for the main
 * thread alone: everything but stats_of, use, the sizes and the requests.
 */
#ifndef TESTS_SUPPORT_LOANS_H
#define TESTS_SUPPORT_LOANS_H

#include <check.h>
#include <stddef.h>
#include <stdint.h>

#include "lend/arena.h"
#include "lend/request.h"
#include "lend/team.h"
#include "lend/worker.h"
#include "support/fault.h"

/*
 * A case whose tests find the counting backend (support/fault.h) in place,
 * and after which no extent may be left.
 */
TCase *watched_case(Suite *suite, const char *name);

/* Makes an arena; null: with the default options. */
lend_arena *arena_of(const struct lend_arena_options *options);
/* With the default options; with tracing; with a limit. */
lend_arena *arena_new(void);
lend_arena *arena_traced(void);
lend_arena *arena_limited(size_t limit);
/* Destroys it: nothing may be out. */
void arena_end(lend_arena *arena);

/* The statistics, now. */
struct lend_stats stats_of(const lend_arena *arena);
/* That no field has changed, or none but the count of trims. */
void stats_same(const struct lend_stats *a, const struct lend_stats *b);
void stats_same_but_trims(const struct lend_stats *a,
			  const struct lend_stats *b);
/* That nothing is out, and that the accounts are what the backend counted. */
void stats_settled(const lend_arena *arena);

/* The bytes of the extents that are there. */
size_t outstanding(void);
/* That the backend was not asked for anything, and got nothing back. */
void counts_same(const struct fault_counts *a, const struct fault_counts *b);
/* What a page buffer that grew for so many bytes has. */
size_t page_buffer_bytes(size_t bytes);
/* What a scatter scratch that was empty and grew for so many has. */
size_t scatter_bytes(size_t elements);

/* Runs fn(arg) on a thread of its own and returns its result. */
void *in_thread(void *(*fn)(void *), void *arg);

/* A worker loan that must succeed, in two forms, and its return. */
struct lend_worker checkout(lend_arena *arena, const struct lend_req *req);
struct lend_worker lent(lend_arena *arena, size_t a_bytes, size_t tile_bytes,
			size_t worker_scatter);
void checkin(lend_arena *arena, struct lend_worker *loan);
void returned(lend_arena *arena, struct lend_worker *loan);
/* A team loan of one thread that must succeed, and its return. */
struct lend_team take(lend_arena *arena, const struct lend_req *req);
void give_back(lend_arena *arena, struct lend_team *lease);
/* Writes all that was asked for. */
void use(struct lend_worker *loan, const struct lend_req *req);

/* Worker components alone. */
static inline struct lend_req
worker_req(size_t a_bytes, size_t tile_bytes, size_t scatter)
{
	return (struct lend_req){
		.a_bytes = a_bytes,
		.tile_bytes = tile_bytes,
		.worker_scatter = scatter,
	};
}

/* Team components alone. */
static inline struct lend_req
team_req(size_t scatter, size_t barriers)
{
	return (struct lend_req){
		.team_scatter = scatter,
		.barriers = barriers,
	};
}

#endif
