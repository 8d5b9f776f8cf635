/* SPDX-License-Identifier: MIT */
/*
 * Products with a single column (matrix by vector, dot products, elementwise
 * products, each with a batch): every element of A is used once, so packing
 * would cost more than it brings.  Loops over the arrays as they lie:
 *
 *   runs of rows, whose results stay in the accumulator tile
 *     runs of the sum
 *       the one of the two runs inside along which A lies closer
 *
 * Where nothing is summed and nothing has gaps, a run of rows is multiplied at
 * once, and past the caches if it is much: then memory is all that it waits for.
 */
#include <string.h>

#include "base/util.h"
#include "contract/task.h"

/* Rows whose results are in the tile at once: a part of L1. */
#define ROWS 1024

/* A run of rows against a run of the sum. */
struct patch {
	size_t rows, cols;
	const char *a, *b;
	int64_t row_a, row_b;	/* strides, in elements */
	int64_t col_a, col_b;
	int64_t bytes;		/* of an element */
	char *acc;
};

static const struct kernel_loops *
loops_of(const struct lend_plan *plan)
{
	return plan->complex ? &plan->kernel->complex_loops :
			       &plan->kernel->loops;
}

size_t
loops_tile_bytes(const struct lend_plan *plan)
{
	return ROWS * plan->bytes;
}

static void
sum_inside(const struct kernel_loops *loops, const struct patch *patch)
{
	const char *a = patch->a, *b = patch->b;

	for (size_t i = 0; i < patch->rows; i++) {
		loops->dot(patch->cols, a, patch->col_a, b, patch->col_b,
			   patch->acc + (int64_t)i * patch->bytes);
		a += patch->row_a * patch->bytes;
		b += patch->row_b * patch->bytes;
	}
}

static void
rows_inside(const struct kernel_loops *loops, const struct patch *patch)
{
	const char *a = patch->a, *b = patch->b;
	size_t k = 0;

	if (patch->row_a == 1)
		for (; k + 4 <= patch->cols; k += 4) {
			loops->add4(patch->rows, a, patch->col_a, b,
				    patch->row_b, patch->col_b, patch->acc);
			a += 4 * patch->col_a * patch->bytes;
			b += 4 * patch->col_b * patch->bytes;
		}
	for (; k < patch->cols; k++) {
		loops->add(patch->rows, a, patch->row_a, b, patch->row_b,
			   patch->acc);
		a += patch->col_a * patch->bytes;
		b += patch->col_b * patch->bytes;
	}
}

/* Adds up the whole share of the sum for the run of rows in *patch. */
static void
sum_runs(const struct task *task, struct share k, struct patch *patch)
{
	const struct dims *dims = task->plan->k;
	const struct kernel_loops *loops = loops_of(task->plan);
	bool dots = dims->count && (patch->rows == 1 ||
		stride_size(run_stride(dims, OPERAND_A)) <
		stride_size(patch->row_a));
	const char *a = patch->a, *b = patch->b;
	struct cursor cursor;

	cursor_start(&cursor, dims, k.begin);
	while (k.begin < k.end) {
		patch->cols = size_min(cursor_run(&cursor),
				       k.end - k.begin);
		patch->a = a + cursor.offset[OPERAND_A] * patch->bytes;
		patch->b = b + cursor.offset[OPERAND_B] * patch->bytes;
		if (dots)
			sum_inside(loops, patch);
		else
			rows_inside(loops, patch);
		cursor_step(&cursor, patch->cols);
		k.begin += patch->cols;
	}
}

static void
store(const struct task *task, const struct seat *seat, size_t row,
      int64_t offset, const struct patch *patch)
{
	const struct kernel_loops *loops = loops_of(task->plan);
	const struct scalar zero = { 0, 0 };

	if (seat->partial)
		loops->store(patch->rows, patch->acc, task->alpha, zero,
			     (char *)seat->partial +
			     (int64_t)row * patch->bytes, 1);
	else
		loops->store(patch->rows, patch->acc, task->alpha,
			     task->beta, task->c + offset * patch->bytes,
			     run_stride(task->plan->m, OPERAND_C));
}

/* Whether each element is a single product, and all lie without gaps. */
static bool
are_products(const struct task *task, const struct seat *seat)
{
	const struct lend_plan *plan = task->plan;
	int64_t row_b = run_stride(plan->m, OPERAND_B);

	return !plan->complex && !seat->partial && plan->k->total == 1 &&
	       run_stride(plan->m, OPERAND_A) == 1 &&
	       run_stride(plan->m, OPERAND_C) == 1 &&
	       (row_b == 1 || row_b == 0);
}

/* C from A and B at once, without the tile. */
static void
run_products(const struct task *task, struct share m)
{
	const struct lend_plan *plan = task->plan;
	int64_t bytes = (int64_t)plan->bytes;
	bool past = task_streams(task);
	struct cursor cursor;

	cursor_start(&cursor, plan->m, m.begin);
	while (m.begin < m.end) {
		size_t rows = size_min(cursor_run(&cursor), m.end - m.begin);

		plan->kernel->product(
			rows, task->a + cursor.offset[OPERAND_A] * bytes,
			task->b + cursor.offset[OPERAND_B] * bytes,
			run_stride(plan->m, OPERAND_B), task->alpha.re,
			task->beta.re, task->c + cursor.offset[OPERAND_C] * bytes, past);
		cursor_step(&cursor, rows);
		m.begin += rows;
	}
	if (past)
		kernel_fence();
}

void
loops_run(const struct task *task, const struct seat *seat)
{
	const struct lend_plan *plan = task->plan;
	struct shares shares = task_divide(task, seat);
	struct share m = shares.m;
	int64_t bytes = (int64_t)plan->bytes;
	struct cursor cursor;

	if (are_products(task, seat)) {
		run_products(task, m);
		return;
	}
	cursor_start(&cursor, plan->m, m.begin);
	while (m.begin < m.end) {
		struct patch patch = {
			.rows = size_min(size_min(cursor_run(&cursor), ROWS),
					 m.end - m.begin),
			.a = task->a + cursor.offset[OPERAND_A] * bytes,
			.b = task->b + cursor.offset[OPERAND_B] * bytes,
			.row_a = run_stride(plan->m, OPERAND_A),
			.row_b = run_stride(plan->m, OPERAND_B),
			.col_a = run_stride(plan->k, OPERAND_A),
			.col_b = run_stride(plan->k, OPERAND_B),
			.bytes = bytes,
			.acc = seat->tile
		};

		memset(patch.acc, 0, patch.rows * plan->bytes);
		sum_runs(task, shares.k, &patch);
		store(task, seat, m.begin, cursor.offset[OPERAND_C], &patch);
		cursor_step(&cursor, patch.rows);
		m.begin += patch.rows;
	}
}
