/* SPDX-License-Identifier: MIT */
/*
 * Packing a block of a plan's operand: as pack.h, with the sums over labels
 * that the operand alone has, and B times alpha.
 */
#ifndef LEND_CONTRACT_OPERAND_H
#define LEND_CONTRACT_OPERAND_H

#include "contract/pack.h"
#include "contract/task.h"

/* Offsets of a sum within one operand that are at hand at once. */
#define OPERAND_SUMS 256

struct operand_block {
	const struct pack_spec *spec;
	size_t rows, cols;
	const char *src;
	const int64_t *row, *col;
	size_t period;		/* see pack.h */
	int64_t *sums;		/* scratch of OPERAND_SUMS offsets */
};

void operand_pack(const struct task *task, const struct operand_block *block,
		  void *dst);

#endif
