/* SPDX-License-Identifier: MIT */
/*
 * Products of few columns (METHOD_NARROW): A is large and each of its elements
 * is used a few times only, so A is read where it lies rather than packed.
 *
 * Where A's unit stride is along rows, "rows": vectors of them meet each column
 * of B, and how their results come to C depends on its unit stride (store):
 *
 *	line		of other rows: as below
 *	along		of the same rows: they lie in C as in A; a unit is a
 *			cache line of them
 *	columns		of the columns: the same, vectors by columns are turned
 *
 *	    line (C's unit stride)
 *	   ------------------------->
 *	  |  x  x  x  x  ..  x  x	One x is a product by the kernel: a
 *   along|     vectors of `along`	column of it for each of B's.  A unit is
 *  (A's  |     by columns of B		a cache line of `along` times two of
 *   unit v				`line`; its results are turned in
 *   stride)				registers, C's lines then written whole.
 *
 * Where A's unit stride is along the sum, "sums": elements of A go one by one,
 * the columns of B are the vectors, and a unit is some rows.  C's unit stride
 * is of rows, "line", and results are turned, or of the columns, and they lie
 * as they are.
 *
 * Two lines of C that are neighbours: stores past the caches to pairs of lines
 * ran at 26 GB/s where single ones, each far from the other, ran at 15.  A
 * whole line of A: by vectors of half of one, each was read twice, at half the
 * speed.  Where so many results have no room in the first cache (of AVX2, more
 * than 24 columns in f64) it is one line of C, then fewer vectors of A.
 *
 * Where the terms of a sum are a multiple of 4096 bytes apart, their lines push
 * each other out of the caches, and lie in one bank of memory: then A is
 * copied first, for as many units along as the second cache has room for, in
 * runs that are read in order (2.4 times as fast, three times on two threads).
 *
 * B is packed whole, by each thread for itself: it is small.
 */
#ifndef LEND_CONTRACT_NARROW_H
#define LEND_CONTRACT_NARROW_H

#include <stdbool.h>
#include <stddef.h>

#include "contract/plan.h"
#include "contract/task.h"

/*
 * Makes the plan a narrow one if it suits: then its indices are ordered, its
 * blocks set.  Otherwise nothing has changed but the order of dims.
 */
bool narrow_plan(struct lend_plan *plan);

/* What kernels read of A for a unit of rows. */
size_t narrow_unit_bytes(const struct lend_plan *plan);
size_t narrow_a_bytes(const struct lend_plan *plan);
size_t narrow_tile_bytes(const struct lend_plan *plan);
size_t narrow_scratch(const struct lend_plan *plan);
void narrow_run(const struct task *task, const struct seat *seat);

#endif
