/* SPDX-License-Identifier: MIT */
/*
 * A common order of all labels, outermost first, so that loops run long.
 *
 * A loop of a step goes on without a break along neighbouring labels that
 * stand in the same of its tensors.  All labels are one class at first.  The
 * steps, from the one that moves most elements on, split each class by where
 * its labels stand; of the parts the one comes innermost that the step's
 * inner loops are to run along:
 *
 *   a product of matrices    batch, sum, the smaller free part, the larger
 *   elements by elements     sum, the smaller free part, the larger, batch;
 *                            a larger free part after the batch
 *
 * What a step has not comes first.  So the heaviest steps have what they want
 * whole, others what is left of it.
 */
#include <stdlib.h>
#include <string.h>

#include "contract/error.h"
#include "contract/network_sides.h"
#include "contract/plan.h"

/* Steps that have a say; those after them move little. */
#define STEPS 64
#define PARTS 6

void
sides_set(const struct sides *sides, const struct lend_network *net,
	  const struct step *step, const struct value *result)
{
	const struct value *x = &net->value[step->x];
	const struct value *y = &net->value[step->y];

	for (size_t i = 0; i < x->rank; i++)
		sides->in[x->label[i]] |= IN_X;
	for (size_t i = 0; i < y->rank && !step_is_single(step); i++)
		sides->in[y->label[i]] |= IN_Y;
	for (size_t i = 0; i < result->rank; i++)
		sides->in[result->label[i]] |= IN_RESULT;
}

void
sides_clear(const struct sides *sides, const struct lend_network *net,
	    const struct step *step, const struct value *result)
{
	const struct value *value[] = {
		&net->value[step->x], &net->value[step->y], result
	};

	for (int o = 0; o < 3; o++)
		for (size_t i = 0; i < value[o]->rank; i++)
			sides->in[value[o]->label[i]] = 0;
}

double
sides_extent(const struct sides *sides, const struct lend_network *net,
	     const struct value *value, unsigned in)
{
	double product = 1;

	for (size_t i = 0; i < value->rank; i++)
		if (sides->in[value->label[i]] == in)
			product *= (double)net->extent[value->label[i]];
	return product;
}

enum step_kind
sides_kind(const struct sides *sides, const struct lend_network *net,
	   const struct step *step, const struct value *result)
{
	const struct value *x = &net->value[step->x];
	double m = sides_extent(sides, net, result, IN_X | IN_RESULT);
	double n = sides_extent(sides, net, result, IN_Y | IN_RESULT);
	double batch = sides_extent(sides, net, result,
				    IN_X | IN_Y | IN_RESULT);
	double k = sides_extent(sides, net, x, IN_X | IN_Y);

	if (m == 1 || n == 1)
		return STEP_ELEMENTS;
	return batch >= PLAN_LEAST_RUN && m * n * k <= PLAN_SMALL_PRODUCT ?
	       STEP_ELEMENTS : STEP_MATRICES;
}

/* The heaviest steps. */

struct heavy {
	double moved;
	size_t step;
};

static int
compare(const void *x, const void *y)
{
	const struct heavy *a = x, *b = y;

	if (a->moved != b->moved)
		return a->moved < b->moved ? 1 : -1;
	return (a->step > b->step) - (a->step < b->step);
}

static struct heavy *
sort_steps(const struct lend_network *net)
{
	struct heavy *heavy = calloc(net->steps, sizeof(*heavy));

	for (size_t s = 0; heavy && s < net->steps; s++) {
		const struct step *step = &net->step[s];

		heavy[s].step = s;
		heavy[s].moved = net->value[step->x].elements +
				 net->value[step->y].elements +
				 network_result(net, s)->elements;
	}
	if (heavy)
		qsort(heavy, net->steps, sizeof(*heavy), compare);
	return heavy;
}

/* Splitting. */

/* For each way that a label may stand, the part it goes to: 0 outermost. */
struct parts {
	unsigned char of[8];
};

static struct parts
parts_of(const struct sides *sides, const struct lend_network *net,
	 const struct step *step, const struct value *result)
{
	double m = sides_extent(sides, net, result, IN_X | IN_RESULT);
	double n = sides_extent(sides, net, result, IN_Y | IN_RESULT);
	double batch = sides_extent(sides, net, result,
				    IN_X | IN_Y | IN_RESULT);
	bool elements = sides_kind(sides, net, step, result) == STEP_ELEMENTS;
	unsigned more = m > n ? IN_X : IN_Y, less = more ^ IN_X ^ IN_Y;
	struct parts parts = { { 0 } };
	bool free_inside = (m == 1 || n == 1) && m * n > batch;

	parts.of[IN_X] = parts.of[IN_Y] = 1;
	parts.of[IN_X | IN_Y] = elements ? 1 : 2;
	parts.of[less | IN_RESULT] = 3;
	parts.of[more | IN_RESULT] = 4;
	parts.of[IN_X | IN_Y | IN_RESULT] = !elements ? 1 :
					    free_inside ? 3 : 5;
	return parts;
}

/*
 * Stable, class by class: by `class`, then by part.  The classes get new
 * numbers, in order.
 */
static void
split(const struct sides *sides, const struct parts *parts, size_t labels,
      uint32_t *order, uint32_t *spare, size_t *class)
{
	size_t next = 0;

	for (size_t from = 0, to; from < labels; from = to) {
		size_t old = class[order[from]], at = from;

		for (to = from; to < labels && class[order[to]] == old; to++)
			;
		for (unsigned part = 0; part < PARTS; part++) {
			size_t begin = at;

			for (size_t i = from; i < to; i++)
				if (parts->of[sides->in[order[i]]] == part)
					spare[at++] = order[i];
			next += at > begin;
			for (size_t i = begin; i < at; i++)
				class[spare[i]] = labels + next;
		}
	}
	memcpy(order, spare, labels * sizeof(*order));
	/* Numbers above `labels` told the new classes from the old ones. */
	for (size_t i = 0; i < labels; i++)
		class[i] -= labels;
}

int
network_label_order(const struct lend_network *net,
		    const struct sides *sides, struct lend_error *why)
{
	struct heavy *heavy = sort_steps(net);
	uint32_t *order = calloc(net->labels + 1, sizeof(*order));
	uint32_t *spare = calloc(net->labels + 1, sizeof(*spare));
	size_t *class = calloc(net->labels + 1, sizeof(*class));
	int error = 0;

	if (!heavy || !order || !spare || !class)
		error = network_no_memory(why);
	for (size_t i = 0; !error && i < net->labels; i++)
		order[i] = (uint32_t)i;
	for (size_t i = 0; !error && i < net->steps && i < STEPS; i++) {
		size_t s = heavy[i].step;
		const struct step *step = &net->step[s];
		const struct value *result = network_result(net, s);
		struct parts parts;

		sides_set(sides, net, step, result);
		parts = parts_of(sides, net, step, result);
		split(sides, &parts, net->labels, order, spare, class);
		sides_clear(sides, net, step, result);
	}
	for (size_t i = 0; !error && i < net->labels; i++)
		sides->rank[order[i]] = i;
	free(heavy);
	free(order);
	free(spare);
	free(class);
	return error;
}
