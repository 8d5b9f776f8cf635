/* SPDX-License-Identifier: MIT */
/*
 * What bench/warm compares: a round of the pool is begin_fill to one slot, an
 * offer of it, and its claim, by a loop on the caller's side of the library's
 * boundary.
 *
 *   lend    lend_warm_pool_*
 *   mutex   the same policy, sequential, behind one mutex
 *   peer    a library with the functions below; its cap is always 2
 */
#ifndef LEND_BENCH_WARM_POOLS_H
#define LEND_BENCH_WARM_POOLS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/harness.h"

enum pool_id { POOL_LEND, POOL_MUTEX, POOL_PEER, POOLS };

#define POOL_IDS 8

struct pool_ops {
	const char *name;
	bool present;
	const char *absent;	/* why it is not */
	void *(*make)(size_t cap);
	void (*free)(void *pool);
	/* One round on the id with that number, below POOL_IDS. */
	void (*round)(void *pool, unsigned id);
	/* Its parts, for disturbing and for latencies. */
	bool (*claim)(void *pool, unsigned id);
	void (*fill)(void *pool, unsigned id, size_t target);
	void (*drain)(void *pool, unsigned id);
};

extern struct pool_ops pools[POOLS];

/* `peer` may be null. */
void pools_open(const char *peer);

#endif
