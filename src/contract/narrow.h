/* SPDX-License-Identifier: MIT */
/*
 * Products of few columns (METHOD_NARROW): A is large and each of its elements
 * is used a few times only, so A is read where it lies rather than packed.
 *
 * Where A's unit stride is along rows, "rows": a vector of them meets each
 * column of B.
 *
 *	    line (C's unit stride)
 *	   ------------------------->
 *	  |  x  x  x  x  ..  x  x	One x is a product by the kernel: a
 *   along|     vector of `along`	column of it for each of B's.  A unit is
 *  (A's  |     by columns of B		a vector of `along` times two vectors of
 *   unit v				`line`; its results are turned in
 *   stride)				registers, C's lines then written whole.
 *
 * Where A's unit stride is along the sum, "sums": elements of A go one by
 * one, the columns of B are the vectors, and a unit is two vectors of `line`.
 *
 * Two vectors of `line` are two lines of C that are neighbours: stores past
 * the caches to pairs of lines ran at 26 GB/s where single ones, each far from
 * the other, ran at 15.
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

size_t narrow_a_bytes(const struct lend_plan *plan);
size_t narrow_tile_bytes(const struct lend_plan *plan);
size_t narrow_scratch(const struct lend_plan *plan);
void narrow_run(const struct task *task, const struct seat *seat);

#endif
