/* SPDX-License-Identifier: MIT */
/*
 * Paths by greed: of all pairs that share a label the one of the least cost,
 * of equal ones the one of the oldest tensors.  When no two share a label, the
 * two smallest are multiplied.
 *
 * The usual cost is by how much the product is larger than the two tensors
 * (in elements; most often it is smaller).  Where labels stand in many
 * operands that can lead far astray, and so can any other; so there are
 * several, and the path of the fewest products is taken, the usual one's if
 * no other has fewer.  On networks of 40 to 200 operands each was best
 * somewhere, and noise in the costs never helped.
 *
 * Each tensor keeps its best partner among the younger ones.  A step changes
 * no cost of a pair that stays: a label that such a pair has is kept if any
 * other tensor has it, and what had it of the two that go, the new one has, or
 * it was theirs alone.  So only those whose partner went need another one, and
 * the new one offers itself to all its neighbours.
 *
 * What the lost partner cost is a lower bound of what any other one does that
 * was there.  So whoever lost it is stale, and looks for another one only when
 * no pair is known to cost less than that bound: where a label stands in many
 * operands, most of them never do.
 */
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contract/error.h"
#include "contract/network.h"

#define NONE UINT32_MAX

/* A tensor of the search.  Labels are sorted and stand once. */
struct node {
	uint32_t *label;
	size_t rank;
	double elements;
	double cost;		/* of the pair with the partner */
	uint32_t partner;	/* younger than this one, or NONE */
	bool here;		/* in the working list */
	bool stale;		/* the partner is gone; no other costs less */
};

/* Who has a label: a list, of which some may be gone. */
struct label_list {
	uint32_t *node;
	size_t length, room;
	size_t held;		/* by those that are here, and the output */
};

/* Costs of a pair x, y with the product p, in elements. */
enum cost {
	COST_USUAL,		/* p - (x + y) */
	COST_PRODUCT,		/* p */
	COST_SHRINK,		/* p - 4 (x + y) */
	COST_RATIO,		/* p / (x + y) */
	COSTS
};

struct search {
	struct lend_network *net;
	enum cost cost;
	double products;	/* of all steps */
	struct store store;
	struct node *node;
	size_t nodes;
	struct label_list *list;
	size_t *mark;		/* of each node: the last visit */
	size_t visit;
};

static double
limited(double elements)
{
	/* Sums of a few are still numbers. */
	return elements < DBL_MAX / 8 ? elements : DBL_MAX / 8;
}

/* Costs. */

/*
 * The labels that the product of two would keep, to `kept` (null: not
 * wanted); their number to *rank.  Returns its elements.
 */
static double
product(const struct search *search, const struct node *x,
	const struct node *y, uint32_t *kept, size_t *rank)
{
	double elements = 1;
	size_t i = 0, j = 0, n = 0;

	while (i < x->rank || j < y->rank) {
		bool in_x = i < x->rank && (j == y->rank ||
			    x->label[i] <= y->label[j]);
		bool in_y = j < y->rank && (i == x->rank ||
			    y->label[j] <= x->label[i]);
		uint32_t label = in_x ? x->label[i] : y->label[j];

		i += in_x;
		j += in_y;
		if (search->list[label].held <= (size_t)in_x + in_y)
			continue;
		elements *= (double)search->net->extent[label];
		if (kept)
			kept[n] = label;
		n++;
	}
	*rank = n;
	return limited(elements);
}

static double
cost_of(const struct search *search, const struct node *x,
	const struct node *y)
{
	size_t rank;

	double elements = product(search, x, y, NULL, &rank);
	double both = x->elements + y->elements;

	switch (search->cost) {
	case COST_PRODUCT: return elements;
	case COST_SHRINK: return elements - 4 * both;
	case COST_RATIO: return both > 0 ? elements / both : 0;
	default: return elements - both;
	}
}

/* The terms that the product of two adds up. */
static double
terms_of(const struct search *search, const struct node *x,
	 const struct node *y)
{
	double terms = x->elements;
	size_t i = 0;

	for (size_t j = 0; j < y->rank; j++) {
		while (i < x->rank && x->label[i] < y->label[j])
			i++;
		if (i == x->rank || x->label[i] != y->label[j])
			terms *= (double)search->net->extent[y->label[j]];
	}
	return limited(terms);
}

/*
 * Lets an older one of a pair know its partner.  For a stale one it has to cost
 * less than the bound: of equal ones, those that were there are older.
 */
static void
offer(struct search *search, uint32_t older, uint32_t younger)
{
	struct node *node = &search->node[older];
	double cost = cost_of(search, node, &search->node[younger]);

	if (node->partner != NONE &&
	    (cost > node->cost ||
	     (cost == node->cost && younger > node->partner)))
		return;
	node->cost = cost;
	node->partner = younger;
	node->stale = false;
}

/* Drops those that are gone from a label's list. */
static void
compact(const struct search *search, struct label_list *list)
{
	size_t to = 0;

	for (size_t i = 0; i < list->length; i++)
		if (search->node[list->node[i]].here)
			list->node[to++] = list->node[i];
	list->length = to;
}

/*
 * Pairs a node with its neighbours: as the older one alone, or (`both`) also
 * as the younger one, for a node that is new.
 */
static void
pair_up(struct search *search, uint32_t at, bool both)
{
	struct node *node = &search->node[at];

	search->visit++;
	node->partner = NONE;
	node->stale = false;
	for (size_t i = 0; i < node->rank; i++) {
		struct label_list *list = &search->list[node->label[i]];

		compact(search, list);
		for (size_t j = 0; j < list->length; j++) {
			uint32_t other = list->node[j];

			if (search->mark[other] == search->visit)
				continue;
			search->mark[other] = search->visit;
			if (other > at)
				offer(search, at, other);
			else if (both && other < at)
				offer(search, other, at);
		}
	}
}

/* Making the lists. */

static int
compare(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;

	return (a > b) - (a < b);
}

static bool
list_add(struct search *search, uint32_t label, uint32_t node)
{
	struct label_list *list = &search->list[label];

	if (list->length == list->room) {
		size_t room = list->room ? 2 * list->room : 4;
		uint32_t *more = store_get(&search->store, room,
					   sizeof(*more));

		if (!more)
			return false;
		if (list->length)
			memcpy(more, list->node,
			       list->length * sizeof(*more));
		list->node = more;
		list->room = room;
	}
	list->node[list->length++] = node;
	list->held++;
	return true;
}

/* A node of these labels, sorted, is in the list. */
static bool
node_add(struct search *search, const uint32_t *label, size_t rank)
{
	uint32_t at = (uint32_t)search->nodes++;
	struct node *node = &search->node[at];

	node->label = store_get(&search->store, rank, sizeof(*label));
	if (!node->label)
		return false;
	node->elements = 1;
	for (size_t i = 0; i < rank; i++) {
		if (i > 0 && label[i] == label[i - 1])
			continue;
		node->label[node->rank++] = label[i];
		node->elements *= (double)search->net->extent[label[i]];
		if (!list_add(search, label[i], at))
			return false;
	}
	node->elements = limited(node->elements);
	node->here = true;
	return true;
}

static bool
add_operands(struct search *search)
{
	const struct lend_network *net = search->net;

	for (size_t i = 0; i < net->output.rank; i++)
		search->list[net->output.label[i]].held++;
	for (size_t i = 0; i < net->count; i++) {
		const struct value *value = &net->value[i];
		uint32_t label[LEND_MAX_RANK];

		memcpy(label, value->label, value->rank * sizeof(*label));
		qsort(label, value->rank, sizeof(*label), compare);
		if (!node_add(search, label, value->rank))
			return false;
	}
	for (size_t i = 0; i < net->count; i++)
		pair_up(search, (uint32_t)i, false);
	return true;
}

/* Steps. */

/* Of equal costs and bounds the oldest; NONE: no two share a label. */
static uint32_t
least_cost(const struct search *search)
{
	uint32_t best = NONE;

	for (uint32_t i = 0; i < search->nodes; i++) {
		const struct node *node = &search->node[i];

		if (node->here && node->partner != NONE &&
		    (best == NONE || node->cost < search->node[best].cost))
			best = i;
	}
	return best;
}

/* The older one of the best pair. */
static uint32_t
best_pair(struct search *search)
{
	uint32_t best;

	while ((best = least_cost(search)) != NONE && search->node[best].stale)
		pair_up(search, best, false);
	return best;
}

/* The smallest one here but for `other`. */
static uint32_t
smallest(const struct search *search, uint32_t other)
{
	uint32_t least = NONE;

	for (uint32_t i = 0; i < search->nodes; i++)
		if (search->node[i].here && i != other &&
		    (least == NONE || search->node[i].elements <
		     search->node[least].elements))
			least = i;
	return least;
}

static void
leave(struct search *search, uint32_t at)
{
	struct node *node = &search->node[at];

	node->here = false;
	for (size_t i = 0; i < node->rank; i++)
		search->list[node->label[i]].held--;
}

/* Marks who lost its partner.  They are neighbours of the one that is gone. */
static void
mark_stale(struct search *search, const struct node *gone, uint32_t x,
	   uint32_t y)
{
	for (size_t i = 0; i < gone->rank; i++) {
		struct label_list *list = &search->list[gone->label[i]];

		compact(search, list);
		for (size_t j = 0; j < list->length; j++) {
			struct node *node = &search->node[list->node[j]];

			if (node->partner == x || node->partner == y)
				node->stale = true;
		}
	}
}

static bool
step(struct search *search, size_t s, uint32_t x, uint32_t y)
{
	struct lend_network *net = search->net;
	struct node *node = search->node;
	/* As many as a step that is refused later may have. */
	uint32_t kept[2 * LEND_MAX_RANK];
	size_t rank;
	uint32_t result = (uint32_t)search->nodes;

	net->step[s].x = x;
	net->step[s].y = y;
	if (node[x].rank + node[y].rank > 2 * LEND_MAX_RANK)
		return true;
	product(search, &node[x], &node[y], kept, &rank);
	search->products = limited(search->products +
				   terms_of(search, &node[x], &node[y]));
	leave(search, x);
	leave(search, y);
	if (!node_add(search, kept, rank))
		return false;
	mark_stale(search, &node[x], x, y);
	mark_stale(search, &node[y], x, y);
	pair_up(search, result, true);
	return true;
}

/* 0, or -ENOMEM; products are infinite where a step has too many labels. */
static int
steps(struct search *search)
{
	for (size_t s = 0; s < search->net->steps; s++) {
		uint32_t x = best_pair(search), y;

		if (x != NONE) {
			y = search->node[x].partner;
		} else {
			x = smallest(search, NONE);
			y = smallest(search, x);
		}
		if (!step(search, s, x, y))
			return -ENOMEM;
		if (search->nodes != search->net->count + s + 1) {
			search->products = INFINITY;
			return 0;
		}
	}
	return 0;
}

/* A path by one of the costs, to the network's steps. */
static int
search_by(struct lend_network *net, enum cost cost, double *products)
{
	struct search search = { .net = net, .cost = cost };
	size_t nodes = net->count + net->steps;
	int error = -ENOMEM;

	search.node = store_get(&search.store, nodes, sizeof(struct node));
	search.mark = store_get(&search.store, nodes, sizeof(size_t));
	search.list = store_get(&search.store, net->labels,
				sizeof(struct label_list));
	if (search.node && search.mark && search.list && add_operands(&search))
		error = steps(&search);
	*products = search.products;
	store_free(&search.store);
	return error;
}

int
network_path_search(struct lend_network *net, struct lend_error *why)
{
	size_t bytes = net->steps * sizeof(*net->step);
	struct step *best = malloc(bytes);
	double least = INFINITY;
	int error = best ? 0 : -ENOMEM;

	for (int cost = 0; cost < COSTS && !error; cost++) {
		double products;

		error = search_by(net, cost, &products);
		if (error || products >= least)
			continue;
		least = products;
		memcpy(best, net->step, bytes);
	}
	if (!error && least < INFINITY)
		memcpy(net->step, best, bytes);
	free(best);
	if (error)
		return network_no_memory(why);
	if (least < INFINITY)
		return 0;
	return lend__fail(why, -EINVAL, "no path was found whose steps have "
			  "at most %d labels each", LEND_MAX_RANK);
}
