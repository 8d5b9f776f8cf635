/* SPDX-License-Identifier: MIT */
/*
 * Many small products whose elements lie side by side (METHOD_SIDE): the
 * batch is at unit stride in all three operands.
 *
 *   C[x, i, j] = sum over p of A[x, i, p] * B[x, p, j]
 *
 * A vector has the same element of as many products as it has lanes, and a
 * tile of some i by some j is in registers: each vector of A and of B serves
 * a whole row or column of it.  Nothing is packed.
 *
 * A unit is such a tile for a run of x so short that what all tiles of that
 * run read stays in the second cache.  The tiles of a run come one after the
 * other.
 */
#ifndef LEND_CONTRACT_SIDE_H
#define LEND_CONTRACT_SIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "contract/plan.h"
#include "contract/task.h"

/*
 * Makes the plan, whose rows, columns and batch are one index, one of these
 * if it suits.  Otherwise nothing has changed but the order of dims.
 */
bool side_plan(struct lend_plan *plan);

size_t side_scratch(const struct lend_plan *plan);
void side_run(const struct task *task, const struct seat *seat);

#endif
