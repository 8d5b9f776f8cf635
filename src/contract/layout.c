/* SPDX-License-Identifier: MIT */
#include "contract/layout.h"

#include <errno.h>
#include <string.h>

#include "contract/error.h"

static size_t
extent_of(const struct shape *shape, const struct einsum *einsum,
	  enum operand which, size_t place)
{
	return shape->extent[einsum->of[which].label[place]];
}

/* Learns an operand's extents; `known` tells which labels have one. */
static int
read_extents(struct shape *shape, const struct einsum *einsum,
	     enum operand which, const struct lend_layout *layout,
	     bool *known, struct lend_error *why)
{
	size_t rank = einsum->of[which].rank;

	if (layout->rank != rank)
		return lend__fail(why, -EINVAL,
			"%s has %zu dimensions, the einsum names %zu labels",
			operand_name(which), layout->rank, rank);
	if (rank && !layout->extent)
		return lend__fail(why, -EINVAL, "%s has no extents",
				  operand_name(which));
	for (size_t i = 0; i < rank; i++) {
		uint8_t label = einsum->of[which].label[i];

		if (known[label] &&
		    shape->extent[label] != layout->extent[i])
			return lend__fail(why, -EINVAL,
				"label '%s': extent %zu in dimension %zu of "
				"%s, but %zu before",
				label_text(einsum->point[label]).utf8,
				layout->extent[i], i, operand_name(which),
				shape->extent[label]);
		shape->extent[label] = layout->extent[i];
		known[label] = true;
	}
	return 0;
}

/* Row-major without gaps; an extent of 0 counts as 1. */
static int
default_strides(struct shape *shape, const struct einsum *einsum,
		enum operand which, struct lend_error *why)
{
	ptrdiff_t stride = 1;

	for (size_t i = einsum->of[which].rank; i-- > 0;) {
		size_t extent = extent_of(shape, einsum, which, i);

		shape->stride[which][i] = stride;
		if (__builtin_mul_overflow(stride, extent ? extent : 1,
					   &stride))
			return lend__fail(why, -EOVERFLOW,
				"the elements of %s are too many",
				operand_name(which));
	}
	return 0;
}

/* Offsets in bytes shall fit, with room for sums of a few of them. */
static int
check_reach(const struct shape *shape, const struct einsum *einsum,
	    enum operand which, size_t bytes, struct lend_error *why)
{
	ptrdiff_t sum = 0;

	for (size_t i = 0; i < einsum->of[which].rank; i++) {
		size_t extent = extent_of(shape, einsum, which, i);
		ptrdiff_t stride = shape->stride[which][i], term, room;

		if (extent <= 1)
			continue;
		if (__builtin_mul_overflow(stride, extent, &term) ||
		    __builtin_sub_overflow(0, term < 0 ? term : -term, &term) ||
		    __builtin_add_overflow(sum, term, &sum) ||
		    __builtin_mul_overflow(sum, (ptrdiff_t)bytes * 4, &room))
			return lend__fail(why, -EOVERFLOW,
				"dimension %zu of %s: extent %zu with stride "
				"%td is beyond any address space", i,
				operand_name(which), extent, stride);
	}
	return 0;
}

static bool
has_elements(const struct shape *shape, const struct einsum *einsum,
	     enum operand which)
{
	for (size_t i = 0; i < einsum->of[which].rank; i++)
		if (extent_of(shape, einsum, which, i) == 0)
			return false;
	return true;
}

/*
 * The output's elements are distinct if, by growing stride, each one steps
 * over all that the smaller ones reach.
 */
static int
check_distinct(const struct shape *shape, const struct einsum *einsum,
	       struct lend_error *why)
{
	size_t rank = einsum->of[OPERAND_C].rank, reached = 0;
	bool done[LEND_MAX_RANK] = { false };

	if (!has_elements(shape, einsum, OPERAND_C))
		return 0;
	for (size_t n = 0; n < rank; n++) {
		const ptrdiff_t *stride = shape->stride[OPERAND_C];
		size_t least = rank, extent;

		for (size_t i = 0; i < rank; i++)
			if (!done[i] && (least == rank ||
			    stride_size(stride[i]) < stride_size(stride[least])))
				least = i;
		done[least] = true;
		extent = extent_of(shape, einsum, OPERAND_C, least);
		if (extent == 1)
			continue;
		if (stride_size(stride[least]) <= reached)
			return lend__fail(why, -EINVAL,
				"dimension %zu of the output: stride %td may "
				"put two elements at one place", least,
				stride[least]);
		reached += (extent - 1) * stride_size(stride[least]);
	}
	return 0;
}

static int
read_strides(struct shape *shape, const struct einsum *einsum,
	     enum operand which, const struct lend_layout *layout,
	     size_t bytes, struct lend_error *why)
{
	size_t rank = einsum->of[which].rank;
	int error = 0;

	if (!layout || !layout->stride)
		error = default_strides(shape, einsum, which, why);
	else if (rank)
		memcpy(shape->stride[which], layout->stride,
		       rank * sizeof(*layout->stride));
	if (!error)
		error = check_reach(shape, einsum, which, bytes, why);
	return error;
}

int
shape_read(struct shape *shape, const struct einsum *einsum,
	   const struct lend_layout *const layout[OPERANDS], size_t bytes,
	   struct lend_error *why)
{
	bool known[LEND_MAX_RANK] = { false };
	int error = 0;

	for (int i = 0; i < OPERANDS && !error; i++) {
		bool optional = i == OPERAND_C &&
				(!layout[i] || !layout[i]->extent);

		if (!optional)
			error = read_extents(shape, einsum, i, layout[i],
					     known, why);
	}
	for (int i = 0; i < OPERANDS && !error; i++)
		error = read_strides(shape, einsum, i, layout[i], bytes, why);
	return error ? error : check_distinct(shape, einsum, why);
}

static uint64_t
gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

struct reach
shape_reach(const struct shape *shape, const struct einsum *einsum,
	    enum operand which)
{
	struct reach reach = { 0, 0, 0 };

	for (size_t i = 0; i < einsum->of[which].rank; i++) {
		size_t extent = extent_of(shape, einsum, which, i);
		int64_t stride = shape->stride[which][i], last;

		if (extent <= 1)
			continue;
		last = (int64_t)(extent - 1) * stride;
		if (last < 0)
			reach.low += last;
		else
			reach.high += last;
		reach.grid = gcd(reach.grid, stride_size(stride));
	}
	return reach;
}

bool
reach_overlap(const void *x, const struct reach *reach_x, const void *y,
	      const struct reach *reach_y, size_t bytes)
{
	intptr_t size = (intptr_t)bytes;
	intptr_t low_x = (intptr_t)x + reach_x->low * size;
	intptr_t low_y = (intptr_t)y + reach_y->low * size;
	intptr_t end_x = (intptr_t)x + reach_x->high * size + size;
	intptr_t end_y = (intptr_t)y + reach_y->high * size + size;
	uint64_t grid = gcd(reach_x->grid, reach_y->grid) * bytes;
	uint64_t apart;

	if (end_x <= low_y || end_y <= low_x)
		return false;
	if (grid <= bytes)
		return true;
	apart = (uint64_t)(x < y ? (intptr_t)y - (intptr_t)x :
				   (intptr_t)x - (intptr_t)y) % grid;
	return apart < bytes || apart > grid - bytes;
}
