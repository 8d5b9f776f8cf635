/* SPDX-License-Identifier: MIT */
/*
 * Networks at random, and what they should give: for each element of the
 * output a sum over all other labels of the product of all operands, whatever
 * the path.  All numbers are small integers, so nothing is rounded.  The same
 * seed gives the same one.
 *
 *   labels of one, two and many operands, with and without the output, some
 *   of them large: batches of small products;
 *   diagonals; sums within an operand; scalars; extents 0 and 1
 *   strides permuted, padded, negative; of inputs also zero
 *
 * Nothing here asserts: threads may call it, each with an output of its own.
 */
#ifndef TESTS_SUPPORT_NETWORK_CASE_H
#define TESTS_SUPPORT_NETWORK_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lend/network.h"

#define NETWORK_OPERANDS 9
#define NETWORK_LABELS 10
#define NETWORK_RANK 5

struct network_tensor {
	size_t rank;
	unsigned label[NETWORK_LABELS];
	size_t extent[NETWORK_LABELS];
	ptrdiff_t stride[NETWORK_LABELS];
	bool plain;		/* row-major: no strides are given */
	char *memory;		/* guards and all */
	size_t bytes;
	char *start;		/* element (0, 0, ..) */
};

struct network_case {
	enum lend_type type;
	size_t count;
	size_t extent[NETWORK_LABELS];
	struct network_tensor operand[NETWORK_OPERANDS], output;
	char text[512];
	struct lend_network_pair path[NETWORK_OPERANDS];
	bool greedy;
	double alpha[2], beta[2];
	/* Of the type. */
	union network_number {
		float f[2];
		double d[2];
	} alpha_number, beta_number;
	const void *operands[NETWORK_OPERANDS];
	struct lend_network *network;
};

/* False: no memory, or no network, with the reason in *why. */
bool network_case_open(struct network_case *c, uint64_t seed,
		       struct lend_error *why);
void network_case_close(struct network_case *c);

/* A call that writes to `output`, a copy of the case's own or that. */
struct lend_network_call network_case_call(const struct network_case *c,
					   void *output);

/* An output like the case's, its memory new; null: none. */
struct network_tensor *network_output_new(const struct network_case *c);
void network_output_free(struct network_tensor *output);

/*
 * Whether the output is right and nothing else was touched; then it is as
 * before again.  False: the first place that is not, in why->text.
 */
bool network_case_check(const struct network_case *c,
			const struct network_tensor *output,
			struct lend_error *why);
/* Whether it is as before. */
bool network_case_untouched(const struct network_case *c,
			    const struct network_tensor *output);

#endif
