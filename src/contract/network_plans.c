/* SPDX-License-Identifier: MIT */
/*
 * The plans of all steps.  Steps that are the same but for the names of their
 * labels share one: a step is told by its einsum with labels numbered anew,
 * its extents and its strides, and found in a table over that.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/einsum.h"
#include "contract/error.h"
#include "contract/layout.h"
#include "contract/network.h"

/* Labels of two operands, a result, and what stands between them. */
#define TEXT_MAX (3 * LEND_MAX_RANK * 4 + 8)

/* A step as plans see it; compared byte by byte. */
struct shape_key {
	char text[TEXT_MAX];
	/* Strides of an operand that has none stand as 0. */
	size_t extent[OPERANDS][LEND_MAX_RANK];
	ptrdiff_t stride[OPERANDS][LEND_MAX_RANK];
	bool strided[OPERANDS];
	size_t rank[OPERANDS];
};

struct entry {
	uint64_t hash;
	struct shape_key *key;	/* null: free */
	const lend_plan *plan;
};

struct maker {
	struct lend_network *net;
	struct store keys;
	struct entry *entry;
	size_t entries;		/* a power of two */
	uint32_t *local;	/* label -> its number in the step + 1 */
	struct shape_key key;
	struct lend_plan_options options;
	struct lend_error *why;
};

/* Keys. */

static char *
put_label(char *at, uint32_t local)
{
	/* Letters first, then what has no other meaning. */
	uint32_t point = local < 26 ? 'a' + local : local < 52 ?
			 'A' + local - 26 : 0x100 + local;
	struct label_text text = label_text(point);
	size_t length = strlen(text.utf8);

	memcpy(at, text.utf8, length);
	return at + length;
}

static char *
put_value(struct maker *maker, enum operand which, const struct value *value,
	  uint32_t *labels, char *at)
{
	struct shape_key *key = &maker->key;

	key->rank[which] = value->rank;
	key->strided[which] = value->stride;
	for (size_t i = 0; i < value->rank; i++) {
		uint32_t label = value->label[i];

		if (!maker->local[label])
			maker->local[label] = ++*labels;
		at = put_label(at, maker->local[label] - 1);
		key->extent[which][i] = maker->net->extent[label];
		if (value->stride)
			key->stride[which][i] = value->stride[i];
	}
	return at;
}

static void
forget_labels(struct maker *maker, const struct value *value)
{
	for (size_t i = 0; i < value->rank; i++)
		maker->local[value->label[i]] = 0;
}

/* An operand of no labels, for a step that has one alone. */
static const struct value scalar;

static void
make_key(struct maker *maker, const struct value *x, const struct value *y,
	 const struct value *result)
{
	char *at = maker->key.text;
	uint32_t labels = 0;

	memset(&maker->key, 0, sizeof(maker->key));
	at = put_value(maker, OPERAND_A, x, &labels, at);
	*at++ = ',';
	at = put_value(maker, OPERAND_B, y, &labels, at);
	at = memcpy(at, "->", 2);
	put_value(maker, OPERAND_C, result, &labels, at + 2);
	forget_labels(maker, x);
	forget_labels(maker, y);
	forget_labels(maker, result);
}

static uint64_t
mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t
hash_key(const struct shape_key *key)
{
	uint64_t hash = 0;

	for (const char *at = key->text; *at; at++)
		hash = mix(hash, (unsigned char)*at);
	for (int o = 0; o < OPERANDS; o++)
		for (size_t i = 0; i < key->rank[o]; i++)
			hash = mix(mix(hash, key->extent[o][i]),
				   (uint64_t)key->stride[o][i]);
	return hash;
}

static bool
same_key(const struct shape_key *x, const struct shape_key *y)
{
	if (strcmp(x->text, y->text) ||
	    memcmp(x->strided, y->strided, sizeof(x->strided)))
		return false;
	/* The same text has the same ranks. */
	for (int o = 0; o < OPERANDS; o++)
		if (memcmp(x->extent[o], y->extent[o],
			   x->rank[o] * sizeof(size_t)) ||
		    memcmp(x->stride[o], y->stride[o],
			   x->rank[o] * sizeof(ptrdiff_t)))
			return false;
	return true;
}

/* The entry of the key, or a free one. */
static struct entry *
find(const struct maker *maker, uint64_t hash)
{
	size_t at = hash & (maker->entries - 1);

	while (maker->entry[at].key &&
	       (maker->entry[at].hash != hash ||
		!same_key(maker->entry[at].key, &maker->key)))
		at = (at + 1) & (maker->entries - 1);
	return &maker->entry[at];
}

/* Plans. */

static int
make_plan(struct maker *maker, size_t s, const lend_plan **plan)
{
	struct lend_network *net = maker->net;
	const struct step *step = &net->step[s];
	struct shape_key *key = &maker->key;
	struct lend_layout layout[OPERANDS];
	struct lend_error why;
	lend_plan *made;
	int error;

	for (int o = 0; o < OPERANDS; o++)
		layout[o] = (struct lend_layout){
			key->rank[o], key->extent[o],
			key->strided[o] ? key->stride[o] : NULL
		};
	error = lend_plan_create(&made, key->text, net->type, &layout[0],
				 &layout[1], &layout[2], &maker->options,
				 &why);
	if (error)
		return lend__fail(maker->why, error, "step %zu (%s and %s): "
			"%s", s, value_text(net, step->x).text,
			value_text(net, step->y).text, why.text);
	net->plan[net->plans++] = made;
	*plan = made;
	return 0;
}

static int
plan_step(struct maker *maker, size_t s)
{
	struct lend_network *net = maker->net;
	struct step *step = &net->step[s];
	bool last = s + 1 == net->steps;
	struct entry *entry;
	uint64_t hash;
	int error;

	make_key(maker, &net->value[step->x],
		 step_is_single(step) ? &scalar : &net->value[step->y],
		 last ? &net->output : network_result(net, s));
	hash = hash_key(&maker->key);
	entry = find(maker, hash);
	if (!entry->key) {
		struct shape_key *key = store_get(&maker->keys, 1,
						  sizeof(*key));

		if (!key)
			return network_no_memory(maker->why);
		error = make_plan(maker, s, &entry->plan);
		if (error)
			return error;
		*key = maker->key;
		entry->key = key;
		entry->hash = hash;
	}
	step->plan = entry->plan;
	net->flops += step->plan->flops;
	return 0;
}

/* Which elements operands and output touch, and what a buffer must hold. */

static struct reach
reach_of(const struct lend_network *net, const struct value *value)
{
	struct shape shape = { .extent = { 0 } };
	struct einsum einsum = { .of = { [OPERAND_A] = { value->rank,
							 { 0 } } } };
	ptrdiff_t stride = 1;

	for (size_t i = value->rank; i-- > 0;) {
		size_t extent = net->extent[value->label[i]];

		einsum.of[OPERAND_A].label[i] = (uint8_t)i;
		shape.extent[i] = extent;
		shape.stride[OPERAND_A][i] = value->stride ?
					     value->stride[i] : stride;
		/* Cannot overflow: the plans have seen it. */
		stride *= (ptrdiff_t)(extent ? extent : 1);
	}
	return shape_reach(&shape, &einsum, OPERAND_A);
}

static int
set_sizes(struct lend_network *net, struct lend_error *why)
{
	net->reach = store_get(&net->store, net->count, sizeof(*net->reach));
	if (!net->reach)
		return network_no_memory(why);
	for (size_t i = 0; i < net->count; i++)
		net->reach[i] = reach_of(net, &net->value[i]);
	net->output_reach = reach_of(net, &net->output);
	for (size_t s = 0; s + 1 < net->steps; s++) {
		struct value *result = network_result(net, s);

		result->bytes = net->element;
		for (size_t i = 0; i < result->rank; i++)
			result->bytes *= net->extent[result->label[i]];
		if (result->elements > net->largest)
			net->largest = result->elements;
	}
	lend_plan_output(net->step[net->steps - 1].plan, &net->layout);
	return 0;
}

int
network_plans(struct lend_network *net, const char *kernel,
	      struct lend_error *why)
{
	/* Large: it is in the heap. */
	struct maker *maker = calloc(1, sizeof(*maker));
	int error = 0;

	if (!maker)
		return network_no_memory(why);
	maker->net = net;
	maker->why = why;
	maker->options.size = sizeof(maker->options);
	maker->options.kernel = kernel;
	maker->entries = 16;
	while (maker->entries < 2 * net->steps)
		maker->entries *= 2;
	maker->entry = calloc(maker->entries, sizeof(*maker->entry));
	maker->local = calloc(net->labels + 1, sizeof(*maker->local));
	net->plan = store_get(&net->store, net->steps, sizeof(*net->plan));
	if (!maker->entry || !maker->local || !net->plan)
		error = network_no_memory(why);
	for (size_t s = 0; s < net->steps && !error; s++)
		error = plan_step(maker, s);
	if (!error)
		error = set_sizes(net, why);
	store_free(&maker->keys);
	free(maker->entry);
	free(maker->local);
	free(maker);
	return error;
}
