/* SPDX-License-Identifier: MIT */
/* What `lend bench` contracts: of its list, or as asked for. */
#ifndef LEND_TOOLS_CASES_H
#define LEND_TOOLS_CASES_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/contract.h>

#include "tools/message.h"

#define CASE_EINSUM 512

struct bench_case {
	const char *name;
	char einsum[CASE_EINSUM];	/* row-major */
	const char *sizes;	/* "a:72,b:24"; null: of the list, below */
	const char *list[2];	/* of reals of 8 bytes, of 4 bytes */
};

/* The list's. */
size_t cases_listed(void);
void cases_from_list(struct bench_case *c, size_t i);
/* By its name; false: there is none such. */
bool cases_named(struct bench_case *c, const char *name);
bool cases_custom(struct bench_case *c, const char *einsum,
		  const char *sizes, struct message *why);

struct case_shapes {
	struct lend_layout a, b;
	size_t extent[2][LEND_MAX_RANK];
};

/* The operands' extents, divided by `scale` and rounded up. */
bool cases_shapes(const struct bench_case *c, enum lend_type type,
		  size_t scale, struct case_shapes *shapes,
		  struct message *why);

#endif
