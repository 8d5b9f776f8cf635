/* SPDX-License-Identifier: MIT */
/*
 * What a contraction is, as plainly as it can be said: for each element of
 * the output a sum over all other labels, in long double.  It shares nothing
 * with the library but the names of the types.
 */
#ifndef TESTS_SUPPORT_EINSUM_NAIVE_H
#define TESTS_SUPPORT_EINSUM_NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lend/contract.h"

/* A, B and C, in this order, wherever there are three. */
#define NAIVE_OPERANDS 3
#define NAIVE_RANK 32

struct naive_labels {
	size_t n;
	uint32_t point[NAIVE_RANK];
};

/*
 * Reads "ab,bc->ac", also without the arrow.  False: more labels than there
 * is room for, or no comma.  What else may be wrong is not looked for.
 */
bool naive_parse(const char *text, struct naive_labels *labels);

struct naive_call {
	enum lend_type type;
	const struct naive_labels *labels;
	/* With strides. */
	const struct lend_layout *layout;
	/* Element (0, 0, ..) of each; C's as it was before. */
	const void *start[NAIVE_OPERANDS];
	double alpha[2], beta[2];	/* real, imaginary */
};

struct naive_element {
	ptrdiff_t at;		/* C's element lies at start[at] */
	long double re, im;	/* what it should be */
	/* The same with the magnitudes of all that is added up. */
	long double magnitude;
};

/* How many elements the output has; the products added up for each. */
size_t naive_elements(const struct naive_call *call);
size_t naive_terms(const struct naive_call *call);

/* Computes them all, in row-major order. */
void naive_einsum(const struct naive_call *call, struct naive_element *out);

#endif
