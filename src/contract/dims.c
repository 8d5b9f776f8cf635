/* SPDX-License-Identifier: MIT */
#include "contract/dims.h"

#include "base/util.h"

void
dims_clear(struct dims *dims)
{
	dims->count = 0;
	dims->total = 1;
}

bool
dims_add(struct dims *dims, struct dim dim)
{
	size_t total;

	if (dim.extent == 1)
		return true;
	if (__builtin_mul_overflow(dims->total, dim.extent, &total))
		return false;
	dims->total = total;
	dims->dim[dims->count++] = dim;
	return true;
}

static void
move(struct dims *dims, size_t from, size_t to)
{
	struct dim dim = dims->dim[from];

	for (; from > to; from--)
		dims->dim[from] = dims->dim[from - 1];
	dims->dim[to] = dim;
}

/* A stride of zero comes last: stepping it is free, so it may be far out. */
static uint64_t
sort_key(const struct dim *dim, enum operand which)
{
	return stride_size(dim->stride[which]) - 1;
}

/* Few elements, mostly sorted already: by insertion. */
void
dims_sort(struct dims *dims, enum operand which)
{
	for (size_t i = 1; i < dims->count; i++) {
		uint64_t key = sort_key(&dims->dim[i], which);
		size_t to = i;

		while (to > 0 && sort_key(&dims->dim[to - 1], which) > key)
			to--;
		move(dims, i, to);
	}
}

static bool
is_one_index(const struct dim *inner, const struct dim *outer)
{
	for (int i = 0; i < OPERANDS; i++)
		if (outer->stride[i] !=
		    inner->stride[i] * (int64_t)inner->extent)
			return false;
	return true;
}

void
dims_fuse(struct dims *dims)
{
	size_t last = 0;

	for (size_t i = 1; i < dims->count; i++) {
		if (is_one_index(&dims->dim[last], &dims->dim[i]))
			dims->dim[last].extent *= dims->dim[i].extent;
		else
			dims->dim[++last] = dims->dim[i];
	}
	if (dims->count)
		dims->count = last + 1;
}

/* The largest divisor of `extent` up to `most` that `unit` divides, or 0. */
static size_t
divisor(size_t extent, size_t unit, size_t most)
{
	for (size_t d = most / unit * unit; d > 0; d -= unit)
		if (extent % d == 0)
			return d;
	return 0;
}

/* Cuts dim 0 in two, the outer part to stand at place `to`. */
static void
cut(struct dims *dims, size_t piece, size_t to)
{
	struct dim outer = dims->dim[0];

	for (int i = 0; i < OPERANDS; i++)
		outer.stride[i] *= (int64_t)piece;
	outer.extent /= piece;
	dims->dim[0].extent = piece;
	dims->dim[dims->count++] = outer;
	move(dims, dims->count - 1, to);
}

size_t
dims_order(struct dims *dims, enum operand first, enum operand second,
	   size_t unit, size_t piece)
{
	size_t at = 0, part;

	dims_sort(dims, first);
	dims_fuse(dims);
	while (at < dims->count &&
	       stride_size(dims->dim[at].stride[second]) != 1)
		at++;
	if (at == 0 || at == dims->count)
		return 0;
	move(dims, at, 1);
	if (dims->dim[0].extent > piece) {
		part = divisor(dims->dim[0].extent, unit, piece);
		if (!part)
			part = divisor(dims->dim[0].extent, 4, piece);
		if (part > 1)
			cut(dims, part, 2);
	}
	return dims->dim[0].extent;
}

int64_t
dims_offset(const struct dims *dims, enum operand which, size_t index)
{
	int64_t offset = 0;

	for (size_t i = 0; i < dims->count && index; i++) {
		size_t extent = dims->dim[i].extent;

		offset += (int64_t)(index % extent) *
			  dims->dim[i].stride[which];
		index /= extent;
	}
	return offset;
}

/* Steps dims 1 and up by one; returns by how much the offset changes. */
static int64_t
carry(const struct dims *dims, enum operand which, size_t *index)
{
	int64_t change = 0;

	for (size_t i = 1; i < dims->count; i++) {
		const struct dim *dim = &dims->dim[i];

		change += dim->stride[which];
		if (++index[i] < dim->extent)
			break;
		change -= (int64_t)dim->extent * dim->stride[which];
		index[i] = 0;
	}
	return change;
}

/* count offsets from base on; returns where they end. */
static inline int64_t *
run(int64_t *offset, int64_t base, int64_t step, size_t count)
{
	for (size_t i = 0; i < count; i++)
		offset[i] = base + (int64_t)i * step;
	return offset + count;
}

void
dims_offsets(const struct dims *dims, enum operand which, size_t begin,
	     size_t count, int64_t *offset)
{
	size_t index[DIMS_MAX], first;
	int64_t base = 0, step;

	if (dims->count == 0) {
		run(offset, 0, 0, count);
		return;
	}
	step = dims->dim[0].stride[which];
	if (begin + count <= dims->dim[0].extent) {
		run(offset, (int64_t)begin * step, step, count);
		return;
	}
	for (size_t i = 0; i < dims->count; i++) {
		index[i] = begin ? begin % dims->dim[i].extent : 0;
		begin /= dims->dim[i].extent;
		if (i)
			base += (int64_t)index[i] * dims->dim[i].stride[which];
	}
	for (first = index[0];; first = 0) {
		size_t length = size_min(dims->dim[0].extent - first, count);

		offset = run(offset, base + (int64_t)first * step, step,
			     length);
		count -= length;
		if (!count)
			return;
		base += carry(dims, which, index);
	}
}

void
cursor_start(struct cursor *cursor, const struct dims *dims, size_t begin)
{
	cursor->dims = dims;
	for (int which = 0; which < OPERANDS; which++)
		cursor->offset[which] = 0;
	for (size_t i = 0; i < dims->count; i++) {
		const struct dim *dim = &dims->dim[i];

		cursor->index[i] = begin ? begin % dim->extent : 0;
		begin /= dim->extent;
		for (int which = 0; which < OPERANDS; which++)
			cursor->offset[which] += dim->stride[which] *
						 (int64_t)cursor->index[i];
	}
}

void
cursor_step(struct cursor *cursor, size_t count)
{
	const struct dims *dims = cursor->dims;

	for (size_t i = 0; i < dims->count; i++) {
		const struct dim *dim = &dims->dim[i];

		for (int which = 0; which < OPERANDS; which++)
			cursor->offset[which] += dim->stride[which] *
						 (int64_t)count;
		cursor->index[i] += count;
		if (cursor->index[i] < dim->extent)
			return;
		for (int which = 0; which < OPERANDS; which++)
			cursor->offset[which] -= dim->stride[which] *
						 (int64_t)dim->extent;
		cursor->index[i] = 0;
		count = 1;
	}
}
