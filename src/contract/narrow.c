/* SPDX-License-Identifier: MIT */
#include "contract/narrow.h"

#include <string.h>

#include "base/util.h"
#include "contract/operand.h"

struct job {
	const struct task *task;
	const struct lend_plan *plan;
	const struct kernel *kernel;
	const char *a;		/* of the present product of the batch */
	char *c;
	const char *b;		/* packed, `tiles` panels */
	char *tile;
	char *gathered;		/* lines of A; null: it is read where it lies */
	size_t k, n, tiles;
	size_t width;		/* of the panels together */
	size_t span;		/* rows along that a unit has: 1 of sums */
	enum kernel_update update;
	int64_t *row_a, *row_c;	/* offsets: rows of a line in A and C, */
	int64_t *col_a, *col_c;	/* sums in A, columns in C, */
	int64_t *row, *col;	/* rows and sums where kernels read A, */
	int64_t *along_c;	/* a vector of `along` in C */
	int64_t *row_b, *col_b, *sums;
};

/* Where a unit lies, and how much of it there is. */
struct unit {
	const char *a;
	char *c;
	size_t rows;		/* of its line */
	size_t first;		/* of what is along, the first to use */
};

static size_t
b_bytes(const struct lend_plan *plan)
{
	return round_up(plan->blocks.nc * plan->k->total * plan->bytes,
			CACHE_LINE);
}

size_t
narrow_a_bytes(const struct lend_plan *plan)
{
	return b_bytes(plan) + plan->narrow.gathered *
	       narrow_unit_bytes(plan);
}

/* The rows of a unit's line, as the kernel takes them. */
static size_t
line_rows(const struct lend_plan *plan)
{
	size_t group = plan->narrow.sums ? plan->kernel->sums_mr : 1;

	return round_up(plan->narrow.rows, group);
}

size_t
narrow_tile_bytes(const struct lend_plan *plan)
{
	/* Turning reads whole vectors, past the end of the last row. */
	return (line_rows(plan) * plan->blocks.nc * plan->narrow.span +
		plan->kernel->lanes) * plan->bytes;
}

size_t
narrow_scratch(const struct lend_plan *plan)
{
	return 3 * line_rows(plan) + plan->kernel->line +
	       3 * plan->k->total + 2 * plan->n->total +
	       size_max(OPERAND_SUMS, SCALE_SCRATCH);
}

static void
lay_out(struct job *job, int64_t *scratch)
{
	job->row_a = scratch;
	job->row_c = job->row_a + line_rows(job->plan);
	job->row = job->row_c + line_rows(job->plan);
	job->along_c = job->row + line_rows(job->plan);
	job->col_a = job->along_c + job->kernel->line;
	job->col = job->col_a + job->k;
	job->row_b = job->col + job->k;
	job->col_c = job->row_b + job->k;
	job->col_b = job->col_c + job->n;
	job->sums = job->col_b + job->n;
}

static void
find_offsets(struct job *job)
{
	const struct lend_plan *plan = job->plan;
	const struct narrow *narrow = &plan->narrow;
	const struct dim *line = &plan->m->dim[narrow->line];
	size_t rows = line_rows(job->plan);

	dims_offsets(plan->k, OPERAND_A, 0, job->k, job->col_a);
	dims_offsets(plan->k, OPERAND_B, 0, job->k, job->row_b);
	dims_offsets(plan->n, OPERAND_B, 0, job->n, job->col_b);
	dims_offsets(plan->n, OPERAND_C, 0, job->n, job->col_c);
	for (size_t i = 0; i < rows; i++) {
		job->row_a[i] = (int64_t)i * line->stride[OPERAND_A];
		job->row_c[i] = (int64_t)i * line->stride[OPERAND_C];
	}
	if (!narrow->sums)
		for (size_t i = 0; i < job->kernel->line; i++)
			job->along_c[i] = (int64_t)i *
				plan->m->dim[narrow->along].stride[OPERAND_C];
	if (job->gathered) {
		size_t length = narrow->gathered * job->kernel->line;

		for (size_t i = 0; i < rows; i++)
			job->row[i] = (int64_t)(i * job->k * length);
		for (size_t p = 0; p < job->k; p++)
			job->col[p] = (int64_t)(p * length);
	} else {
		job->row = job->row_a;
		job->col = job->col_a;
	}
}

static void
pack_columns(const struct job *job, const char *b, void *dst)
{
	const struct pack_spec spec = {
		job->kernel, job->plan->narrow.sums ? PACK_SUMS : PACK_ROWS,
		false
	};
	const struct operand_block block = {
		.spec = &spec, .rows = job->n, .cols = job->k, .src = b,
		.row = job->col_b, .col = job->row_b, .sums = job->sums
	};

	operand_pack(job->task, &block, dst);
}

static struct unit
unit_at(const struct job *job, const struct cursor *cursor)
{
	const struct lend_plan *plan = job->plan;
	const struct narrow *narrow = &plan->narrow;
	size_t most = narrow->rows;
	int64_t a = cursor->offset[OPERAND_A], c = cursor->offset[OPERAND_C];
	struct unit unit = {
		.rows = size_min(most, plan->m->dim[narrow->line].extent -
				       cursor->index[narrow->line] * most)
	};

	if (!narrow->sums) {
		const struct dim *along = &plan->m->dim[narrow->along];
		size_t end = (cursor->index[narrow->along] + 1) * job->span;

		/* The last ones go back, over some of those before. */
		unit.first = end > along->extent ? end - along->extent : 0;
		a -= (int64_t)unit.first;
		c -= (int64_t)unit.first * along->stride[OPERAND_C];
	}
	unit.a = job->a + a * (int64_t)plan->bytes;
	unit.c = job->c + c * (int64_t)plan->bytes;
	return unit;
}

/*
 * Has the unit at the cursor read what is gathered.  The first one of a run,
 * or of all, gathers for the run.
 */
static void
gather(const struct job *job, const struct cursor *cursor, struct unit *unit,
       bool first)
{
	const struct narrow *narrow = &job->plan->narrow;
	size_t line = job->kernel->line, bytes = job->kernel->bytes;
	size_t extent = job->plan->m->dim[narrow->along].extent;
	size_t index = cursor->index[narrow->along];
	size_t run = index / narrow->gathered * narrow->gathered;
	/* Of the unit, of what is gathered: the last unit goes back. */
	size_t at = size_min(index * line, extent - line);
	size_t begin = size_min(run * line, extent - line);
	size_t end = size_min((run + narrow->gathered) * line, extent);
	const char *from = unit->a - (at - begin) * bytes;

	for (size_t i = 0; (first || index == run) && i < unit->rows; i++)
		for (size_t p = 0; p < job->k; p++)
			memcpy(job->gathered + (job->row[i] + job->col[p]) *
					       (int64_t)bytes,
			       from + (job->row_a[i] + job->col_a[p]) *
				      (int64_t)bytes, (end - begin) * bytes);
	unit->a = job->gathered + (at - begin) * bytes;
}

/*
 * The results of row i of a unit's line, column j and row x along are at
 * tile[(i * width + j) * span + x].
 */
static void
multiply_rows(const struct job *job, const struct unit *unit, const char *next)
{
	const struct kernel *kernel = job->kernel;
	size_t piece = kernel->rows_mr * kernel->bytes;
	size_t panel = job->k * kernel->rows_nr * kernel->bytes;
	size_t column = job->span * kernel->bytes;
	char *tile = job->tile;

	for (size_t i = 0; i < unit->rows; i++, tile += job->width * column) {
		const char *a = unit->a +
				job->row[i] * (int64_t)kernel->bytes;
		const char *ahead = i + 1 < unit->rows ? unit->a +
			job->row[i + 1] * (int64_t)kernel->bytes : next;

		/* Rows that begin amid a line end in the next one. */
		for (size_t v = 0; v < column; v += piece)
			for (size_t t = 0; t < job->tiles; t++)
				kernel->narrow_rows(job->k, a + v, job->col,
					job->b + t * panel,
					tile + t * kernel->rows_nr * column +
						v,
					job->span, ahead + v);
	}
}

/* A vector along, from `from` on: of each column, lines of C. */
static void
store_lines(const struct job *job, const struct unit *unit, size_t from,
	    size_t first)
{
	const struct kernel *kernel = job->kernel;
	size_t bytes = kernel->bytes;

	for (size_t j = 0; j < job->n; j++)
		kernel->narrow_turn(unit->rows,
			job->tile + (j * job->span + from) * bytes,
			job->width * job->span, first, kernel->lanes,
			unit->c + job->col_c[j] * (int64_t)bytes,
			job->along_c + from, job->update,
			job->task->beta.re);
}

/* A vector along, from `from` on: of each of its rows, runs of columns. */
static void
store_columns(const struct job *job, const struct unit *unit, size_t from,
	      size_t first)
{
	const struct kernel *kernel = job->kernel;
	size_t bytes = kernel->bytes, run = job->plan->n->dim[0].extent;
	size_t most = NARROW_LINES * kernel->line;

	for (size_t j = 0, left; j < job->n; j += left) {
		left = size_min(run - j % run, most);
		kernel->narrow_turn(left,
			job->tile + (j * job->span + from) * bytes,
			job->span, first, kernel->lanes,
			unit->c + job->col_c[j] * (int64_t)bytes,
			job->along_c + from, job->update,
			job->task->beta.re);
	}
}

/* `next`: where A is read after this unit. */
static void
unit_rows(const struct job *job, const struct unit *unit, const char *next)
{
	const struct kernel *kernel = job->kernel;
	enum narrow_store store = job->plan->narrow.store;
	size_t bytes = kernel->bytes, lanes = kernel->lanes;

	multiply_rows(job, unit, next);
	if (store == NARROW_ALONG) {
		kernel->narrow_copy(job->n, job->span - unit->first,
			job->tile + unit->first * bytes, job->span,
			unit->c + unit->first * bytes, job->col_c,
			job->update, job->task->beta.re);
		return;
	}
	for (size_t from = 0; from < job->span; from += lanes) {
		size_t first = unit->first > from ?
			       size_min(unit->first - from, lanes) : 0;

		if (store == NARROW_LINE)
			store_lines(job, unit, from, first);
		else
			store_columns(job, unit, from, first);
	}
}

/*
 * Offsets of a group of rows: where the line ends, its last row stands in for
 * those that there are not.
 */
static const int64_t *
group_rows(const struct job *job, size_t i, size_t rows, int64_t *clamped)
{
	size_t group = job->kernel->sums_mr;

	if (i + group <= rows)
		return job->row_a + i;
	for (size_t r = 0; r < group; r++)
		clamped[r] = job->row_a[size_min(i + r, rows - 1)];
	return clamped;
}

/* Of sums: rows by columns, as C lies. */
static void
copy_columns(const struct job *job, const struct unit *unit)
{
	const struct kernel *kernel = job->kernel;
	size_t bytes = kernel->bytes, run = job->plan->n->dim[0].extent;

	for (size_t j = 0; j < job->n; j += run)
		kernel->narrow_copy(unit->rows, run, job->tile + j * bytes,
			job->width, unit->c + job->col_c[j] * (int64_t)bytes,
			job->row_c, job->update, job->task->beta.re);
}

static void
turn_columns(const struct job *job, const struct unit *unit)
{
	const struct kernel *kernel = job->kernel;
	size_t lanes = kernel->lanes;

	for (size_t j = 0; j < job->n; j += lanes)
		kernel->narrow_turn(unit->rows, job->tile + j * kernel->bytes,
				    job->width, 0,
				    size_min(lanes, job->n - j), unit->c,
				    job->col_c + j, job->update,
				    job->task->beta.re);
}

/* `next`: as in unit_rows(). */
static void
unit_sums(const struct job *job, const struct unit *unit, const char *next)
{
	const struct kernel *kernel = job->kernel;
	size_t bytes = kernel->bytes;
	size_t panel = job->k * kernel->sums_nr * bytes;

	for (size_t i = 0; i < unit->rows; i += kernel->sums_mr) {
		int64_t clamped[KERNEL_MOST_LANES];
		const int64_t *row = group_rows(job, i, unit->rows, clamped);
		/* To which the offsets of these rows are added. */
		const char *ahead = i + kernel->sums_mr < unit->rows ?
			unit->a + job->row_a[kernel->sums_mr] *
				  (int64_t)bytes :
			next - row[0] * (int64_t)bytes;

		for (size_t t = 0; t < job->tiles; t++)
			kernel->narrow_sums(job->k, unit->a, row, job->col_a,
				job->b + t * panel,
				job->tile + (i * job->width +
					     t * kernel->sums_nr) * bytes,
				job->width, ahead);
	}
	if (job->plan->narrow.store == NARROW_COLUMNS)
		copy_columns(job, unit);
	else
		turn_columns(job, unit);
}

static void
units(struct job *job, struct share share)
{
	bool sums = job->plan->narrow.sums;
	struct cursor cursor;
	struct unit unit;

	cursor_start(&cursor, job->plan->units, share.begin);
	unit = unit_at(job, &cursor);
	for (size_t i = share.begin; i < share.end; i++) {
		struct unit next;

		if (job->gathered)
			gather(job, &cursor, &unit, i == share.begin);
		next = unit;
		if (i + 1 < share.end) {
			cursor_step(&cursor, 1);
			next = unit_at(job, &cursor);
		}
		if (sums)
			unit_sums(job, &unit, next.a);
		else
			unit_rows(job, &unit,
				  job->gathered ? unit.a : next.a);
		unit = next;
	}
}

static enum kernel_update
update_of(const struct task *task)
{
	if (scalar_is(task->beta, 0))
		return task_streams(task) ? KERNEL_STREAM : KERNEL_SET;
	return scalar_is(task->beta, 1) ? KERNEL_ADD : KERNEL_SCALE;
}

/* Of the units, as all that divides them is the seats. */
static struct share
share_of_units(const struct task *task, const struct seat *seat)
{
	size_t total = task->plan->units->total;

	if (task->split == LEND_SPLIT_BATCH)
		return share_of(total, 1, seat->rank, task->pm);
	return share_of(total, 1, seat->rank * task->pn + seat->group,
			task->pm * task->pn);
}

void
narrow_run(const struct task *task, const struct seat *seat)
{
	const struct lend_plan *plan = task->plan;
	struct shares shares = task_divide(task, seat);
	struct share share = share_of_units(task, seat);
	struct job job = {
		.task = task, .plan = plan, .kernel = plan->kernel,
		.b = seat->a, .tile = seat->tile,
		.gathered = plan->narrow.gathered ?
			    (char *)seat->a + b_bytes(plan) : NULL,
		.k = plan->k->total, .n = plan->n->total,
		.tiles = plan->blocks.nc / plan->blocks.nr,
		.width = plan->blocks.nc, .span = plan->narrow.span,
		.update = update_of(task)
	};
	int64_t bytes = (int64_t)plan->bytes;

	if (share.begin == share.end)
		return;
	lay_out(&job, seat->scratch);
	find_offsets(&job);
	for (size_t i = shares.batch.begin; i < shares.batch.end; i++) {
		job.a = task->a + dims_offset(plan->batch, OPERAND_A, i) *
				  bytes;
		job.c = task->c + dims_offset(plan->batch, OPERAND_C, i) *
				  bytes;
		pack_columns(&job, task->b + dims_offset(plan->batch,
						OPERAND_B, i) * bytes,
			     seat->a);
		units(&job, share);
	}
	if (job.update == KERNEL_STREAM)
		kernel_fence();
}
