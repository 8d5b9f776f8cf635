/* SPDX-License-Identifier: MIT */
/*
 * The reference that `lend` is measured against: the same loans, done in the
 * obvious way.
 *
 *   one mutex ---- hash: thread -> worker slot
 *             |--- list of idle team sets, last in first out
 *             `--- three counters: retained, leased, panel bytes
 *
 * The mutex is held for the look-up and the accounts alone; buffers grow
 * outside of it, by the thread that will write them.  Page-aligned, grow-only
 * to the next power of two, never zeroed, as lend's.  A second checkout on one
 * thread gets private buffers.  It has no trace, no limit and no adoption of
 * slots, and running out of memory is an error as in lend.
 *
 * Every function may be called by any thread.  A worker loan is returned by
 * its thread; a team loan by one caller.
 */
#ifndef LEND_BENCH_MUTEX_ARENA_H
#define LEND_BENCH_MUTEX_ARENA_H

#include <stddef.h>
#include <stdint.h>

#include <lend/request.h>

struct mutex_arena;
struct mutex_slot;
struct mutex_set;

struct mutex_worker {
	void *a;
	void *tile;
	int64_t *scatter;
	size_t scatter_capacity;
	struct mutex_slot *slot;	/* private */
};

struct mutex_team {
	void *panel;
	int64_t *scatter;
	size_t scatter_capacity;
	struct mutex_set *set;	/* private */
};

struct mutex_stats {
	size_t retained_bytes;
	size_t leased_bytes;
	size_t panel_bytes;
	uint64_t growths;	/* of page buffers */
};

typedef void mutex_worker_fn(struct mutex_worker *loan, void *ctx);

/* Null: no memory. */
struct mutex_arena *mutex_arena_create(void);
/* No loan may be out. */
void mutex_arena_destroy(struct mutex_arena *arena);
void mutex_arena_stats(struct mutex_arena *arena, struct mutex_stats *stats);
/* Frees idle slots' buffers and idle sets. */
void mutex_arena_trim(struct mutex_arena *arena);

/* 0 or -ENOMEM, after which nothing is lent. */
int mutex_worker_checkout(struct mutex_arena *arena,
			  const struct lend_req *req,
			  struct mutex_worker *loan);
void mutex_worker_return(struct mutex_arena *arena, struct mutex_worker *loan);
int mutex_with_worker(struct mutex_arena *arena, const struct lend_req *req,
		      mutex_worker_fn *fn, void *ctx);

int mutex_team_take(struct mutex_arena *arena, const struct lend_req *req,
		    size_t pm, size_t pn, struct mutex_team *lease);
int mutex_team_panel(struct mutex_arena *arena, struct mutex_team *lease,
		     size_t bytes);
void mutex_team_return(struct mutex_arena *arena, struct mutex_team *lease);

#endif
