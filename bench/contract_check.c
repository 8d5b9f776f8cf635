/* SPDX-License-Identifier: MIT */
#include "bench/contract_check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define SAMPLES 40

static double
element(const struct contract_job *job, int o, size_t at)
{
	return job->c->single ? (double)((const float *)job->data[o])[at] :
				((const double *)job->data[o])[at];
}

/* By how much the operand moves with the label. */
static size_t
step(const struct case_tensor *tensor, char label)
{
	const char *at = strchr(tensor->labels, label);

	return at ? (size_t)tensor->stride[at - tensor->labels] : 0;
}

/* Where the operand stands for the index-th element of C. */
static size_t
start(const struct contract_case *c, int o, size_t index)
{
	const struct case_tensor *out = &c->tensor[CASE_C];
	size_t at = 0;

	for (size_t d = 0; d < out->rank; d++) {
		at += index % out->extent[d] *
		      step(&c->tensor[o], out->labels[d]);
		index /= out->extent[d];
	}
	return at;
}

/* Whether the index-th element is its sum. */
static bool
is_right(const struct contract_job *job, size_t index)
{
	const struct contract_case *c = job->c;
	const struct case_tensor *tensor = &c->tensor[CASE_A];
	size_t a = start(c, CASE_A, index), b = start(c, CASE_B, index);
	size_t terms = 1;
	double sum = 0, size = 0, epsilon;

	for (size_t d = 0; d < tensor->rank; d++)
		if (!strchr(c->tensor[CASE_C].labels, tensor->labels[d]))
			terms *= tensor->extent[d];
	for (size_t k = 0; k < terms; k++) {
		size_t rest = k, at_a = a, at_b = b;
		double product;

		for (size_t d = 0; d < tensor->rank; d++) {
			char label = tensor->labels[d];

			if (strchr(c->tensor[CASE_C].labels, label))
				continue;
			at_a += rest % tensor->extent[d] *
				(size_t)tensor->stride[d];
			at_b += rest % tensor->extent[d] *
				step(&c->tensor[CASE_B], label);
			rest /= tensor->extent[d];
		}
		product = element(job, CASE_A, at_a) *
			  element(job, CASE_B, at_b);
		sum += product;
		size += fabs(product);
	}
	epsilon = c->single ? FLT_EPSILON : DBL_EPSILON;
	return fabs(element(job, CASE_C, index) - sum) <=
	       2 * epsilon * (double)(terms + 8) * size;
}

bool
contract_check(const struct contract_job *job)
{
	size_t last = job->c->tensor[CASE_C].elements - 1;

	for (size_t i = 0; i <= SAMPLES; i++)
		if (!is_right(job, (size_t)((double)last * (double)i /
					    SAMPLES)))
			return false;
	return true;
}
