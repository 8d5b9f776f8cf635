/* SPDX-License-Identifier: MIT */
/*
 * Packing of sums: packing to a buffer that stays in the nearest cache, and
 * addition from there.  Addition does not care what the panels hold, so this
 * serves all types.  Either for each term a piece of a panel is packed, or for
 * each column its terms are, as if they were columns; the nearer elements
 * should follow one another.
 */
#include <string.h>

#include "base/util.h"
#include "contract/pack.h"

enum {
	BUFFER = 16384,		/* bytes */
	TERMS_MIN = 4		/* so few are not worth a call per column */
};

/* A panel, or less. */
struct job {
	const struct pack_spec *spec;
	size_t rows;
	const char *src;
	const int64_t *row;
	size_t column;		/* bytes of a column's reals */
	size_t chunk;		/* columns that the buffer takes */
	char buffer[BUFFER] __attribute__((aligned(CACHE_LINE)));
};

/* x[i] += y[i] */
static void
add(const struct job *job, void *x, const void *y, size_t bytes)
{
	if (job->spec->kernel->bytes == sizeof(double)) {
		double *to = x;
		const double *from = y;

		for (size_t i = 0; i < bytes / sizeof(double); i++)
			to[i] += from[i];
	} else {
		float *to = x;
		const float *from = y;

		for (size_t i = 0; i < bytes / sizeof(float); i++)
			to[i] += from[i];
	}
}

/* Packs elements at row[i] + col[p] + base to the buffer; cols <= chunk. */
static void
fetch(struct job *job, int64_t base, const int64_t *col, size_t cols)
{
	size_t element = job->spec->kernel->bytes * pack_depth(job->spec);

	pack(job->spec, job->rows, cols,
	     job->src + base * (int64_t)element, job->row, col, 0,
	     job->buffer);
}

/* Term by term, a piece of the panel at a time. */
static void
by_term(struct job *job, size_t cols, const int64_t *col, size_t count,
	const int64_t *sum, char *to)
{
	for (size_t n; cols; cols -= n, col += n) {
		n = size_min(cols, job->chunk);
		for (size_t s = 0; s < count; s++) {
			fetch(job, sum[s], col, n);
			add(job, to, job->buffer, n * job->column);
		}
		to += n * job->column;
	}
}

/* Column by column, the terms packed as columns. */
static void
by_column(struct job *job, size_t cols, const int64_t *col, size_t count,
	  const int64_t *sum, char *to)
{
	for (size_t p = 0; p < cols; p++, to += job->column)
		for (size_t n, s = 0; s < count; s += n) {
			n = size_min(count - s, job->chunk);
			fetch(job, col[p], sum + s, n);
			for (size_t k = 0; k < n; k++)
				add(job, to, job->buffer + k * job->column,
				    job->column);
		}
}

/* The length of the first step, either way. */
static uint64_t
step(const int64_t *offset)
{
	uint64_t gap = (uint64_t)offset[1] - (uint64_t)offset[0];

	return gap > INT64_MAX ? -gap : gap;
}

static bool
terms_are_nearer(size_t cols, const int64_t *col, size_t count,
		 const int64_t *sum)
{
	return count >= TERMS_MIN && (cols < 2 || step(sum) < step(col));
}

void
pack_sum(const struct pack_spec *spec, size_t rows, size_t cols,
	 const void *src, const int64_t *row, const int64_t *col,
	 size_t count, const int64_t *sum, bool accumulate, void *dst)
{
	size_t width = pack_width(spec);
	bool columns = terms_are_nearer(cols, col, count, sum);
	struct job job;
	char *to = dst;

	if (!accumulate)
		memset(dst, 0, pack_bytes(spec, rows, cols));
	job.spec = spec;
	job.src = src;
	job.column = pack_panel_bytes(spec, 1);
	job.chunk = BUFFER / job.column;
	for (size_t i = 0; i < rows; i += width) {
		job.rows = size_min(rows - i, width);
		job.row = row + i;
		if (columns)
			by_column(&job, cols, col, count, sum, to);
		else
			by_term(&job, cols, col, count, sum, to);
		to += pack_panel_bytes(spec, cols);
	}
}
