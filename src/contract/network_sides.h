/* SPDX-License-Identifier: MIT */
/* Where the labels of one step stand, and what kind of step that makes it. */
#ifndef LEND_CONTRACT_NETWORK_SIDES_H
#define LEND_CONTRACT_NETWORK_SIDES_H

#include "contract/network.h"

enum { IN_X = 1, IN_Y = 2, IN_RESULT = 4 };

struct sides {
	unsigned char *in;	/* by label: of the step at hand, else 0 */
	size_t *rank;		/* by label: its place in the common order */
};

/* As packing and kernels see it, or the loops over elements. */
enum step_kind {
	STEP_MATRICES,
	STEP_ELEMENTS
};

/* `result` has the labels of the step's result, in any order. */
void sides_set(const struct sides *sides, const struct lend_network *net,
	       const struct step *step, const struct value *result);
void sides_clear(const struct sides *sides, const struct lend_network *net,
		 const struct step *step, const struct value *result);

/* The product of the extents of a value's labels that stand just so. */
double sides_extent(const struct sides *sides, const struct lend_network *net,
		    const struct value *value, unsigned in);

enum step_kind sides_kind(const struct sides *sides,
			  const struct lend_network *net,
			  const struct step *step, const struct value *result);

/* Fills sides->rank: see network_label_order.c. */
int network_label_order(const struct lend_network *net,
			const struct sides *sides, struct lend_error *why);

#endif
