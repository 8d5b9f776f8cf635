/* SPDX-License-Identifier: MIT */
#include "contract/ahead.h"

#include <string.h>

#include "base/util.h"

/* With one at each step there is no room for more in time. */
#define MOST_EACH 512

/*
 * How far apart, in the fused index, two neighbours in memory are: 1 where
 * dim 0 has the unit stride, dim 0's extent where dim 1 has it, else 0.
 */
static size_t
unit_period(const struct dims *dims, enum operand which)
{
	if (dims->count > 0 && dims->dim[0].stride[which] == 1)
		return 1;
	if (dims->count > 1 && dims->dim[1].stride[which] == 1)
		return dims->dim[0].extent;
	return 0;
}

/* One offset for each line; returns how many. */
static size_t
lines(const struct dims *dims, enum operand which, size_t begin, size_t count,
      size_t per_line, int64_t *offset)
{
	size_t period = unit_period(dims, which), kept = 0;

	dims_offsets(dims, which, begin, count, offset);
	if (!period)
		return count;
	/* The block's own first ones may be within a line. */
	for (size_t i = 0; i < count; ) {
		size_t along = (begin + i) / period;
		size_t end = size_min((along + 1) * period - begin, count);

		if (along % per_line == 0 || i < period) {
			memmove(offset + kept, offset + i,
				(end - i) * sizeof(*offset));
			kept += end - i;
		}
		i = end;
	}
	return kept;
}

void
ahead_plan(struct ahead *ahead, const struct ahead_block *block,
	   size_t tiles)
{
	size_t per_line = CACHE_LINE / (size_t)ahead->bytes;

	ahead->rows = lines(block->row_dims, block->which, block->row,
			    block->rows, per_line, ahead->row);
	ahead->cols = lines(block->col_dims, block->which, block->col,
			    block->cols, per_line, ahead->col);
	ahead->at_row = ahead->at_col = 0;
	ahead->each = ahead->rows * ahead->cols / tiles + 1;
	if (ahead->each > MOST_EACH)
		ahead_none(ahead);
}

/* Up to n lines of the present column. */
static size_t
list_column(struct ahead *ahead, int64_t *list, size_t n)
{
	int64_t col = ahead->col[ahead->at_col];
	const int64_t *row = ahead->row + ahead->at_row;

	n = size_min(n, ahead->rows - ahead->at_row);
	for (size_t i = 0; i < n; i++)
		list[i] = (row[i] + col) * ahead->bytes;
	ahead->at_row += n;
	if (ahead->at_row == ahead->rows) {
		ahead->at_row = 0;
		ahead->at_col++;
	}
	return n;
}

const struct kernel_ahead *
ahead_next(struct ahead *ahead, size_t k)
{
	size_t n = 0, most = size_min(ahead->each, k);

	while (n < most && ahead->at_col < ahead->cols)
		n += list_column(ahead, ahead->list + n, most - n);
	if (!n)
		return NULL;
	for (size_t i = n; i < k; i++)
		ahead->list[i] = ahead->list[n - 1];
	ahead->kernel.base = ahead->base;
	ahead->kernel.offset = ahead->list;
	ahead->kernel.step = 1;
	return &ahead->kernel;
}
