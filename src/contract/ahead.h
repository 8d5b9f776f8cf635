/* SPDX-License-Identifier: MIT */
/*
 * Reading ahead: the cache lines of the block that is packed next are asked
 * for while the present one is multiplied, a few with each tile and one at each
 * step of its sum, so that memory and arithmetic work at the same time.  No processor's own
 * prefetcher follows blocks through a tensor.
 */
#ifndef LEND_CONTRACT_AHEAD_H
#define LEND_CONTRACT_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include "contract/dims.h"
#include "contract/kernel.h"

/* Of one operand's block: rows x cols lines, at base + row[] + col[]. */
struct ahead {
	const char *base;
	int64_t bytes;		/* of an element */
	size_t rows, cols;
	int64_t *row, *col;	/* in elements; room for the block's */
	size_t at_row, at_col;	/* the next one; at_col == cols: done */
	size_t each;		/* lines with each tile */
	int64_t *list;		/* room for the deepest block's steps */
	struct kernel_ahead kernel;
};

/* Which block, of which operand. */
struct ahead_block {
	const struct dims *row_dims, *col_dims;
	enum operand which;
	size_t row, rows, col, cols;
};

/*
 * Lists the block's lines, to be asked for within `tiles` tiles.  base, bytes
 * and the vectors of *ahead are set.
 */
void ahead_plan(struct ahead *ahead, const struct ahead_block *block,
		size_t tiles);

static inline void
ahead_none(struct ahead *ahead)
{
	ahead->cols = ahead->at_col = 0;
}

/*
 * The next few lines, for the kernel to ask for within its k steps; null when
 * there are none left.  Valid until the next call.
 */
const struct kernel_ahead *ahead_next(struct ahead *ahead, size_t k);

#endif
