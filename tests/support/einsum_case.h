/* SPDX-License-Identifier: MIT */
/*
 * A random contraction with its plan, its arrays, and what must come out.
 *
 *	case_open(&c, &einsum, options)		makes the plan and the inputs
 *	case_output_new(&output, &c)		an array for C; many may be
 *	case_output_fill(&output, &c)		C as it is before
 *	call = case_call(&c, &output)		execute this
 *	case_output_check(&output, &c, ..)	C is right, and nothing else
 *	...					was touched
 *
 * An element is right when it differs from the sum in long double by at most
 *
 *	CASE_FACTOR * epsilon * (products + 8) * sum of the magnitudes
 *
 * and in half of the cases, where all is small integers, not at all.  Gaps of
 * the inputs are NaN, so is C where beta is 0, and so are the inputs where
 * alpha is 0: what is not to be read shows.
 *
 * Nothing here asserts: threads may call it, each with an output of its own.
 */
#ifndef TESTS_SUPPORT_EINSUM_CASE_H
#define TESTS_SUPPORT_EINSUM_CASE_H

#include <stdbool.h>
#include <stddef.h>

#include "support/einsum_random.h"

#define CASE_FACTOR 2
#define CASE_TEXT 1600

union case_number {
	float f[2];
	double d[2];
};

/* Memory with a tensor in its midst. */
struct case_memory {
	unsigned char *bytes, *copy;
	size_t size;
	void *start;
};

struct einsum_case {
	struct random_einsum einsum;
	lend_plan *plan;
	struct lend_layout layout[NAIVE_OPERANDS];
	size_t element;		/* bytes */
	struct case_memory input[2];
	union case_number alpha, beta;
	size_t n, terms;
	struct naive_element *expected;
};

struct case_output {
	struct case_memory memory;
};

/*
 * False, with the reason in text[0..CASE_TEXT): no plan, an output that is
 * laid out otherwise than it should be, no memory.
 */
bool case_open(struct einsum_case *c, const struct random_einsum *einsum,
	       const struct lend_plan_options *options, char *text);
void case_close(struct einsum_case *c);

bool case_output_new(struct case_output *output,
		     const struct einsum_case *c);
void case_output_free(struct case_output *output);
void case_output_fill(struct case_output *output,
		      const struct einsum_case *c);

struct lend_call case_call(const struct einsum_case *c,
			   const struct case_output *output);

/* False, with the reason in text: what is not as it should be. */
bool case_output_check(const struct case_output *output,
		       const struct einsum_case *c, char *text);
/* Whether all bytes are as case_output_fill() left them. */
bool case_output_untouched(const struct case_output *output);
bool case_inputs_untouched(const struct einsum_case *c);

/* What it is: text, extents:strides, numbers.  To text[0..CASE_TEXT). */
void case_print(const struct random_einsum *einsum, char *text);

#endif
