/* SPDX-License-Identifier: MIT */
/*
 * The contraction by its definition, in long double: for every element of the
 * output one loop over all other labels.  It shares nothing with the library
 * but the description of tensors, the reading of the einsum included.
 */
#ifndef LEND_TOOLS_NAIVE_H
#define LEND_TOOLS_NAIVE_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/contract.h>

#include "tools/message.h"

#define NAIVE_LABELS (2 * LEND_MAX_RANK)

struct naive_label {
	unsigned code;
	size_t extent;
	ptrdiff_t a, b, c, c0;	/* strides; 0 where it does not stand */
};

struct naive {
	enum lend_type type;
	/* The output's labels in its order, then the summed ones. */
	struct naive_label label[NAIVE_LABELS];
	size_t labels, outputs;
	size_t elements;	/* of the output */
	size_t terms;		/* of each element's sum */
	const void *a, *b;
	const void *c0;		/* what beta multiplies; null: nothing */
	double alpha[2], beta[2];
};

/* The operands as the plan had them; `c0` may be null. */
bool naive_prepare(struct naive *naive, const char *einsum,
		   enum lend_type type, const struct lend_layout *a,
		   const struct lend_layout *b, const struct lend_layout *c,
		   const struct lend_layout *c0, struct message *why);

struct naive_element {
	long double value[2];	/* real, imaginary */
	/* Of all that was added up, without signs: what errors go with. */
	long double magnitude;
};

/* The output's element number i in row-major order, and its offset in C. */
struct naive_element naive_element(const struct naive *naive, size_t i,
				   ptrdiff_t *offset);

/*
 * An element is right if it differs by at most
 *
 *   NAIVE_ULPS x epsilon x terms x magnitude
 *
 * and not finite where it is not (there, which of them it is does not count).
 */
#define NAIVE_ULPS 8

struct naive_verdict {
	size_t wrong;		/* elements */
	size_t worst;		/* number of the element, by error / bound */
	double error, bound;	/* of that one */
	double got[2], want[2];
};

/* Steps of progress: elements of the output. */
void naive_verify(const struct naive *naive, const void *c,
		  const struct lend_exec *exec,
		  struct naive_verdict *verdict);

/* "[3, 0, 17]" of element number i; into text, cut. */
void naive_place(const struct naive *naive, size_t i, char *text,
		 size_t size);

#endif
