/* SPDX-License-Identifier: MIT */
/*
 * Contractions at random: every kind of label, of layout, of factor, of type.
 * The same number gives the same one.
 *
 *   free, contracted, batch labels; labels summed out of one operand alone;
 *   diagonals; outer products, elementwise ones, scalars; extents 0 and 1;
 *   labels of one to four bytes
 *   strides permuted, padded, negative; of inputs also zero and overlapping
 *   alpha and beta null, 0, 1, other, complex
 */
#ifndef TESTS_SUPPORT_EINSUM_RANDOM_H
#define TESTS_SUPPORT_EINSUM_RANDOM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/einsum_naive.h"

/* How the output's layout is handed to the library. */
enum random_output {
	OUTPUT_WHOLE,		/* extents and strides */
	OUTPUT_EXTENTS,		/* extents alone: row-major */
	OUTPUT_STRIDES,		/* strides alone */
	OUTPUT_NULL,		/* nothing */
	OUTPUT_KINDS
};

struct random_tensor {
	size_t extent[NAIVE_RANK];
	ptrdiff_t stride[NAIVE_RANK];
	bool plain;	/* row-major without gaps: no strides are given */
};

struct random_einsum {
	uint64_t seed;
	char text[512];
	enum lend_type type;
	struct naive_labels labels[NAIVE_OPERANDS];
	struct random_tensor tensor[NAIVE_OPERANDS];
	enum random_output output;
	/* Elements, alpha and beta are small integers: nothing is rounded. */
	bool exact;
	double alpha[2], beta[2];
	bool alpha_null, beta_null;
};

struct random_wish {
	size_t products;	/* at most about so many are added up */
	bool edges;		/* one of M, N, K at the edge of a block */
	bool plain;		/* no gaps, no zero strides, no extents of 0 */
};

/* Makes the one of this number. */
void random_einsum(struct random_einsum *einsum, uint64_t seed,
		   const struct random_wish *wish);

/* The layout of an operand, with strides; it points into *einsum. */
struct lend_layout random_layout(const struct random_einsum *einsum, int o);

#endif
