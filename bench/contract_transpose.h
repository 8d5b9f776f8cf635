/* SPDX-License-Identifier: MIT */
/*
 * A tensor's elements into another order of its indices, for transpose +
 * gemm: blocks of the two indices that have stride 1, in the source and in
 * the destination, so that whole cache lines are read and written; over all
 * threads of a token.  Or by HPTT, where its library is given.
 */
#ifndef LEND_BENCH_CONTRACT_TRANSPOSE_H
#define LEND_BENCH_CONTRACT_TRANSPOSE_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/exec.h>

#include "bench/contract_cases.h"

struct transposition {
	size_t element;
	size_t rank;
	/* In the order of the source, whose first index has stride 1. */
	size_t extent[CASE_RANK];
	/* Index i of the destination, which has no gaps, is source[i]. */
	size_t source[CASE_RANK];
	int threads;
};

/* HPTT's library; false: it is none.  Without it, our own. */
bool transpose_use(const char *library);

void transpose(const struct transposition *t, const void *from, void *to,
	       const struct lend_exec *exec);

#endif
