/* SPDX-License-Identifier: MIT */
/*
 * Labels fused into one index, and the offsets ("scatter vectors") that it
 * stands for.
 *
 *   index = i0 + extent0 * (i1 + extent1 * (i2 + ..))      dim 0 runs fastest
 *   offset in an operand = i0 * stride0 + i1 * stride1 + ..
 *
 * Any layout of a tensor thus becomes a matrix whose rows and columns lie at
 * the offsets of two such vectors, one for each of its two fused indices.
 */
#ifndef LEND_CONTRACT_DIMS_H
#define LEND_CONTRACT_DIMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/einsum.h"

struct dim {
	size_t extent;
	int64_t stride[OPERANDS];	/* in elements, 0 where it is not */
};

/* How far one step goes, either way. */
static inline uint64_t
stride_size(int64_t stride)
{
	return stride < 0 ? -(uint64_t)stride : (uint64_t)stride;
}

/* Room for every label, and for the one that a cut makes of one. */
#define DIMS_MAX (LEND_MAX_RANK + 1)

struct dims {
	size_t count;
	size_t total;		/* product of the extents; 1 without any */
	struct dim dim[];
};

/* A list with room for `room` dims, in storage of dims_bytes(room). */
static inline size_t
dims_bytes(size_t room)
{
	return sizeof(struct dims) + room * sizeof(struct dim);
}

/* Leaves no dim: an index of one place. */
void dims_clear(struct dims *dims);

/*
 * Appends a dim; one of extent 1 leaves no trace.  False: the product of the
 * extents would overflow, nothing changed.
 */
bool dims_add(struct dims *dims, struct dim dim);

/* Sorts by the sizes of the strides in `which`, least first. */
void dims_sort(struct dims *dims, enum operand which);

/* Joins neighbours that are one index to all operands. */
void dims_fuse(struct dims *dims);

/*
 * Orders a fused index for two operands that it runs over: `first`'s
 * smallest stride runs fastest.  Where `second` has its unit stride at
 * another dim, that one comes next, and the first is cut to a piece of about
 * `piece` elements (a multiple of `unit`), so that a block of the index takes
 * whole cache lines of both.  Returns the extent that then precedes the
 * second's unit stride, 0 where there is none.
 */
size_t dims_order(struct dims *dims, enum operand first, enum operand second,
		  size_t unit, size_t piece);

/*
 * A place in a fused index, and the offsets of it in all three operands.  It
 * steps by runs: along dim 0 the offsets grow by that dim's strides.
 */
struct cursor {
	const struct dims *dims;
	int64_t offset[OPERANDS];
	size_t index[DIMS_MAX];
};

void cursor_start(struct cursor *cursor, const struct dims *dims,
		  size_t begin);

/* How many indices the run has from here on; SIZE_MAX without any dims. */
static inline size_t
cursor_run(const struct cursor *cursor)
{
	return cursor->dims->count ?
	       cursor->dims->dim[0].extent - cursor->index[0] : SIZE_MAX;
}

/* Steps `count` indices on, at most to the run's end. */
void cursor_step(struct cursor *cursor, size_t count);

/* Along a run, from one index to the next; 0 without any dims. */
static inline int64_t
run_stride(const struct dims *dims, enum operand which)
{
	return dims->count ? dims->dim[0].stride[which] : 0;
}

/* Writes the offsets of `begin` .. `begin + count - 1`. */
void dims_offsets(const struct dims *dims, enum operand which, size_t begin,
		  size_t count, int64_t *offset);

/* The offset of one index. */
int64_t dims_offset(const struct dims *dims, enum operand which,
		    size_t index);

#endif
