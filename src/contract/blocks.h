/* SPDX-License-Identifier: MIT */
/*
 * Cache blocks, and what they need of memory.
 *
 *   kc   so that a panel of B (kc x nr) stays in half of L1
 *   mc   so that the block of A (mc x kc) stays in half of L2
 *   nc   so that the panel of B (kc x nc) stays in a share of L3
 *
 * all divided evenly over the matrix.  Policy: plain functions of numbers.
 */
#ifndef LEND_CONTRACT_BLOCKS_H
#define LEND_CONTRACT_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

#include "contract/caches.h"

/* More rows or columns bring nothing, but their offsets take cache. */
#define MOST_MC 2048
#define MOST_NC 4096

/* In elements; mr and nr of the kernel (half its rows where complex). */
struct blocks {
	size_t mr, nr;
	size_t mc, nc, kc;
	size_t m_share, n_share; /* what threads' shares are multiples of */
};

/* What blocks are chosen for. */
struct blocks_wish {
	size_t m, n, k;		/* the matrices */
	size_t mr, nr;		/* the kernel's tile, in elements */
	/* Blocks of such multiples take whole lines of both operands. */
	size_t m_unit, n_unit, k_unit;
	size_t a_bytes;		/* a packed element of A */
	size_t b_bytes;		/* a packed element of B */
};

struct blocks blocks_choose(const struct blocks_wish *wish,
			    const struct caches *caches);

/*
 * The least multiple of `unit` that divides `total` into as few blocks as
 * `most` (at least `unit`) does: the last one is then no stump.
 */
size_t block_even(size_t total, size_t unit, size_t most);

/*
 * The share `index` of `shares` of 0 .. total, cut at multiples of `unit`:
 * as even as that allows, the first ones larger.
 */
struct share {
	size_t begin, end;
};

struct share share_of(size_t total, size_t unit, size_t index, size_t shares);

#endif
