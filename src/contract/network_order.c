/* SPDX-License-Identifier: MIT */
/*
 * Which labels the result of a step keeps, and how it lies in memory.
 *
 * Forward: a label is kept as long as a value that is still there, or the
 * output, has it.
 *
 * Backward, from the output on: an intermediate is laid out for the step that
 * reads it, whose result's order is known then.  Its labels are
 *
 *   batch   in both operands and the result
 *   sum     in both operands
 *   free    in this operand and the result
 *
 *   a product of matrices   [batch] [sum] [free]: each matrix is one piece of
 *                           memory, and panels are packed by copying runs
 *   elements by elements    [sum] [batch and free]: the loops run along the
 *   (the other operand has  result and this operand at once; where they are
 *   nothing free, or many   few, the sum is innermost
 *   products are small)
 *
 * Within brackets, labels that the result has come in its order, unless this
 * value is much the larger: then, and where there is no such order, they come
 * in a common order of all labels (network_label_order.c) that serves the
 * steps which move most.  The sum's labels come in one order for both: that of
 * an operand whose layout is given, unless it is much the smaller.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/dims.h"
#include "contract/einsum.h"
#include "contract/error.h"
#include "contract/network_sides.h"

/* Rows so few are not worth a run along them. */
#define FEW_ROWS 16
/* One value has the say about the order if it is larger by this. */
#define DOMINATES 4

/* Forward. */

struct holders {
	size_t *count;		/* of each label: values that have it */
	size_t *mark;		/* the last visit that saw the label */
	size_t visit;
};

static bool
seen(struct holders *holders, uint32_t label)
{
	bool was = holders->mark[label] == holders->visit;

	holders->mark[label] = holders->visit;
	return was;
}

static void
hold(struct holders *holders, const struct value *value, size_t change)
{
	holders->visit++;
	for (size_t i = 0; i < value->rank; i++)
		if (!seen(holders, value->label[i]))
			holders->count[value->label[i]] += change;
}

static int
too_many(const struct lend_network *net, size_t step, struct lend_error *why)
{
	return lend__fail(why, -EINVAL, "step %zu (%s and %s): more than %d "
		"labels", step, value_text(net, net->step[step].x).text,
		value_text(net, net->step[step].y).text, LEND_MAX_RANK);
}

/* The step's labels that somebody still has, in the order of their places. */
static int
keep_labels(struct lend_network *net, size_t s, struct holders *holders,
	    struct lend_error *why)
{
	const struct step *step = &net->step[s];
	struct value *result = network_result(net, s);
	uint32_t kept[LEND_MAX_RANK];
	size_t all = 0;

	holders->visit++;
	for (int o = 0; o < 2; o++) {
		const struct value *value = &net->value[o ? step->y : step->x];

		for (size_t i = 0; i < value->rank; i++) {
			uint32_t label = value->label[i];

			if (seen(holders, label))
				continue;
			if (all++ == LEND_MAX_RANK)
				return too_many(net, s, why);
			if (holders->count[label])
				kept[result->rank++] = label;
		}
	}
	result->label = store_get(&net->store, result->rank, sizeof(*kept));
	if (!result->label)
		return network_no_memory(why);
	memcpy(result->label, kept, result->rank * sizeof(*kept));
	return 0;
}

static int
trace(struct lend_network *net, struct holders *holders,
      struct lend_error *why)
{
	for (size_t i = 0; i < net->count; i++)
		hold(holders, &net->value[i], 1);
	hold(holders, &net->output, 1);
	for (size_t s = 0; s < net->steps; s++) {
		const struct step *step = &net->step[s];
		int error;

		hold(holders, &net->value[step->x], (size_t)-1);
		if (!step_is_single(step))
			hold(holders, &net->value[step->y], (size_t)-1);
		error = keep_labels(net, s, holders, why);
		if (error)
			return error;
		hold(holders, network_result(net, s), 1);
	}
	return 0;
}

/* Backward. */

/* An order in the making. */
struct order {
	const struct sides *sides;
	uint32_t label[LEND_MAX_RANK];
	size_t rank;
};

/* A diagonal has its label twice. */
static void
add_once(struct order *order, uint32_t label)
{
	for (size_t i = 0; i < order->rank; i++)
		if (order->label[i] == label)
			return;
	order->label[order->rank++] = label;
}

/* Appends the labels of `from` that stand in one of two ways, in its order. */
static void
append_either(struct order *order, const struct value *from, unsigned in,
	      unsigned or_in)
{
	for (size_t i = 0; i < from->rank; i++) {
		unsigned is = order->sides->in[from->label[i]];

		if (is == in || is == or_in)
			add_once(order, from->label[i]);
	}
}

static void
append(struct order *order, const struct value *from, unsigned in)
{
	append_either(order, from, in, in);
}

/* What the operands of a step are laid out by. */
struct guide {
	const struct sides *sides;
	enum step_kind kind;
	const struct value *result;
	const struct value *sums;	/* its labels of the sum, in order */
};

/* The value with its labels in the common order, in `label`. */
static struct value
sort_common(const struct sides *sides, const struct value *value,
	    uint32_t *label)
{
	const size_t *rank = sides->rank;
	struct value sorted = *value;

	sorted.label = label;
	for (size_t i = 0; i < value->rank; i++) {
		size_t at = i;

		for (; at > 0 && rank[label[at - 1]] >
				 rank[value->label[i]]; at--)
			label[at] = label[at - 1];
		label[at] = value->label[i];
	}
	return sorted;
}

/* Lays out the operand on one side of a step. */
static void
lay_out(struct value *value, const struct guide *guide, unsigned side)
{
	unsigned own = side | IN_RESULT, all = IN_X | IN_Y | IN_RESULT;
	struct order order = { .sides = guide->sides };
	uint32_t label[LEND_MAX_RANK];
	struct value rows = *guide->result;

	if (value->elements > DOMINATES * rows.elements)
		rows = sort_common(guide->sides, value, label);
	if (guide->kind == STEP_MATRICES) {
		append(&order, &rows, all);
		append(&order, guide->sums, IN_X | IN_Y);
		append(&order, &rows, own);
	} else if (guide->result->elements < FEW_ROWS) {
		append_either(&order, &rows, own, all);
		append(&order, guide->sums, IN_X | IN_Y);
	} else {
		append(&order, guide->sums, IN_X | IN_Y);
		append_either(&order, &rows, own, all);
	}
	/* No intermediate has a label that it alone sums. */
	memcpy(value->label, order.label, order.rank * sizeof(*order.label));
}

/* A given layout's labels from the largest stride to the least. */
static struct value
sort_by_stride(const struct value *value, uint32_t *label)
{
	uint64_t size[LEND_MAX_RANK];
	struct value sorted = *value;

	if (!value->stride)
		return sorted;
	sorted.label = label;
	for (size_t i = 0; i < value->rank; i++) {
		uint64_t own = stride_size(value->stride[i]);
		size_t at = i;

		for (; at > 0 && size[at - 1] < own; at--) {
			size[at] = size[at - 1];
			label[at] = label[at - 1];
		}
		size[at] = own;
		label[at] = value->label[i];
	}
	return sorted;
}

/* The operand with the sum's labels in their order, in `label`. */
static struct value
order_of_sum(const struct lend_network *net, const struct sides *sides,
	     const struct step *step, uint32_t *label)
{
	const struct value *x = &net->value[step->x];
	const struct value *y = &net->value[step->y];
	bool x_given = step->x < net->count, y_given = step->y < net->count;
	const struct value *given = x_given ? x : y, *other = x_given ? y : x;

	if (x_given != y_given &&
	    given->elements * DOMINATES >= other->elements) {
		struct value sorted = sort_by_stride(given, label);

		return sorted;
	}
	return sort_common(sides, x, label);
}

static void
order_step(struct lend_network *net, const struct sides *sides, size_t s)
{
	const struct step *step = &net->step[s];
	uint32_t label[2][LEND_MAX_RANK];
	struct value result = s + 1 < net->steps ? *network_result(net, s) :
			      sort_by_stride(&net->output, label[0]);
	struct value sums = order_of_sum(net, sides, step, label[1]);
	struct guide guide = { sides, STEP_MATRICES, &result, &sums };

	sides_set(sides, net, step, &result);
	guide.kind = sides_kind(sides, net, step, &result);
	if (step->x >= net->count)
		lay_out(&net->value[step->x], &guide, IN_X);
	if (step->y >= net->count && !step_is_single(step))
		lay_out(&net->value[step->y], &guide, IN_Y);
	sides_clear(sides, net, step, &result);
}

static void
count_elements(const struct lend_network *net, struct value *value)
{
	value->elements = 1;
	for (size_t i = 0; i < value->rank; i++)
		value->elements *= (double)net->extent[value->label[i]];
}

int
network_order(struct lend_network *net, struct lend_error *why)
{
	size_t labels = net->labels + 1;
	struct holders holders = {
		.count = calloc(labels, sizeof(size_t)),
		.mark = calloc(labels, sizeof(size_t))
	};
	struct sides sides = { calloc(labels, 1),
			       calloc(labels, sizeof(size_t)) };
	int error;

	if (holders.count && holders.mark && sides.in && sides.rank)
		error = trace(net, &holders, why);
	else
		error = network_no_memory(why);
	if (!error) {
		for (size_t i = 0; i < net->count + net->steps; i++)
			count_elements(net, &net->value[i]);
		count_elements(net, &net->output);
		error = network_label_order(net, &sides, why);
	}
	for (size_t s = net->steps; !error && s-- > 0;)
		order_step(net, &sides, s);
	free(holders.count);
	free(holders.mark);
	free(sides.in);
	free(sides.rank);
	return error;
}
