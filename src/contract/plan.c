/* SPDX-License-Identifier: MIT */
#include "contract/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lend/conf.h>

#include "base/util.h"
#include "contract/error.h"
#include "contract/layout.h"
#include "contract/method.h"
#include "contract/narrow.h"
#include "contract/side.h"

/*
 * One input that is this many times larger than the output has the say about
 * the order of the rows that they share: its cache lines are read whole, the
 * output's elements go where they must.
 */
#define DOMINATES 4
/* The piece of a fused index that takes whole lines of two operands. */
#define PIECE 24
#define SUM_PIECE 32

size_t
lend_type_bytes(enum lend_type type)
{
	switch (type) {
	case LEND_F32: return 4;
	case LEND_F64: return 8;
	case LEND_CF32: return 8;
	case LEND_CF64: return 16;
	}
	return 0;
}

/* Sorting labels into the fused indices. */

/* What a label is to each operand. */
static struct dim
label_dim(const struct shape *shape, const struct einsum *einsum,
	  size_t label, unsigned *in)
{
	struct dim dim = { .extent = shape->extent[label] };

	*in = 0;
	for (int which = 0; which < OPERANDS; which++)
		for (size_t i = 0; i < einsum->of[which].rank; i++)
			if (einsum->of[which].label[i] == label) {
				/* A diagonal's strides add up. */
				dim.stride[which] += shape->stride[which][i];
				*in |= 1u << which;
			}
	return dim;
}

static struct dims *
index_of(struct lend_plan *plan, unsigned in)
{
	struct dims *const index[8] = {
		[1] = plan->sum_a, [2] = plan->sum_b, [3] = plan->k,
		[5] = plan->m, [6] = plan->n, [7] = plan->batch
	};

	return index[in];
}

static int
sort_labels(struct lend_plan *plan, const struct shape *shape,
	    const struct einsum *einsum, struct lend_error *why)
{
	for (size_t label = 0; label < einsum->labels; label++) {
		unsigned in;
		struct dim dim = label_dim(shape, einsum, label, &in);

		if (!dims_add(index_of(plan, in), dim))
			return lend__fail(why, -EOVERFLOW,
				"label '%s': extent %zu makes the product of "
				"extents overflow",
				label_text(einsum->point[label]).utf8,
				dim.extent);
	}
	return 0;
}

/* Which of the two inputs gives the rows. */

static void
swap_strides(struct dims *dims)
{
	for (size_t i = 0; i < dims->count; i++) {
		int64_t stride = dims->dim[i].stride[OPERAND_A];

		dims->dim[i].stride[OPERAND_A] =
			dims->dim[i].stride[OPERAND_B];
		dims->dim[i].stride[OPERAND_B] = stride;
	}
}

static void
swap_dims(struct dims **x, struct dims **y)
{
	struct dims *dims = *x;

	*x = *y;
	*y = dims;
}

static void
swap_inputs(struct lend_plan *plan)
{
	struct reach reach = plan->reach[OPERAND_A];

	plan->swapped = !plan->swapped;
	plan->reach[OPERAND_A] = plan->reach[OPERAND_B];
	plan->reach[OPERAND_B] = reach;
	swap_dims(&plan->m, &plan->n);
	swap_dims(&plan->sum_a, &plan->sum_b);
	swap_strides(plan->m);
	swap_strides(plan->n);
	swap_strides(plan->k);
	swap_strides(plan->batch);
	swap_strides(plan->sum_a);
	swap_strides(plan->sum_b);
}

static uint64_t
least_stride(const struct dims *dims, enum operand which)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < dims->count; i++) {
		uint64_t size = stride_size(dims->dim[i].stride[which]);

		least = size < least ? size : least;
	}
	return least;
}

/* The output's closest elements shall be in one column. */
static bool
wants_swap(const struct lend_plan *plan)
{
	uint64_t m = least_stride(plan->m, OPERAND_C);
	uint64_t n = least_stride(plan->n, OPERAND_C);

	/* A vector is the second operand, the matrix is in rows. */
	if (plan->m->total == 1 || plan->n->total == 1)
		return plan->n->total > 1;
	return n < m;
}

/* The order of each index. */

/* How many elements each operand has, once each. */
struct counts {
	double of[OPERANDS];
};

static struct counts
count_elements(const struct lend_plan *plan)
{
	double m = (double)plan->m->total, n = (double)plan->n->total;
	double k = (double)plan->k->total, batch = (double)plan->batch->total;

	return (struct counts){ {
		[OPERAND_A] = m * k * batch * (double)plan->sum_a->total,
		[OPERAND_B] = k * n * batch * (double)plan->sum_b->total,
		[OPERAND_C] = m * n * batch
	} };
}

/*
 * Orders a fused index of one input and the output.  Returns the period of
 * the one that comes second; *hint is the same if that is the input.
 */
static size_t
order_with_output(struct dims *dims, enum operand input,
		  const struct counts *counts, size_t unit, size_t *hint)
{
	bool dominates = counts->of[input] >
			 DOMINATES * counts->of[OPERAND_C];
	/* No panel is to straddle two pieces. */
	size_t piece = size_max(PIECE, unit), period;

	*hint = 0;
	if (dominates)
		return dims_order(dims, input, OPERAND_C, unit, piece);
	period = dims_order(dims, OPERAND_C, input, unit, piece);
	*hint = period;
	return period;
}

static size_t
order_sum(struct dims *dims, const struct counts *counts)
{
	bool a_first = counts->of[OPERAND_A] >= counts->of[OPERAND_B];

	return dims_order(dims, a_first ? OPERAND_A : OPERAND_B,
			  a_first ? OPERAND_B : OPERAND_A, 8, SUM_PIECE);
}

/* With A the larger operand if it can be, whichever way C lies. */
static bool
order_narrow(struct lend_plan *plan)
{
	bool swap = plan->m->total < plan->n->total;

	if (swap)
		swap_inputs(plan);
	if (narrow_plan(plan))
		return true;
	swap_inputs(plan);
	if (narrow_plan(plan))
		return true;
	if (!swap)
		swap_inputs(plan);
	return false;
}

/* Orders all indices, and chooses the blocks that suit. */
static void
order(struct lend_plan *plan, const struct counts *counts, bool pack)
{
	const struct kernel *kernel = plan->kernel;
	size_t line = CACHE_LINE / plan->bytes;
	struct blocks_wish wish = {
		.m = plan->m->total, .n = plan->n->total, .k = plan->k->total,
		.mr = plan->complex ? kernel->mr / 2 : kernel->mr,
		.nr = kernel->nr,
		/* Packed for real kernels: see pack.h. */
		.a_bytes = plan->complex ? 2 * plan->bytes : plan->bytes,
		.b_bytes = plan->bytes
	};

	dims_sort(plan->batch, OPERAND_C);
	dims_fuse(plan->batch);
	dims_sort(plan->sum_a, OPERAND_A);
	dims_fuse(plan->sum_a);
	dims_sort(plan->sum_b, OPERAND_B);
	dims_fuse(plan->sum_b);
	if (plan->method == METHOD_GEMM && !pack && order_narrow(plan))
		return;
	if (plan->method == METHOD_LOOPS && side_plan(plan))
		return;
	wish.m_unit = line * order_with_output(plan->m, OPERAND_A, counts,
					       wish.mr, &plan->period_a);
	wish.n_unit = line * order_with_output(plan->n, OPERAND_B, counts,
					       wish.nr, &plan->period_b);
	wish.k_unit = line * order_sum(plan->k, counts);
	plan->blocks = blocks_choose(&wish, caches());
}

static void
estimate(struct lend_plan *plan, const struct counts *counts)
{
	double products = (double)plan->m->total * (double)plan->n->total *
			  (double)plan->k->total * (double)plan->batch->total;

	plan->moved = (double)plan->bytes * (counts->of[OPERAND_A] +
		      counts->of[OPERAND_B] + counts->of[OPERAND_C]);
	plan->flops = 2 * products;
	if (plan->sum_a->total > 1)
		plan->flops += counts->of[OPERAND_A];
	if (plan->sum_b->total > 1)
		plan->flops += counts->of[OPERAND_B];
	if (plan->complex)
		plan->flops *= 4;
}

static int
find_kernel(struct lend_plan *plan, const struct lend_plan_options *options,
	    struct lend_error *why)
{
	const char *name = options ? options->kernel : NULL;
	const char *from = "";
	size_t real = plan->complex ? plan->bytes / 2 : plan->bytes;

	if (options && options->size != sizeof(*options))
		return lend__fail(why, -EINVAL,
			"the options are %zu bytes long, not %zu",
			options->size, sizeof(*options));
	if (!name) {
		name = lend_conf_kernel();
		from = " of LEND_CONF";
	}
	plan->kernel = kernel_find(name, real);
	if (!plan->kernel)
		return lend__fail(why, -EINVAL,
			"kernel '%s'%s: there is none such, or the processor "
			"lacks it", name, from);
	return 0;
}

static void
keep_output(struct lend_plan *plan, const struct shape *shape,
	    const struct einsum *einsum)
{
	size_t rank = einsum->of[OPERAND_C].rank;

	for (size_t i = 0; i < rank; i++) {
		plan->output_extent[i] =
			shape->extent[einsum->of[OPERAND_C].label[i]];
		plan->output_stride[i] = shape->stride[OPERAND_C][i];
	}
	plan->output.rank = rank;
	plan->output.extent = plan->output_extent;
	plan->output.stride = plan->output_stride;
}

static int
fill(struct lend_plan *plan, const struct shape *shape,
     const struct einsum *einsum, const struct lend_plan_options *options,
     struct lend_error *why)
{
	struct counts counts;
	int error = find_kernel(plan, options, why);

	if (!error)
		error = sort_labels(plan, shape, einsum, why);
	if (error)
		return error;
	for (int i = 0; i < OPERANDS; i++)
		plan->reach[i] = shape_reach(shape, einsum, i);
	keep_output(plan, shape, einsum);
	plan->empty = plan->m->total * plan->n->total *
		      plan->batch->total == 0;
	plan->nothing = plan->k->total == 0 || plan->sum_a->total == 0 ||
			plan->sum_b->total == 0;
	counts = count_elements(plan);
	estimate(plan, &counts);
	if (wants_swap(plan)) {
		swap_inputs(plan);
		counts = count_elements(plan);
	}
	method_loops(plan);
	order(plan, &counts, options && options->pack);
	return 0;
}

/* One piece of memory: the plan, then its indices. */
static struct lend_plan *
plan_new(size_t labels)
{
	enum { INDICES = 7 };
	size_t index_bytes = dims_bytes(labels + 1);
	struct lend_plan *plan = calloc(1, sizeof(*plan) +
					   INDICES * index_bytes);
	char *place = (char *)(plan + 1);
	struct dims **index[INDICES];

	if (!plan)
		return NULL;
	index[0] = &plan->m;
	index[1] = &plan->n;
	index[2] = &plan->k;
	index[3] = &plan->batch;
	index[4] = &plan->sum_a;
	index[5] = &plan->sum_b;
	index[6] = &plan->units;
	for (int i = 0; i < INDICES; i++, place += index_bytes) {
		*index[i] = (struct dims *)place;
		dims_clear(*index[i]);
	}
	return plan;
}

int
lend_plan_create(lend_plan **plan, const char *text, enum lend_type type,
		 const struct lend_layout *a, const struct lend_layout *b,
		 const struct lend_layout *c,
		 const struct lend_plan_options *options,
		 struct lend_error *why)
{
	const struct lend_layout *const layout[OPERANDS] = { a, b, c };
	struct einsum einsum;
	struct shape shape;
	struct lend_plan *made;
	int error;

	if (!plan || !text || !a || !b)
		return lend__fail(why, -EINVAL, "an argument is null");
	if (!lend_type_bytes(type))
		return lend__fail(why, -EINVAL, "there is no type %d", type);
	error = einsum_parse(&einsum, text, why);
	if (!error)
		error = shape_read(&shape, &einsum, layout,
				   lend_type_bytes(type), why);
	if (error)
		return error;
	made = plan_new(einsum.labels);
	if (!made)
		return lend__fail(why, -ENOMEM, "no memory for the plan");
	made->type = type;
	made->bytes = lend_type_bytes(type);
	made->complex = type == LEND_CF32 || type == LEND_CF64;
	error = fill(made, &shape, &einsum, options, why);
	if (error) {
		free(made);
		return error;
	}
	*plan = made;
	return 0;
}

void
lend_plan_destroy(lend_plan *plan)
{
	free(plan);
}

void
lend_plan_output(const lend_plan *plan, struct lend_layout *c)
{
	*c = plan->output;
}
