/* SPDX-License-Identifier: MIT */
/*
 * The 24 contractions of the TCCG benchmark's first version (Springer and
 * Bientinesi), with the extents that its rule gives them: the largest tensor
 * has about 200 MiB.  The first index of each tensor has stride 1.
 */
#ifndef LEND_BENCH_CONTRACT_CASES_H
#define LEND_BENCH_CONTRACT_CASES_H

#include <stdbool.h>
#include <stddef.h>

#define CASE_RANK 8

enum { CASE_A, CASE_B, CASE_C, CASE_OPERANDS };

struct case_tensor {
	char labels[CASE_RANK + 1];
	size_t rank;
	size_t extent[CASE_RANK];
	ptrdiff_t stride[CASE_RANK];
	size_t elements;
};

struct contract_case {
	const char *name;	/* C-A-B */
	char einsum[4 * CASE_RANK];
	bool single;		/* float, else double */
	size_t element;		/* bytes */
	struct case_tensor tensor[CASE_OPERANDS];
	double flops;
	double bytes;		/* each element once */
};

size_t contract_cases(void);
const char *contract_case_name(size_t i);
/*
 * The i-th one.  With `quick` its extents are scaled down until no tensor has
 * more than 2^17 elements.
 */
struct contract_case contract_case_at(size_t i, bool single, bool quick);

#endif
