/* SPDX-License-Identifier: MIT */
/*
 * Where contractions are tried: an arena and a pool for teams of every shape.
 * The functions without a comment that says otherwise assert.
 */
#ifndef TESTS_SUPPORT_CONTRACT_SITE_H
#define TESTS_SUPPORT_CONTRACT_SITE_H

#include <stddef.h>

#include "lend/contract.h"
#include "support/einsum_case.h"

/* Those of the largest team. */
#define SITE_THREADS 8

struct site {
	lend_arena *arena;
	lend_pool *pool;
	struct lend_exec exec;
};

struct site site_open(void);
void site_close(struct site *site);

struct team_shape {
	size_t pm, pn;
};

#define TEAM_SHAPES 7

/*
 * 1x1, 2x1, 1x2, 2x2, 4x1, 4x2, and 0x0, which is the plan's own; then again
 * from the start.  Does not assert.
 */
struct team_shape team_shape(unsigned i);

/* Where the memory comes from. */
enum site_source { FROM_ARENA, FROM_WORKSPACE, FROM_LENDER };

/* A host's lender that has what it lends from the arena.  Does not assert. */
struct lend_lender site_lender(lend_arena *arena);

/*
 * Executes the contraction and compares: what comes out is right, nothing
 * else was touched.
 */
void site_try(const struct site *site, const struct random_einsum *einsum,
	      const struct lend_plan_options *options,
	      struct team_shape team, enum site_source source);

#endif
