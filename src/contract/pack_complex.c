/* SPDX-License-Identifier: MIT */
/*
 * Complex packing, on top of the kernels' real packing, which knows what is
 * fast: the block is packed with re and im side by side, and then columns
 * become pairs of real columns.
 *
 *   f32  goes as reals of 8 bytes, by the f64 kernel of the instruction set,
 *        if that has half the rows of A in a panel, or as many of B.  The
 *        block is packed to the upper half of dst (of B, which does not grow,
 *        to dst) and expanded from there.
 *   f64  goes as two reals with offsets of their own, panel by panel: of A to
 *        a buffer, to be expanded from there, of B straight to its place.
 */
#include <string.h>

#include "base/util.h"
#include "contract/pack.h"

enum {
	LANES_MAX = KERNEL_MOST_LANES,
	CHUNK = 16		/* columns that the buffer takes */
};

/* A's two columns of one: re, im and -im, re.  `from` may be the second. */
static void
expand_f64(size_t lanes, const double *from, double *to)
{
	memcpy(to, from, lanes * sizeof(*to));
	for (size_t i = 0; i + 1 < lanes; i += 2) {
		to[lanes + i] = -to[i + 1];
		to[lanes + i + 1] = to[i];
	}
}

static void
expand_f32(size_t lanes, const float *from, float *to)
{
	memcpy(to, from, lanes * sizeof(*to));
	for (size_t i = 0; i + 1 < lanes; i += 2) {
		to[lanes + i] = -to[i + 1];
		to[lanes + i + 1] = to[i];
	}
}

/* B's two columns of one, in place: n re, then n im. */
static void
split_f32(size_t n, float *to)
{
	float im[LANES_MAX];

	for (size_t i = 0; i < n; i++) {
		float re = to[2 * i];

		im[i] = to[2 * i + 1];
		to[i] = re;
	}
	memcpy(to + n, im, n * sizeof(im[0]));
}

/* The kernel that packs pairs of this one's reals as its own; or null. */
static const struct kernel *
pair_kernel(const struct pack_spec *spec)
{
	const struct kernel *kernel = spec->kernel, *pairs;

	if (kernel->bytes != sizeof(float))
		return NULL;
	pairs = kernel_find(kernel->name, 2 * sizeof(float));
	if (!pairs)
		return NULL;
	if (spec->side == PACK_A)
		return 2 * pairs->mr == kernel->mr ? pairs : NULL;
	return pairs->nr == kernel->nr ? pairs : NULL;
}

/*
 * In the order of memory, columns of all panels alike.  Of A, column c of n
 * goes from n + c to 2 * c and the next: the first of these is never beyond
 * what is still to be read, and the second only comes up to the next.
 */
static void
pack_pairs(const struct pack_spec *spec, const struct kernel *pairs,
	   size_t rows, size_t cols, const void *src, const int64_t *row,
	   const int64_t *col, size_t period, float *dst)
{
	size_t lanes = pack_lanes(spec), width = pack_width(spec);
	size_t n = (rows + width - 1) / width * cols;
	float *from = dst + n * lanes;

	if (spec->side == PACK_B) {
		pairs->pack_b(rows, cols, src, row, col, period, dst);
		for (; n; n--, dst += 2 * lanes)
			split_f32(lanes, dst);
		return;
	}
	pairs->pack_a(rows, cols, src, row, col, period, from);
	for (; n; n--, from += lanes, dst += 2 * lanes)
		expand_f32(lanes, from, dst);
}

/* Offsets of re and im, in reals; of re alone with a step of 1. */
static void
double_offsets(size_t n, const int64_t *offset, size_t step, int64_t *real)
{
	for (size_t i = 0; i < n; i++, real += step) {
		real[0] = 2 * offset[i];
		if (step == 2)
			real[1] = 2 * offset[i] + 1;
	}
}

/* A panel of A. */
static void
pack_panel_a(const struct kernel *kernel, size_t rows, size_t cols,
	     const void *src, const int64_t *row, const int64_t *col,
	     char *dst)
{
	double buffer[LANES_MAX * CHUNK]
		__attribute__((aligned(CACHE_LINE)));
	int64_t real_row[LANES_MAX], real_col[CHUNK];
	size_t bytes = kernel->mr * kernel->bytes;

	double_offsets(rows, row, 2, real_row);
	for (size_t n; cols; cols -= n, col += n) {
		char *from = (char *)buffer;

		n = size_min(cols, CHUNK);
		double_offsets(n, col, 1, real_col);
		kernel->pack_a(2 * rows, n, src, real_row, real_col, 0,
			       buffer);
		for (size_t p = 0; p < n; p++, from += bytes) {
			if (kernel->bytes == sizeof(double))
				expand_f64(kernel->mr, (double *)from,
					   (double *)dst);
			else
				expand_f32(kernel->mr, (float *)from,
					   (float *)dst);
			dst += 2 * bytes;
		}
	}
}

/* A panel of B. */
static void
pack_panel_b(const struct kernel *kernel, size_t rows, size_t cols,
	     const void *src, const int64_t *row, const int64_t *col,
	     char *dst)
{
	int64_t real_row[LANES_MAX], real_col[2 * LANES_MAX];

	double_offsets(rows, row, 1, real_row);
	for (size_t n; cols; cols -= n, col += n) {
		n = size_min(cols, LANES_MAX);
		double_offsets(n, col, 2, real_col);
		kernel->pack_b(rows, 2 * n, src, real_row, real_col, 0, dst);
		dst += 2 * n * kernel->nr * kernel->bytes;
	}
}

void
pack_complex(const struct pack_spec *spec, size_t rows, size_t cols,
	     const void *src, const int64_t *row, const int64_t *col,
	     size_t period, void *dst)
{
	const struct kernel *kernel = spec->kernel;
	const struct kernel *pairs = pair_kernel(spec);
	size_t width = pack_width(spec);
	char *to = dst;

	if (pairs) {
		pack_pairs(spec, pairs, rows, cols, src, row, col, period,
			   dst);
		return;
	}
	for (size_t i = 0; i < rows; i += width) {
		size_t n = size_min(rows - i, width);

		if (spec->side == PACK_A)
			pack_panel_a(kernel, n, cols, src, row + i, col, to);
		else
			pack_panel_b(kernel, n, cols, src, row + i, col, to);
		to += pack_panel_bytes(spec, cols);
	}
}
