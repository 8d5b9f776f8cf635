/* SPDX-License-Identifier: MIT */
/*
 * Which parts of a network run side by side.
 *
 * A team of threads is good at a large step, but cannot share the small ones:
 * then it is better to let each thread have a branch of the tree of its own.
 * From the root on, the heaviest branch is split into the two of its last
 * step, which joins the trunk; of all divisions so found the one is kept that
 * should be done first.  A policy of plain numbers: how long steps take is
 * guessed from their flops and bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "contract/error.h"
#include "contract/network.h"

/* Guesses, in nanoseconds, for one core of this time. */
#define NS_PER_STEP 300
#define FLOPS_PER_NS 30
#define LOOPS_PER_NS 4		/* flops, without packing */
#define BYTES_PER_NS 8
#define NS_PER_TEAM 15e3
#define TEAM_YIELD 0.85		/* of what as many threads alone would do */
#define NS_PER_FORK 20e3
/* What a guess must promise to be followed. */
#define WORTH 0.95

#define BRANCHES_PER_THREAD 4
#define BRANCHES_MAX 256

static double
time_alone(const lend_plan *plan)
{
	double flops = plan->flops / (plan->method == METHOD_LOOPS ?
				      LOOPS_PER_NS : FLOPS_PER_NS);
	double bytes = plan->moved / BYTES_PER_NS;

	return NS_PER_STEP + (flops > bytes ? flops : bytes);
}

static double
time_with(const lend_plan *plan, size_t budget)
{
	double alone = time_alone(plan);
	size_t pm = 1, pn = 1;

	if (lend_plan_team(plan, budget, &pm, &pn) || pm * pn == 1)
		return alone;
	return alone / (TEAM_YIELD * (double)(pm * pn)) + NS_PER_TEAM;
}

static double
work_of(const struct lend_network *net, uint32_t value)
{
	return net->value[value].work;
}

static void
add_work(struct lend_network *net)
{
	for (size_t s = 0; s < net->steps; s++) {
		const struct step *step = &net->step[s];
		double work = time_alone(step->plan) + work_of(net, step->x);

		if (!step_is_single(step))
			work += work_of(net, step->y);
		network_result(net, s)->work = work;
	}
}

/* A division in the making: the roots of branches, heaviest first. */
struct division {
	size_t budget;
	size_t roots;
	size_t root[BRANCHES_MAX];
	double trunk;		/* time of the steps outside of branches */
};

static double
root_work(const struct lend_network *net, size_t root)
{
	return network_result(net, root)->work;
}

static void
insert(const struct lend_network *net, struct division *division, size_t root)
{
	size_t at = division->roots++;

	for (; at > 0 && root_work(net, division->root[at - 1]) <
			 root_work(net, root); at--)
		division->root[at] = division->root[at - 1];
	division->root[at] = root;
}

/* Splits the heaviest branch; false: that is a single step. */
static bool
split_heaviest(const struct lend_network *net, struct division *division)
{
	size_t root = division->root[0];
	const struct step *step = &net->step[root];

	if (step->x < net->count && step->y < net->count)
		return false;
	division->roots--;
	memmove(division->root, division->root + 1,
		division->roots * sizeof(*division->root));
	division->trunk += time_with(step->plan, division->budget);
	if (step->x >= net->count)
		insert(net, division, step->x - net->count);
	if (step->y >= net->count)
		insert(net, division, step->y - net->count);
	return true;
}

/* When all branches are done, each taken by whoever is idle. */
static double
time_of_branches(const struct lend_network *net,
		 const struct division *division)
{
	double busy[BRANCHES_MAX] = { 0 }, last = 0;
	size_t threads = size_min(division->budget, division->roots);

	for (size_t i = 0; i < division->roots; i++) {
		size_t idle = 0;

		for (size_t t = 1; t < threads; t++)
			if (busy[t] < busy[idle])
				idle = t;
		busy[idle] += root_work(net, division->root[i]);
		if (busy[idle] > last)
			last = busy[idle];
	}
	return last + NS_PER_FORK;
}

/* The best division for the budget; no roots: none is worth it. */
static void
divide(const struct lend_network *net, size_t budget, struct division *best)
{
	size_t most = size_min(budget * BRANCHES_PER_THREAD,
			       BRANCHES_MAX - 1);
	struct division now = { .budget = budget, .roots = 1,
				.root = { net->steps - 1 } };
	double least = 0;

	for (size_t s = 0; s < net->steps; s++)
		least += time_with(net->step[s].plan, budget);
	least *= WORTH;
	best->roots = 0;
	while (now.roots < most && split_heaviest(net, &now)) {
		double time = now.trunk + time_of_branches(net, &now);

		if (now.roots < 2 || time >= least)
			continue;
		least = time;
		*best = now;
	}
}

/* Lists. */

/* Gives each step the number of its branch + 1, 0: the trunk. */
static void
number_steps(const struct lend_network *net, const struct split *split,
	     size_t *owner)
{
	memset(owner, 0, net->steps * sizeof(*owner));
	for (size_t i = 0; i < split->branches; i++)
		owner[split->branch[i].root] = i + 1;
	/* A step comes before the one that reads its result. */
	for (size_t s = net->steps; s-- > 0;) {
		const struct step *step = &net->step[s];

		if (!owner[s])
			continue;
		if (step->x >= net->count)
			owner[step->x - net->count] = owner[s];
		if (step->y >= net->count)
			owner[step->y - net->count] = owner[s];
	}
}

static void
list_steps(const struct lend_network *net, struct split *split,
	   const size_t *owner)
{
	size_t to = 0;

	for (size_t i = 1; i <= split->branches; i++) {
		struct branch *branch = &split->branch[i - 1];
		/* The result's buffer is there from the start. */
		size_t held = network_result(net, branch->root)->bytes;

		branch->first = to;
		branch->peak = held;
		for (size_t s = 0; s <= branch->root; s++) {
			const struct step *step = &net->step[s];

			if (owner[s] != i)
				continue;
			split->list[to++] = s;
			if (s != branch->root)
				held += network_result(net, s)->bytes;
			branch->peak = size_max(branch->peak, held);
			held -= net->value[step->x].bytes +
				net->value[step->y].bytes;
		}
		branch->steps = to - branch->first;
	}
	for (size_t s = 0; s < net->steps; s++)
		if (!owner[s])
			split->list[to++] = s;
}

static int
make_split(struct lend_network *net, const struct division *division,
	   struct split *split, struct lend_error *why)
{
	size_t *owner = calloc(net->steps, sizeof(*owner));

	split->branch = store_get(&net->store, division->roots,
				  sizeof(*split->branch));
	split->list = store_get(&net->store, net->steps,
				sizeof(*split->list));
	if (!owner || !split->branch || !split->list) {
		free(owner);
		return network_no_memory(why);
	}
	split->branches = division->roots;
	for (size_t i = 0; i < division->roots; i++)
		split->branch[i].root = division->root[i];
	number_steps(net, split, owner);
	list_steps(net, split, owner);
	free(owner);
	return 0;
}

int
network_split(struct lend_network *net, struct lend_error *why)
{
	struct division *best = calloc(1, sizeof(*best));
	int error = 0;

	if (!best)
		return network_no_memory(why);
	add_work(net);
	for (size_t i = 0; i < SPLITS && !error; i++) {
		divide(net, (size_t)2 << i, best);
		if (best->roots)
			error = make_split(net, best, &net->split[i], why);
	}
	free(best);
	return error;
}

const struct split *
network_split_of(const struct lend_network *net, size_t budget)
{
	size_t i = 0;

	if (budget < 2)
		return NULL;
	while (i + 1 < SPLITS && (size_t)4 << i <= budget)
		i++;
	return net->split[i].branches ? &net->split[i] : NULL;
}
