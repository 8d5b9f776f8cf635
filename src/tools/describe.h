/* SPDX-License-Identifier: MIT */
/* A plan in words, for several commands. */
#ifndef LEND_TOOLS_DESCRIBE_H
#define LEND_TOOLS_DESCRIBE_H

#include <stdbool.h>

#include <lend/contract.h>

#include "tools/json.h"
#include "tools/message.h"
#include "tools/npy.h"

struct description {
	const char *einsum;
	const struct lend_layout *a, *b;
	struct lend_layout c;
	struct lend_plan_info info;
	size_t req_bytes;	/* of the whole team */
	double bound;		/* GFLOP/s; NAN: not known */
};

/* For a team of pm x pn or, where they are 0, the plan's own for `budget`. */
bool describe(struct description *d, const char *einsum,
	      const lend_plan *plan, const struct lend_layout *a,
	      const struct lend_layout *b, size_t budget, size_t pm,
	      size_t pn, struct message *why);

/* The lower of the peak and what the bandwidth lets through; NAN likewise. */
double describe_bound(const struct description *d, double peak,
		      double bandwidth);

/* Lines, and members of the present object. */
void describe_print(const struct description *d);
void describe_print_request(const struct description *d);
void describe_json(const struct description *d, struct json_out *json);

#endif
