/* SPDX-License-Identifier: MIT */
/* Between pairs of positions in the working list and pairs of values. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "contract/error.h"
#include "contract/network.h"

/* The values in the working list; null: no memory. */
static uint32_t *
list_new(const struct lend_network *net)
{
	uint32_t *list = calloc(net->count + 1, sizeof(*list));

	for (size_t i = 0; list && i < net->count; i++)
		list[i] = (uint32_t)i;
	return list;
}

/* Takes what is at a place, the rest closes up. */
static uint32_t
list_take(uint32_t *list, size_t *length, size_t at)
{
	uint32_t value = list[at];

	--*length;
	memmove(list + at, list + at + 1, (*length - at) * sizeof(*list));
	return value;
}

static int
check_pair(const struct lend_network_pair *pair, size_t step, size_t length,
	   struct lend_error *why)
{
	size_t far = pair->first > pair->second ? pair->first : pair->second;

	if (far >= length)
		return lend__fail(why, -EINVAL, "path, step %zu: position %zu "
			"is not in the working list, which has %zu tensors",
			step, far, length);
	if (pair->first == pair->second)
		return lend__fail(why, -EINVAL, "path, step %zu: position %zu "
				  "is used twice", step, far);
	return 0;
}

/* Takes the pair, appends the result. */
static void
list_step(uint32_t *list, size_t *length, const struct lend_network_pair *pair,
	  uint32_t result, struct step *step)
{
	bool later = pair->first > pair->second;
	size_t far = later ? pair->first : pair->second;
	size_t near = later ? pair->second : pair->first;
	uint32_t y = list_take(list, length, far);
	uint32_t x = list_take(list, length, near);

	step->x = later ? y : x;
	step->y = later ? x : y;
	step->pair = *pair;
	list[(*length)++] = result;
}

int
network_path_read(struct lend_network *net,
		  const struct lend_network_pair *path, size_t steps,
		  struct lend_error *why)
{
	size_t length = net->count;
	uint32_t *list;
	int error = 0;

	if (steps != net->count - 1)
		return lend__fail(why, -EINVAL, "the path has %zu steps, %zu "
				  "operands need %zu", steps, net->count,
				  net->count - 1);
	list = list_new(net);
	if (!list)
		return network_no_memory(why);
	for (size_t s = 0; s < steps && !error; s++) {
		error = check_pair(&path[s], s, length, why);
		if (!error)
			list_step(list, &length, &path[s],
				  (uint32_t)(net->count + s), &net->step[s]);
	}
	free(list);
	return error;
}

static size_t
position(const uint32_t *list, uint32_t value)
{
	size_t at = 0;

	while (list[at] != value)
		at++;
	return at;
}

int
network_path_pairs(struct lend_network *net, struct lend_error *why)
{
	size_t length = net->count;
	uint32_t *list = list_new(net);

	if (!list)
		return network_no_memory(why);
	for (size_t s = 0; s < net->count - 1; s++) {
		struct step *step = &net->step[s];
		struct lend_network_pair pair = {
			position(list, step->x), position(list, step->y)
		};

		list_step(list, &length, &pair, (uint32_t)(net->count + s),
			  step);
	}
	free(list);
	return 0;
}
