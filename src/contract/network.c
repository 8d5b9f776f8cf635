/* SPDX-License-Identifier: MIT */
#include "contract/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "contract/einsum.h"
#include "contract/error.h"

/* Making one. */

static int
check_arguments(lend_network *const *network, const char *einsum,
		enum lend_type type, size_t count,
		const struct lend_layout *layouts,
		const struct lend_network_pair *path, size_t steps,
		const struct lend_network_options *options,
		struct lend_error *why)
{
	if (!network || !einsum || !layouts || (!path && steps))
		return lend__fail(why, -EINVAL, "an argument is null");
	if (!lend_type_bytes(type))
		return lend__fail(why, -EINVAL, "there is no type %d", type);
	if (count == 0)
		return lend__fail(why, -EINVAL, "there are no operands");
	if (count > UINT32_MAX / 4)
		return lend__fail(why, -EINVAL, "%zu operands are too many",
				  count);
	if (options && options->size != sizeof(*options))
		return lend__fail(why, -EINVAL,
			"the options are %zu bytes long, not %zu",
			options->size, sizeof(*options));
	return 0;
}

static int
find_path(struct lend_network *net, const struct lend_network_pair *path,
	  size_t steps, struct lend_error *why)
{
	int error;

	if (path || net->count == 1)
		error = network_path_read(net, path, steps, why);
	else
		error = network_path_search(net, why);
	if (error || path)
		return error;
	return network_path_pairs(net, why);
}

static int
fill(struct lend_network *net, const char *einsum,
     const struct lend_layout *layouts, const struct lend_network_pair *path,
     size_t steps, const struct lend_network_options *options,
     struct lend_error *why)
{
	int error = network_text_read(net, einsum, why);

	if (!error)
		error = network_extents_read(net, layouts,
			options ? options->output : NULL, why);
	if (!error)
		error = find_path(net, path, steps, why);
	if (!error)
		error = network_order(net, why);
	if (!error)
		error = network_plans(net, options ? options->kernel : NULL,
				      why);
	if (!error)
		error = network_split(net, why);
	return error;
}

static struct lend_network *
network_new(enum lend_type type, size_t count)
{
	struct lend_network *net = calloc(1, sizeof(*net));

	if (!net)
		return NULL;
	net->type = type;
	net->element = lend_type_bytes(type);
	net->count = count;
	/* A single operand is multiplied by 1. */
	net->steps = count == 1 ? 1 : count - 1;
	if (net->steps > 1)
		net->table_bytes = net->steps * sizeof(void *);
	net->value = store_get(&net->store, count + net->steps,
			       sizeof(*net->value));
	net->step = store_get(&net->store, net->steps, sizeof(*net->step));
	if (!net->value || !net->step) {
		lend_network_destroy(net);
		return NULL;
	}
	return net;
}

int
lend_network_create(lend_network **network, const char *einsum,
		    enum lend_type type, size_t count,
		    const struct lend_layout *layouts,
		    const struct lend_network_pair *path, size_t steps,
		    const struct lend_network_options *options,
		    struct lend_error *why)
{
	struct lend_network *net;
	int error = check_arguments(network, einsum, type, count, layouts,
				    path, steps, options, why);

	if (error)
		return error;
	net = network_new(type, count);
	if (!net)
		return network_no_memory(why);
	error = fill(net, einsum, layouts, path, steps, options, why);
	if (error) {
		lend_network_destroy(net);
		return error;
	}
	*network = net;
	return 0;
}

void
lend_network_destroy(lend_network *net)
{
	if (!net)
		return;
	for (size_t i = 0; i < net->plans; i++)
		lend_plan_destroy(net->plan[i]);
	store_free(&net->store);
	free(net);
}

/* Telling of it. */

void
lend_network_output(const lend_network *net, struct lend_layout *output)
{
	*output = net->layout;
}

int
lend_network_describe(const lend_network *net, struct lend_network_info *info)
{
	if (!net || !info || info->size != sizeof(*info))
		return -EINVAL;
	*info = (struct lend_network_info){
		.size = sizeof(*info),
		.type = net->type,
		.operands = net->count,
		.steps = net->steps,
		.plans = net->plans,
		.labels = net->labels,
		.flops = net->flops,
		.largest = net->largest,
		.peak_bytes = network_peak(net, 1)
	};
	return 0;
}

int
lend_network_step(const lend_network *net, size_t step,
		  struct lend_network_step *info)
{
	const struct step *at;

	if (!net || !info || step >= net->steps ||
	    info->size != sizeof(*info))
		return -EINVAL;
	at = &net->step[step];
	*info = (struct lend_network_step){
		.size = sizeof(*info),
		.first = at->x,
		.second = at->y,
		.pair = at->pair,
		.elements = network_result(net, step)->elements,
		.flops = at->plan->flops,
		.plan = at->plan
	};
	return 0;
}

/* Text that is cut, its length as if it were not. */
struct text {
	char *at;
	size_t size, length;
};

static void
put(struct text *text, const char *bytes)
{
	size_t length = strlen(bytes);

	/* Whole labels alone, and nothing after what did not fit. */
	if (text->length + length < text->size)
		memcpy(text->at + text->length, bytes, length + 1);
	else
		text->size = 0;
	text->length += length;
}

static void
put_labels(struct text *text, const struct lend_network *net,
	   const struct value *value)
{
	for (size_t i = 0; i < value->rank; i++)
		put(text, label_text(net->point[value->label[i]]).utf8);
}

size_t
lend_network_einsum(const lend_network *net, size_t step, char *text,
		    size_t size)
{
	struct text to = { text, size, 0 };
	const struct step *at;

	if (size)
		text[0] = '\0';
	if (!net || step >= net->steps)
		return 0;
	at = &net->step[step];
	put_labels(&to, net, &net->value[at->x]);
	if (!step_is_single(at)) {
		put(&to, ",");
		put_labels(&to, net, &net->value[at->y]);
	}
	put(&to, "->");
	put_labels(&to, net, step + 1 == net->steps ? &net->output :
		   network_result(net, step));
	return to.length;
}
