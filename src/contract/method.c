/* SPDX-License-Identifier: MIT */
#include "contract/method.h"

/*
 * An outer product is written run by run from so many rows at unit stride on;
 * below, a tile of many columns is stored at once.
 */
#define LEAST_ROWS 64

/* All of `from` becomes part of `to`; false: nothing has changed. */
static bool
merge(struct dims *to, struct dims *from)
{
	size_t count = to->count, total = to->total;

	for (size_t i = 0; i < from->count; i++)
		if (!dims_add(to, from->dim[i])) {
			to->count = count;
			to->total = total;
			return false;
		}
	dims_clear(from);
	return true;
}

/*
 * The rows, the columns and the batch are one index.  It overflows only where
 * the output has no elements, and nothing is executed.
 */
static bool
merge_output(struct lend_plan *plan)
{
	return merge(plan->m, plan->n) && merge(plan->m, plan->batch);
}

static bool
has_own_sums(const struct lend_plan *plan)
{
	return plan->sum_a->total > 1 || plan->sum_b->total > 1;
}

/* Whether the closest elements lie side by side; sorts the index. */
static bool
has_runs(struct dims *dims, size_t least, enum operand input)
{
	if (dims->total < least)
		return false;
	dims_sort(dims, OPERAND_C);
	dims_fuse(dims);
	return dims->dim[0].extent >= least &&
	       dims->dim[0].stride[input] == 1 &&
	       dims->dim[0].stride[OPERAND_C] == 1;
}

/*
 * A single column: rows and batch are one index, and an operand's own sum is
 * a sum over both, along which the other one stands still.  Not where both
 * have such sums: the product of the two is more work than their sum.
 */
static bool
single_column(struct lend_plan *plan)
{
	struct dims *sum = plan->sum_a->total > 1 ? plan->sum_a : plan->sum_b;
	size_t terms;

	return plan->n->total <= 1 &&
	       !(plan->sum_a->total > 1 && plan->sum_b->total > 1) &&
	       !__builtin_mul_overflow(plan->k->total, sum->total, &terms) &&
	       merge(plan->m, plan->batch) && merge(plan->k, sum);
}

/*
 * No sum: a column of C is a run of A times one element of B.  Of reals: for
 * complex numbers there is no kernel that does without the tile.
 */
static bool
outer_product(struct lend_plan *plan)
{
	return !plan->complex && plan->k->total == 1 &&
	       !has_own_sums(plan) &&
	       has_runs(plan->m, LEAST_ROWS, OPERAND_A) && merge_output(plan);
}

/* Many small products that lie side by side. */
static bool
small_products(struct lend_plan *plan)
{
	double terms = (double)plan->m->total * (double)plan->n->total *
		       (double)plan->k->total;

	return terms <= PLAN_SMALL_PRODUCT && !has_own_sums(plan) &&
	       has_runs(plan->batch, PLAN_LEAST_RUN, OPERAND_A) &&
	       plan->batch->dim[0].stride[OPERAND_B] == 1 &&
	       merge_output(plan);
}

void
method_loops(struct lend_plan *plan)
{
	if (single_column(plan) || outer_product(plan) ||
	    small_products(plan))
		plan->method = METHOD_LOOPS;
}
