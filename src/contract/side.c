/* SPDX-License-Identifier: MIT */
#include "contract/side.h"

#include "base/util.h"

/* Of a unit, in each row of memory. */
#define RUN_BYTES 512

static size_t
run_of(const struct lend_plan *plan)
{
	return RUN_BYTES / plan->bytes;
}

/*
 * The longest dim of m that has no part in the other input: rows where that
 * is B, columns where it is A.  count: none.
 */
static size_t
find_longest(const struct dims *m, enum operand other)
{
	size_t found = m->count;

	for (size_t i = 1; i < m->count; i++)
		if (m->dim[i].stride[other] == 0 &&
		    (found == m->count ||
		     m->dim[i].extent > m->dim[found].extent))
			found = i;
	return found;
}

static void
append(struct dims *units, struct dim dim, size_t piece)
{
	dim.extent = ceil_div(dim.extent, piece);
	for (int i = 0; i < OPERANDS; i++)
		dim.stride[i] *= (int64_t)piece;
	/* One of extent 1 as well: the places are counted on. */
	units->dim[units->count++] = dim;
	units->total *= dim.extent;
}

/* Places of a unit's index. */
enum { ROWS, COLUMNS };

static void
set_units(struct lend_plan *plan, size_t row, size_t col)
{
	const struct kernel *kernel = plan->kernel;
	const struct dims *m = plan->m;
	struct dims *units = plan->units;

	units->count = 0;
	units->total = 1;
	append(units, m->dim[row], kernel->side_rows);
	append(units, m->dim[col], kernel->side_cols);
	for (size_t i = 1; i < m->count; i++)
		if (i != row && i != col)
			append(units, m->dim[i], 1);
	append(units, m->dim[0], run_of(plan));
}

/* Whether half of a tile idles at most. */
static bool
fills_tiles(const struct lend_plan *plan, size_t rows, size_t cols)
{
	const struct kernel *kernel = plan->kernel;
	size_t taken = round_up(rows, kernel->side_rows) *
		       round_up(cols, kernel->side_cols);

	return taken <= 2 * rows * cols;
}

bool
side_plan(struct lend_plan *plan)
{
	struct dims *m = plan->m;
	size_t row, col;

	if (plan->complex || plan->empty || plan->nothing)
		return false;
	dims_sort(m, OPERAND_C);
	dims_fuse(m);
	dims_sort(plan->k, OPERAND_A);
	dims_fuse(plan->k);
	if (plan->k->total > PLAN_SMALL_PRODUCT || m->count < 3)
		return false;
	for (int i = 0; i < OPERANDS; i++)
		if (m->dim[0].stride[i] != 1)
			return false;
	row = find_longest(m, OPERAND_B);
	col = find_longest(m, OPERAND_A);
	if (row == m->count || col == m->count || row == col ||
	    !fills_tiles(plan, m->dim[row].extent, m->dim[col].extent))
		return false;
	plan->side = (struct side){
		.run = m->dim[0].extent, .row = m->dim[row],
		.col = m->dim[col]
	};
	set_units(plan, row, col);
	plan->blocks = (struct blocks){
		.mr = plan->kernel->lanes, .nr = 1, .mc = run_of(plan),
		.nc = 1, .kc = plan->k->total,
		.m_share = plan->kernel->lanes, .n_share = 1
	};
	plan->method = METHOD_SIDE;
	return true;
}

size_t
side_scratch(const struct lend_plan *plan)
{
	return size_max(2 * plan->k->total, SCALE_SCRATCH);
}

static void
one_unit(const struct task *task, const struct cursor *cursor,
	 struct kernel_side *tile)
{
	const struct lend_plan *plan = task->plan;
	const struct kernel *kernel = plan->kernel;
	const struct side *side = &plan->side;
	size_t last = plan->units->count - 1;
	size_t row = cursor->index[ROWS] * kernel->side_rows;
	size_t col = cursor->index[COLUMNS] * kernel->side_cols;
	size_t x = cursor->index[last] * run_of(plan);
	int64_t bytes = (int64_t)plan->bytes;

	tile->rows = size_min(kernel->side_rows, side->row.extent - row);
	tile->cols = size_min(kernel->side_cols, side->col.extent - col);
	kernel->side(size_min(run_of(plan), side->run - x), tile,
		     task->a + cursor->offset[OPERAND_A] * bytes,
		     task->b + cursor->offset[OPERAND_B] * bytes,
		     task->c + cursor->offset[OPERAND_C] * bytes);
}

void
side_run(const struct task *task, const struct seat *seat)
{
	const struct lend_plan *plan = task->plan;
	const struct side *side = &plan->side;
	size_t k = plan->k->total, seats = task->pm * task->pn;
	struct share share = share_of(plan->units->total, 1,
		seat->rank * task->pn + seat->group, seats);
	struct kernel_side tile = {
		.k = k, .col_a = seat->scratch, .row_b = seat->scratch + k,
		.row_a = side->row.stride[OPERAND_A],
		.row_c = side->row.stride[OPERAND_C],
		.col_b = side->col.stride[OPERAND_B],
		.col_c = side->col.stride[OPERAND_C],
		.alpha = task->alpha.re, .beta = task->beta.re
	};
	struct cursor cursor;

	dims_offsets(plan->k, OPERAND_A, 0, k, seat->scratch);
	dims_offsets(plan->k, OPERAND_B, 0, k, seat->scratch + k);
	cursor_start(&cursor, plan->units, share.begin);
	for (size_t i = share.begin; i < share.end; i++) {
		one_unit(task, &cursor, &tile);
		cursor_step(&cursor, 1);
	}
}
