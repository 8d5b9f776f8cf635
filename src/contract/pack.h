/* SPDX-License-Identifier: MIT */
/*
 * Packing: blocks of A and B from wherever their elements lie to the panels
 * that a micro-kernel reads.
 *
 * A block has `rows` rows, the labels of A that C has (M), or of B (N), and
 * `cols` columns, the labels that are summed (K): B is packed by its columns,
 * which are rows here.  Element (i, p) is at src[row[i] + col[p]].  Offsets
 * count elements of the operand's type (complex ones, for complex types).
 * They may be anything, also negative or repeated, as long as each sum is the
 * place of an element; what they have of order is looked for.
 *
 * Real types: panels of `width` rows (the kernel's mr for A, nr for B),
 *
 *	dst[(i / width) * width * cols + p * width + i % width]
 *
 * where the last panel's missing rows are zero.
 *
 * Complex types: the kernel sees a real product of twice the rows and twice
 * the depth, in which C's columns hold re, im, re, im ..
 *
 *	(c re)   (a re  -a im)   (b re)
 *	(c im) = (a im   a re) * (b im)
 *
 * so a panel has `width` = mr / 2 complex rows of A or nr of B, and real depth
 * 2 * cols.  With q = 2 * p:
 *
 *	A, real column q:      re of row 0, im of row 0, re of row 1 ..
 *	A, real column q + 1:  -im of row 0, re of row 0, -im of row 1 ..
 *	B, real column q:      re of row 0, re of row 1 ..
 *	B, real column q + 1:  im of row 0, im of row 1 ..
 *
 * Conjugation needs no packing of its own: conj(a) b is the same with a im
 * negated.
 *
 * `period`: a hint, 0 for none.  Rows often come from two labels of which the
 * second lies without gaps:
 *
 *	row[i + period * t] == row[i] + t	for t < 8 or so
 *
 * with period the first label's extent in this block.  Then a vector of the
 * source goes to as many panels, and its line is best read once.  A hint that
 * does not hold, or holds for some rows alone, costs a little time and no
 * more.  It pays if the block has at least 4 periods (8 for f64 with AVX-512,
 * 16 for f32), and most if `width` divides the period: a caller that may
 * choose takes as many of the first label as a panel is wide, or a multiple,
 * and then a vector or more of the second.
 *
 * Nothing here allocates; the stack takes at most some 20 KiB.  Threads may
 * pack panels of one block at the same time.
 */
#ifndef LEND_CONTRACT_PACK_H
#define LEND_CONTRACT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/kernel.h"

/* PACK_ROWS, PACK_SUMS: of B, as products of few columns take it. */
enum pack_side { PACK_A, PACK_B, PACK_ROWS, PACK_SUMS };

/* What is packed: all that follows takes one. */
struct pack_spec {
	const struct kernel *kernel;	/* of the real type */
	enum pack_side side;
	bool complex;			/* elements are pairs of reals */
};

/* Reals of a panel in one real column. */
static inline size_t
pack_lanes(const struct pack_spec *spec)
{
	switch (spec->side) {
	case PACK_A: return spec->kernel->mr;
	case PACK_B: return spec->kernel->nr;
	case PACK_ROWS: return spec->kernel->rows_nr;
	case PACK_SUMS: return spec->kernel->sums_nr;
	}
	return 0;
}

/* Rows of a panel, in elements. */
static inline size_t
pack_width(const struct pack_spec *spec)
{
	size_t lanes = pack_lanes(spec);

	return spec->complex && spec->side == PACK_A ? lanes / 2 : lanes;
}

/* Real columns of one column. */
static inline size_t
pack_depth(const struct pack_spec *spec)
{
	return spec->complex ? 2 : 1;
}

/* The bytes of a panel that is `cols` columns deep. */
static inline size_t
pack_panel_bytes(const struct pack_spec *spec, size_t cols)
{
	return pack_lanes(spec) * pack_depth(spec) * cols *
	       spec->kernel->bytes;
}

/* The bytes of a packed block. */
static inline size_t
pack_bytes(const struct pack_spec *spec, size_t rows, size_t cols)
{
	size_t width = pack_width(spec);

	return (rows + width - 1) / width * pack_panel_bytes(spec, cols);
}

/* For complex types; pack() calls it. */
void
pack_complex(const struct pack_spec *spec, size_t rows, size_t cols,
	     const void *src, const int64_t *row, const int64_t *col,
	     size_t period, void *dst);

/* Packs a block. */
static inline void
pack(const struct pack_spec *spec, size_t rows, size_t cols, const void *src,
     const int64_t *row, const int64_t *col, size_t period, void *dst)
{
	const struct kernel *kernel = spec->kernel;

	if (spec->complex)
		pack_complex(spec, rows, cols, src, row, col, period, dst);
	else if (spec->side == PACK_A)
		kernel->pack_a(rows, cols, src, row, col, period, dst);
	else if (spec->side == PACK_B)
		kernel->pack_b(rows, cols, src, row, col, period, dst);
	else if (spec->side == PACK_ROWS)
		kernel->pack_for_rows(rows, cols, src, row, col, period, dst);
	else
		kernel->pack_for_sums(rows, cols, src, row, col, period, dst);
}

/*
 * The same, where each element is a sum over labels that this operand alone
 * has: of src[row[i] + col[p] + sum[s]] over s < count.  With `accumulate` it
 * adds to what dst has from an earlier call with the same rows and columns.
 */
void
pack_sum(const struct pack_spec *spec, size_t rows, size_t cols,
	 const void *src, const int64_t *row, const int64_t *col,
	 size_t count, const int64_t *sum, bool accumulate, void *dst);

/*
 * Multiplies a packed block of B by re + i im, in place; im counts for complex
 * types alone.
 */
void
pack_scale(const struct pack_spec *spec, size_t rows, size_t cols,
	   double re, double im, void *dst);

#endif
