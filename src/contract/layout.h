/* SPDX-License-Identifier: MIT */
/* Extents and strides as the user gives them, checked and completed. */
#ifndef LEND_CONTRACT_LAYOUT_H
#define LEND_CONTRACT_LAYOUT_H

#include "contract/einsum.h"
#include "contract/plan.h"

/* Extents by label, strides by operand and place. */
struct shape {
	size_t extent[LEND_MAX_RANK];
	ptrdiff_t stride[OPERANDS][LEND_MAX_RANK];
};

/*
 * Fills *shape from the three layouts (the output's may be null).
 * Errors with *why filled: -EINVAL, -EOVERFLOW.
 */
int shape_read(struct shape *shape, const struct einsum *einsum,
	       const struct lend_layout *const layout[OPERANDS], size_t bytes,
	       struct lend_error *why);

/* Which offsets an operand touches. */
struct reach shape_reach(const struct shape *shape,
			 const struct einsum *einsum, enum operand which);

/*
 * Whether two arrays of `bytes` bytes an element may have a byte in common.
 * False is certain: their ranges are apart, or their elements lie on a
 * common grid at different places.
 */
bool reach_overlap(const void *x, const struct reach *reach_x, const void *y,
		   const struct reach *reach_y, size_t bytes);

#endif
