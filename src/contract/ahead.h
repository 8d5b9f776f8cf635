/* SPDX-License-Identifier: MIT */
/*
 * Reading ahead: the cache lines of the block that is packed next are asked
 * for while the present one is multiplied, a few with each tile, so that
 * memory and arithmetic work at the same time.  No processor's own
 * prefetcher follows blocks through a tensor.
 */
#ifndef LEND_CONTRACT_AHEAD_H
#define LEND_CONTRACT_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include "contract/dims.h"

/* Of one operand's block: rows x cols lines, at base + row[] + col[]. */
struct ahead {
	const char *base;
	int64_t bytes;		/* of an element */
	size_t rows, cols;
	int64_t *row, *col;	/* in elements; room for the block's */
	size_t at_row, at_col;	/* the next one; at_col == cols: done */
	size_t each;		/* lines with each tile */
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

/* Asks for the next few lines. */
static inline void
ahead_step(struct ahead *ahead)
{
	for (size_t i = ahead->each; i && ahead->at_col < ahead->cols; i--) {
		__builtin_prefetch(ahead->base + ahead->bytes *
				   (ahead->row[ahead->at_row] +
				    ahead->col[ahead->at_col]), 0, 2);
		if (++ahead->at_row == ahead->rows) {
			ahead->at_row = 0;
			ahead->at_col++;
		}
	}
}

#endif
