/* SPDX-License-Identifier: MIT */
/*
 * The C ABI of a library that the benchmarks measure lend against, loaded
 * with dlopen().  It lends the same two things from one owner:
 *
 *   peer_arena_new, peer_arena_free   an owner; no loan is out at its end
 *   peer_with_worker                  runs fn with the calling thread's three
 *                                     buffers, page-aligned, kept between
 *                                     calls
 *   peer_take_team                    one team set, exclusively
 *   peer_team_panel                   makes its panel at least so long
 *   peer_team_drop                    returns the set
 *   peer_trim                         frees what is idle
 *   peer_arena_stats                  what it holds and lends
 *   peer_loop_worker, peer_loop_team  optional: so many loans in a row, with
 *                                     the loop inside the library
 *
 * All but the first two may be called by several threads at once.  Running
 * out of memory ends the program.
 */
#ifndef LEND_BENCH_PEER_H
#define LEND_BENCH_PEER_H

#include <stddef.h>
#include <stdint.h>

struct peer_arena;
struct peer_lease;

/* The six sizes of struct lend_req, in its order. */
struct peer_request {
	size_t a_bytes;
	size_t tile_bytes;
	size_t worker_scatter;
	size_t b_bytes;
	size_t team_scatter;
	size_t barriers;
};

struct peer_accounts {
	size_t retained_bytes;
	size_t leased_bytes;
	size_t panel_bytes;
};

typedef void peer_worker_fn(void *a, void *tile, int64_t *scatter,
			    size_t scatter_capacity, void *ctx);

/* The functions, each named peer_ and the member's name in the library. */
struct peer_library {
	struct peer_arena *(*arena_new)(int traced);
	void (*arena_free)(struct peer_arena *arena);
	void (*with_worker)(const struct peer_arena *arena,
			    const struct peer_request *request,
			    peer_worker_fn *fn, void *ctx);
	struct peer_lease *(*take_team)(const struct peer_arena *arena,
					const struct peer_request *request,
					size_t pm, size_t pn);
	void *(*team_panel)(struct peer_lease *lease, size_t bytes);
	void (*team_drop)(struct peer_lease *lease);
	void (*trim)(const struct peer_arena *arena);
	struct peer_accounts (*arena_stats)(const struct peer_arena *arena);
	void (*loop_worker)(const struct peer_arena *arena,
			    const struct peer_request *request, uint64_t n);
	void (*loop_team)(const struct peer_arena *arena,
			  const struct peer_request *request, size_t pm,
			  size_t pn, uint64_t n);
};

#endif
