/* SPDX-License-Identifier: MIT */
/*
 * A plan: a contraction as a batch of matrix products.
 *
 *   C[m, n] = alpha * sum over k of A[m, k] * B[k, n] + beta * C[m, n]
 *
 * Each label went to one of six fused indices:
 *
 *   in       A B C   A   C     B C     A B     A        B
 *   index    batch   m         n       k       sum_a    sum_b
 *
 * `swapped` says that A is the caller's second operand: the rows m are those
 * that C's unit stride runs along, as the kernels want it, or where these are
 * few, and A is better read in place, the others.
 *
 * Where n is 1 there is nothing to pack for (METHOD_LOOPS): then the batch is
 * part of m, and what a single operand sums is part of k.  Nor is there where
 * nothing is summed and columns are long: an outer product.  The same where many
 * small products lie side by side, the batch at unit stride in all three: then
 * m, n and batch are one index, and the loops run along many products at once,
 * or where there are tiles enough, a kernel does (METHOD_SIDE, side.h).
 * Where n is small A is not packed (METHOD_NARROW, narrow.h).
 *
 * Immutable once made.
 */
#ifndef LEND_CONTRACT_PLAN_H
#define LEND_CONTRACT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/contract.h>

#include "contract/blocks.h"
#include "contract/dims.h"
#include "contract/kernel.h"

enum method {
	METHOD_GEMM,	/* blocks are packed, a kernel multiplies them */
	METHOD_NARROW,	/* B alone is packed */
	METHOD_SIDE,	/* nothing is, many products in a vector */
	METHOD_LOOPS	/* loops over the arrays as they lie */
};

/* Side by side are batches of this many at least, at unit stride .. */
#define PLAN_LEAST_RUN 16
/* .. and a small product has at most this many terms, m * n * k. */
#define PLAN_SMALL_PRODUCT 4096

/* The elements that an operand touches lie at offsets low .. high. */
struct reach {
	int64_t low, high;
	uint64_t grid;		/* all of them are multiples of it; 0: only 0 */
};

/* What C's unit stride is of: how results of a narrow product get there. */
enum narrow_store {
	NARROW_LINE,	/* other rows than A's: they are turned */
	NARROW_ALONG,	/* the same rows as A's */
	NARROW_COLUMNS	/* the columns */
};

/* Which dims of m the vectors of a narrow product go along. */
struct narrow {
	bool sums;		/* A's unit stride is of the sum, not of m */
	enum narrow_store store;
	size_t along;		/* unless sums: the dim of A's unit stride; */
	size_t span;		/* so many of which are in a unit, else 1; */
	size_t line;		/* the dim of C's unit stride, or another, */
	size_t rows;		/* so many of which are in a unit */
	size_t gathered;	/* units whose A is copied first, 0: none */
};

/* Products side by side: how many, and what of m a tile's edges go along. */
struct side {
	size_t run;
	struct dim row, col;
};

struct lend_plan {
	enum lend_type type;
	bool complex;
	bool swapped;
	bool empty;		/* the output has no element */
	bool nothing;		/* a sum has no terms: C = beta * C */
	enum method method;
	size_t bytes;		/* of an element */
	double flops;
	double moved;		/* bytes of all elements, once each */
	const struct kernel *kernel;
	struct blocks blocks;
	size_t period_a;	/* see pack.h */
	size_t period_b;
	struct reach reach[OPERANDS];	/* as the plan sees A and B */
	struct dims *m, *n, *k, *batch, *sum_a, *sum_b;
	struct narrow narrow;
	struct side side;
	struct dims *units;	/* of these two methods: m in such steps */
	struct lend_layout output;
	size_t output_extent[LEND_MAX_RANK];
	ptrdiff_t output_stride[LEND_MAX_RANK];
};

#endif
