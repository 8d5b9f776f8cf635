/* SPDX-License-Identifier: MIT */
/*
 * What an execution holds in buffers.  A result is borrowed before its step
 * and the two that the step read are given back after it, so
 *
 *   held = the table + all results made and not yet read
 *
 * and no more than known beforehand: step by step it is a sum over the list;
 * with branches side by side, whose results' buffers are borrowed before them,
 * it is largest when as many as there are threads are each at their peaks,
 * those of the greatest need.
 */
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "contract/network.h"

struct holding {
	size_t now, most;
};

static void
run_step(struct holding *held, const struct lend_network *net, size_t s)
{
	const struct step *step = &net->step[s];

	held->now += network_result(net, s)->bytes;
	held->most = size_max(held->most, held->now);
	held->now -= net->value[step->x].bytes;
	if (!step_is_single(step))
		held->now -= net->value[step->y].bytes;
}

/* What a branch holds at its peak beyond its result. */
static size_t
extra(const struct lend_network *net, const struct branch *branch)
{
	return branch->peak - network_result(net, branch->root)->bytes;
}

/* The sum of the `threads` largest extras. */
static size_t
largest_extras(const struct lend_network *net, const struct split *split,
	       size_t threads)
{
	size_t sum = 0, below = SIZE_MAX, counted = 0;

	while (counted < size_min(threads, split->branches)) {
		size_t next = 0, alike = 0;

		for (size_t i = 0; i < split->branches; i++) {
			size_t bytes = extra(net, &split->branch[i]);

			if (bytes >= below || bytes < next)
				continue;
			alike = bytes == next ? alike + 1 : 1;
			next = bytes;
		}
		if (!alike)
			break;
		alike = size_min(alike, threads - counted);
		sum += alike * next;
		counted += alike;
		below = next;
	}
	return sum;
}

size_t
network_peak(const struct lend_network *net, size_t budget)
{
	const struct split *split = network_split_of(net, budget);
	struct holding held = { net->table_bytes, net->table_bytes };
	size_t first = 0;

	if (!split) {
		for (size_t s = 0; s < net->steps; s++)
			run_step(&held, net, s);
		return held.most;
	}
	for (size_t i = 0; i < split->branches; i++) {
		const struct branch *branch = &split->branch[i];

		held.now += network_result(net, branch->root)->bytes;
		first = size_max(first, branch->first + branch->steps);
	}
	held.most = held.now + largest_extras(net, split, budget);
	for (size_t i = first; i < net->steps; i++)
		run_step(&held, net, split->list[i]);
	return held.most;
}

int
lend_network_req(const lend_network *net, size_t budget,
		 struct lend_req *req, size_t *bytes)
{
	struct lend_req all = { 0 };

	if (!net || budget == 0 || !req || !bytes)
		return -EINVAL;
	for (size_t i = 0; i < net->plans; i++) {
		struct lend_req one;
		size_t pm, pn;
		int error = lend_plan_team(net->plan[i], budget, &pm, &pn);

		if (!error)
			error = lend_plan_req(net->plan[i], pm, pn, &one);
		if (error)
			return error;
		lend_req_raise(&all, &one);
		/* Where threads cannot work at the same time. */
		error = lend_plan_req(net->plan[i], 1, 1, &one);
		if (error)
			return error;
		lend_req_raise(&all, &one);
	}
	*req = all;
	*bytes = network_peak(net, budget);
	return 0;
}
