/* SPDX-License-Identifier: MIT */
/*
 * A network: a binary tree of plans.
 *
 *   values   0 .. count - 1            the operands
 *            count .. count + steps - 1   the result of each step
 *   step s   takes the values x and y, makes the value count + s
 *
 * Making one goes through these files, each of which adds its part:
 *
 *   network_text.c    labels of the operands and the output, their extents
 *   network_path.c    x and y of each step, from a path
 *   network_greedy.c  or by search
 *   network_order.c   which labels a result keeps, how they lie in memory
 *   network_label_order.c   with an order of all labels to go by
 *   network_plans.c   the plans, equal ones once
 *   network_split.c   branches that run side by side
 *
 * network_peak.c knows what it holds at a time, network_run.c executes it.
 * Immutable once made.
 */
#ifndef LEND_CONTRACT_NETWORK_H
#define LEND_CONTRACT_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/network.h>

#include "contract/plan.h"
#include "contract/store.h"

struct value {
	size_t rank;
	uint32_t *label;	/* numbers, outermost first */
	/* As given, of operands and the output; null: row-major. */
	const size_t *extent;
	const ptrdiff_t *stride;
	size_t bytes;		/* of a buffer that holds it; 0: none does */
	double elements;
	double work;		/* of its step and all those before it, ns */
};

struct step {
	uint32_t x, y;		/* values; equal: one operand alone */
	struct lend_network_pair pair;
	const lend_plan *plan;
};

/*
 * Steps that run one after the other, beside those of other branches: the
 * subtree of a result.
 */
struct branch {
	size_t root;		/* step */
	size_t first, steps;	/* its part of the split's list */
	size_t peak;		/* bytes, its result's included */
};

/*
 * How the steps are divided for a budget of threads: branches, largest
 * first, which run side by side, then the trunk, step by step.
 */
struct split {
	size_t branches;	/* 0: all is trunk */
	struct branch *branch;
	size_t *list;		/* steps by branch, then those of the trunk */
};

/* For budgets of 2, 4, 8, and 16 and more. */
#define SPLITS 4

struct lend_network {
	struct store store;	/* all of what follows points into it */
	enum lend_type type;
	size_t element;		/* bytes */
	size_t count, steps;
	size_t labels;
	uint32_t *point;	/* label -> its code point */
	size_t *extent;		/* label -> its extent */
	struct value *value;	/* count + steps */
	struct value output;	/* as it was asked for */
	bool implied;		/* the text has no "->" */
	struct step *step;
	lend_plan **plan;
	size_t plans;
	struct reach *reach;	/* of each operand */
	struct reach output_reach;
	struct lend_layout layout;	/* of the output */
	double flops, largest;
	size_t table_bytes;	/* of the pointers to the results */
	struct split split[SPLITS];
};

static inline struct value *
network_result(const struct lend_network *net, size_t step)
{
	return &net->value[net->count + step];
}

/* What a single operand is multiplied by. */
static inline bool
step_is_single(const struct step *step)
{
	return step->x == step->y;
}

/* Each is 0 or an error with *why filled. */

int network_text_read(struct lend_network *net, const char *text,
		      struct lend_error *why);
int network_extents_read(struct lend_network *net,
			 const struct lend_layout *layouts,
			 const struct lend_layout *output,
			 struct lend_error *why);

int network_path_read(struct lend_network *net,
		      const struct lend_network_pair *path, size_t steps,
		      struct lend_error *why);
int network_path_search(struct lend_network *net, struct lend_error *why);
/* Positions of pairs in the working list, from values. */
int network_path_pairs(struct lend_network *net, struct lend_error *why);

int network_order(struct lend_network *net, struct lend_error *why);

int network_plans(struct lend_network *net, const char *kernel,
		  struct lend_error *why);

int network_split(struct lend_network *net, struct lend_error *why);
/* The split for a budget; null: step by step. */
const struct split *network_split_of(const struct lend_network *net,
				     size_t budget);

/* The most bytes of buffers at one time. */
size_t network_peak(const struct lend_network *net, size_t budget);

/* "operand 3", "the result of step 5", for messages. */
struct value_text {
	char text[48];
};

struct value_text value_text(const struct lend_network *net, size_t value);

int network_no_memory(struct lend_error *why);

#endif
