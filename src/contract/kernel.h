/* SPDX-License-Identifier: MIT */
/*
 * Micro-kernels: what the processor does best, behind one table.
 *
 * A kernel multiplies two packed panels into a register tile of mr x nr
 * real elements:
 *
 *   a[p * mr + i]   p < k, i < mr    aligned to 64 bytes
 *   b[p * nr + j]   p < k, j < nr    aligned to 16 bytes or more
 *   tile(i, j) = sum over p of a[p * mr + i] * b[p * nr + j]
 *
 * Complex products are real ones of twice the rows and twice the depth (see
 * pack.h), so kernels know reals alone.  k may be 0: the tile is zero.
 */
#ifndef LEND_CONTRACT_KERNEL_H
#define LEND_CONTRACT_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/scalar.h"

/* How a tile meets C. */
enum kernel_update {
	KERNEL_SET,	/* C = tile; C is not read (it may hold NaN) */
	KERNEL_STREAM,	/* the same, past the caches where it can be */
	KERNEL_ADD,	/* C = C + tile */
	KERNEL_SCALE	/* C = beta * C + tile */
};

/*
 * What will be read soon: the line at base + offset[p * step] is asked for at
 * step p < k of a product, so that memory works while the kernel does, and
 * does not queue up.  They may be no addresses of anything.
 */
struct kernel_ahead {
	const char *base;
	const int64_t *offset;	/* in bytes */
	size_t step;		/* 1; 0: the first one alone */
};

/* No kernel has fewer rows. */
#define LEAST_MR 4
/* No kernel has more rows or columns. */
#define KERNEL_MOST_LANES 64
/* Cache lines of C's neighbours that narrow_turn() writes together. */
#define NARROW_LINES 2

/*
 * Products of a single column, over arrays as they lie: see loops.c.  Counts
 * (at least 1) and strides are of elements, a pair of reals where complex.
 * `acc` lies without gaps.  It and `c`, the only ones that are written, overlap
 * no other.
 */
struct kernel_loops {
	/* acc[0] += the sum over i of a[i * sa] * b[i * sb] */
	void (*dot)(size_t n, const void *a, int64_t sa, const void *b,
		    int64_t sb, void *acc);
	/* acc[i] += a[i * sa] * b[i * sb] */
	void (*add)(size_t n, const void *a, int64_t sa, const void *b,
		    int64_t sb, void *acc);
	/*
	 * acc[i] += the sum over p < 4 of a[i + p * ta] * b[i * sb + p * tb]
	 */
	void (*add4)(size_t n, const void *a, int64_t ta, const void *b,
		     int64_t sb, int64_t tb, void *acc);
	/* c[i * sc] = beta * c[i * sc] + alpha * acc[i]; 0 reads no c. */
	void (*store)(size_t n, const void *acc, struct scalar alpha,
		      struct scalar beta, void *c, int64_t sc);
};

/* A tile of products that lie side by side; see side.h.  Offsets in reals. */
struct kernel_side {
	size_t k;
	const int64_t *col_a;	/* of the sum's terms, k of them, in A */
	const int64_t *row_b;	/* and in B */
	size_t rows, cols;	/* at least 1, at most the kernel's */
	int64_t row_a, row_c;	/* from a row to the next */
	int64_t col_b, col_c;	/* from a column to the next */
	double alpha, beta;
};

struct kernel {
	const char *name;	/* "avx512", "avx2", "portable" */
	size_t bytes;		/* of a real element: 4 or 8 */
	size_t mr, nr;		/* mr even; mr * bytes divides by 16 */
	/*
	 * A whole tile straight into C, whose rows lie without gaps: element
	 * (i, j) is at c[col[j] + i].  C's alignment is that of its elements.
	 * `ahead` may be null, here and below.
	 */
	void (*direct)(size_t k, const void *a, const void *b, void *c,
		       const int64_t *col, enum kernel_update update,
		       double beta, const struct kernel_ahead *ahead);
	/* The tile into memory: tile[j * mr + i], aligned to 64 bytes. */
	void (*tile)(size_t k, const void *a, const void *b, void *tile,
		     const struct kernel_ahead *ahead);
	/*
	 * The first m x n of a tile in memory into C at any offsets: element
	 * (i, j) is at c[row[i] + col[j]].  Runs of rows that lie without
	 * gaps go in vectors.
	 */
	void (*scatter)(size_t m, size_t n, const void *tile, void *c,
			const int64_t *row, const int64_t *col,
			enum kernel_update update, double beta);
	/*
	 * Packs rows x cols elements of src, element (i, p) at
	 * src[row[i] + col[p]], into panels of mr rows:
	 * dst[(i / mr) * mr * cols + p * mr + i % mr], the last panel filled
	 * up with zeroes.  `period`: see pack.h.
	 */
	void (*pack_a)(size_t rows, size_t cols, const void *src,
		       const int64_t *row, const int64_t *col, size_t period,
		       void *dst);
	/* The same into panels of nr. */
	void (*pack_b)(size_t rows, size_t cols, const void *src,
		       const int64_t *row, const int64_t *col, size_t period,
		       void *dst);

	/* Products of few columns, with A where it lies: see narrow.h. */

	size_t lanes;		/* reals of a vector */
	size_t line;		/* of a cache line: one vector or more */
	size_t rows_mr, rows_nr; /* whole vectors that divide a line; columns */
	size_t sums_mr, sums_nr; /* at most `lanes`; columns */
	/*
	 * `rows_mr` rows that lie without gaps, element (i, p) at
	 * a[col[p] + i]: tile[j * stride + i] = the sum over p of that times
	 * b[p * rows_nr + j].  The tile's columns are aligned to a vector.
	 * The lines at next[col[p]] are asked for, which may be anywhere.
	 */
	void (*narrow_rows)(size_t k, const void *a, const int64_t *col,
			    const void *b, void *tile, size_t stride,
			    const void *next);
	/*
	 * `sums_mr` rows that lie anywhere, element (i, p) at
	 * a[row[i] + col[p]]: tile[i * stride + j], with b[p * sums_nr + j].
	 * The tile's rows are aligned to half a vector.  The lines at next +
	 * row[i] + col[p] are asked for, if neighbours in the sum are so in
	 * memory.
	 */
	void (*narrow_sums)(size_t k, const void *a, const int64_t *row,
			    const int64_t *col, const void *b, void *tile,
			    size_t stride, const void *next);
	/*
	 * Of such tiles into C, where rows lie without gaps: c[off[x] + i] =
	 * tile[i * stride + x], or as `update` says, for i < rows and
	 * first <= x < last, with rows at most NARROW_LINES * line and last
	 * at most `lanes`.  Reads, but does not use, x up to `lanes`.
	 */
	void (*narrow_turn)(size_t rows, const void *tile, size_t stride,
			    size_t first, size_t last, void *c,
			    const int64_t *off, enum kernel_update update,
			    double beta);
	/*
	 * The same where the tile lies as C does: c[off[i] + x] =
	 * tile[i * stride + x] for i < rows and x < length, any of both.
	 */
	void (*narrow_copy)(size_t rows, size_t length, const void *tile,
			    size_t stride, void *c, const int64_t *off,
			    enum kernel_update update, double beta);
	/* As pack_b, into panels of rows_nr, .. */
	void (*pack_for_rows)(size_t rows, size_t cols, const void *src,
			      const int64_t *row, const int64_t *col,
			      size_t period, void *dst);
	/* .. and of sums_nr. */
	void (*pack_for_sums)(size_t rows, size_t cols, const void *src,
			      const int64_t *row, const int64_t *col,
			      size_t period, void *dst);

	struct kernel_loops loops;	/* of reals */
	struct kernel_loops complex_loops;
	/*
	 * c[i] = alpha * a[i] * b[i * sb] + beta * c[i] for i < n, reals; sb
	 * is 0 or 1.  With a beta of 0 c is not read, and written as by
	 * KERNEL_STREAM if `past`.
	 */
	void (*product)(size_t n, const void *a, const void *b, int64_t sb,
			double alpha, double beta, void *c, bool past);

	/* Products side by side. */

	size_t side_rows, side_cols;	/* of a tile */
	/*
	 * For x < n, row i and column j of the tile:
	 *
	 *	c[i * row_c + j * col_c + x] = beta times that + alpha times
	 *		the sum over p < k of a[i * row_a + col_a[p] + x] *
	 *				      b[j * col_b + row_b[p] + x]
	 *
	 * A beta of 0 reads no c.
	 */
	void (*side)(size_t n, const struct kernel_side *side, const void *a,
		     const void *b, void *c);
};

/*
 * The kernel for reals of `bytes` bytes: the one named, which the processor
 * must have, or for a null name the best that it has.  Null: none such.
 */
const struct kernel *
kernel_find(const char *name, size_t bytes);

/* After KERNEL_STREAM, before others are told that C is written. */
void
kernel_fence(void);

/* The i-th kernel that this build has and the processor too, else null. */
const struct kernel *
kernel_at(size_t i);

#endif
