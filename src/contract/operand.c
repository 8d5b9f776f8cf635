/* SPDX-License-Identifier: MIT */
#include "contract/operand.h"

#include "base/util.h"

static void
pack_sums(const struct dims *sum, enum operand which,
	  const struct operand_block *block, void *dst)
{
	for (size_t i = 0; i < sum->total; i += OPERAND_SUMS) {
		size_t count = size_min(OPERAND_SUMS, sum->total - i);

		dims_offsets(sum, which, i, count, block->sums);
		pack_sum(block->spec, block->rows, block->cols, block->src,
			 block->row, block->col, count, block->sums, i > 0,
			 dst);
	}
}

void
operand_pack(const struct task *task, const struct operand_block *block,
	     void *dst)
{
	bool a = block->spec->side == PACK_A;
	const struct dims *sum = a ? task->plan->sum_a : task->plan->sum_b;

	if (sum->total > 1)
		pack_sums(sum, a ? OPERAND_A : OPERAND_B, block, dst);
	else
		pack(block->spec, block->rows, block->cols, block->src,
		     block->row, block->col, block->period, dst);
	if (!a && !scalar_is(task->alpha, 1))
		pack_scale(block->spec, block->rows, block->cols,
			   task->alpha.re, task->alpha.im, dst);
}
