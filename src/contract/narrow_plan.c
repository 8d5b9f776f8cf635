/* SPDX-License-Identifier: MIT */
#include "contract/narrow.h"

#include "base/util.h"
#include "contract/caches.h"

/*
 * Up to so many columns it is faster than packing A, whose elements are used
 * once for each: with AVX2 1.1 to 2.3 times where A comes from memory, at 96
 * the least.
 */
#define MOST_COLUMNS 96
/* Of sums; of more columns only where the sum is a third longer than them. */
#define SURE_COLUMNS_SUMS 24
/* So short a sum does not pay for turning its results. */
#define LEAST_SUM 16
/*
 * So deep a one is for threads to divide; and B, packed, must stay in cache:
 * where vectors of A meet it, in a quarter of the second one.  Where elements
 * of A do, B is read in order and two lines of C at a time, and all of that
 * cache is as good: 1.6 to 2.6 times as fast as packing, at sums of 700 to
 * 2700, with 19 to 1000 rows, where vectors of A came to 0.6 to 1.2.
 */
#define MOST_SUM 4096
/* Of a first cache: lines so far apart, or a multiple, are of one set. */
#define CACHE_WAY_BYTES 4096

/* The first dim whose stride in `which` is 1; count if there is none. */
static size_t
find_unit(const struct dims *dims, enum operand which)
{
	size_t i = 0;

	while (i < dims->count && dims->dim[i].stride[which] != 1)
		i++;
	return i;
}

static void
sort(struct dims *dims, enum operand which)
{
	dims_sort(dims, which);
	dims_fuse(dims);
}

/* Columns of the kernel that the plan is for. */
static size_t
kernel_columns(const struct lend_plan *plan)
{
	return plan->narrow.sums ? plan->kernel->sums_nr :
	       plan->kernel->rows_nr;
}

/* Columns, with those that idle. */
static size_t
columns_taken(const struct lend_plan *plan)
{
	size_t nr = kernel_columns(plan);

	return ceil_div(plan->n->total, nr) * nr;
}

static bool
columns_suit(const struct lend_plan *plan)
{
	size_t most = MOST_COLUMNS;

	if (plan->narrow.sums)
		most = size_min(most, size_max(plan->k->total / 4 * 3,
					       SURE_COLUMNS_SUMS));
	return plan->n->total > 1 && plan->n->total <= most;
}

static bool
sum_suits(const struct lend_plan *plan)
{
	size_t k = plan->k->total;
	size_t most = caches()->l2 / (columns_taken(plan) * plan->bytes);

	if (!plan->narrow.sums)
		most /= 4;
	return k >= LEAST_SUM && k <= size_min(most, MOST_SUM);
}

/* Groups `piece` elements of the dim into one step of the units. */
static void
units_cut(struct dims *units, size_t at, size_t piece)
{
	struct dim *dim = &units->dim[at];

	dim->extent = ceil_div(dim->extent, piece);
	for (int i = 0; i < OPERANDS; i++)
		dim->stride[i] *= (int64_t)piece;
}

/*
 * A unit has whole lines of A, as the rest of one that is read in part is gone
 * when its turn comes, and two lines of C; less where its results would not
 * stay in the first cache.
 */
static void
size_unit(struct lend_plan *plan)
{
	const struct kernel *kernel = plan->kernel;
	struct narrow *narrow = &plan->narrow;
	size_t row = columns_taken(plan) * plan->bytes;
	/* Of the first cache, what A and B leave. */
	size_t most = caches()->l1 / 4 * 3;

	narrow->rows = narrow->sums || narrow->store == NARROW_LINE ?
		       NARROW_LINES * kernel->line : 1;
	narrow->span = 1;
	if (narrow->sums)
		return;
	narrow->span = size_min(kernel->line,
		plan->m->dim[narrow->along].extent / kernel->rows_mr *
		kernel->rows_mr);
	if (narrow->rows > 1 && narrow->rows * narrow->span * row > most)
		narrow->rows = kernel->line;
	while (narrow->span > kernel->rows_mr &&
	       narrow->rows * narrow->span * row > most)
		narrow->span -= kernel->rows_mr;
}

static void
set_units(struct lend_plan *plan)
{
	const struct narrow *narrow = &plan->narrow;
	struct dims *units = plan->units;

	units->count = plan->m->count;
	for (size_t i = 0; i < units->count; i++)
		units->dim[i] = plan->m->dim[i];
	units_cut(units, narrow->line, narrow->rows);
	if (!narrow->sums)
		units_cut(units, narrow->along, narrow->span);
	units->total = 1;
	for (size_t i = 0; i < units->count; i++)
		units->total *= units->dim[i].extent;
}

/*
 * Whether the lines of a sum's terms are all of one set of a first cache, which
 * has fewer ways than the shortest sum has terms: one that was asked for is
 * gone when it is wanted.
 */
static bool
sums_collide(const struct lend_plan *plan)
{
	uint64_t nearest = stride_size(run_stride(plan->k, OPERAND_A));

	return nearest && nearest * plan->bytes % CACHE_WAY_BYTES == 0;
}

size_t
narrow_unit_bytes(const struct lend_plan *plan)
{
	return plan->narrow.rows * plan->k->total * CACHE_LINE;
}

/* Whether one call of the kernel has all columns, and whole lines of A. */
static bool
is_read_once(const struct lend_plan *plan)
{
	return plan->kernel->rows_mr == plan->kernel->line &&
	       plan->n->total <= plan->kernel->rows_nr;
}

/*
 * Of such sums, as many units along as the second cache has room for, unless
 * each line is read once, in any case.
 */
static void
set_gathered(struct lend_plan *plan)
{
	struct narrow *narrow = &plan->narrow;
	size_t line = plan->kernel->line;

	narrow->gathered = 0;
	/* Units go along first, but where another dim is as close. */
	if (narrow->sums || narrow->along > 0 || narrow->span != line ||
	    is_read_once(plan) || !sums_collide(plan))
		return;
	narrow->gathered =
		size_min(ceil_div(plan->m->dim[narrow->along].extent, line),
			 caches()->l2 * 3 / 4 / narrow_unit_bytes(plan));
}

static void
set_blocks(struct lend_plan *plan)
{
	const struct narrow *narrow = &plan->narrow;
	size_t mr = narrow->sums ? plan->kernel->lanes : plan->kernel->rows_mr;
	size_t nr = kernel_columns(plan);

	plan->blocks = (struct blocks){
		.mr = mr, .nr = nr, .mc = narrow->rows * narrow->span,
		.nc = columns_taken(plan), .kc = plan->k->total,
		.m_share = mr, .n_share = nr
	};
}

/* The longest dim of m. */
static size_t
find_longest(const struct dims *m)
{
	size_t longest = 0;

	for (size_t i = 1; i < m->count; i++)
		if (m->dim[i].extent > m->dim[longest].extent)
			longest = i;
	return longest;
}

/* How results come to C; false: not by whole vectors. */
static bool
find_store(struct lend_plan *plan)
{
	const struct dims *m = plan->m, *n = plan->n;
	struct narrow *narrow = &plan->narrow;
	size_t lanes = plan->kernel->lanes;

	narrow->line = find_unit(m, OPERAND_C);
	if (narrow->line < m->count) {
		narrow->store = narrow->line == narrow->along ?
				NARROW_ALONG : NARROW_LINE;
		return m->dim[narrow->line].extent >= lanes;
	}
	narrow->store = NARROW_COLUMNS;
	narrow->line = narrow->sums ? find_longest(m) : narrow->along;
	return run_stride(n, OPERAND_C) == 1 &&
	       (n->count == 1 || n->dim[0].extent >= lanes) &&
	       narrow->line < m->count &&
	       m->dim[narrow->line].extent >= lanes;
}

/* Whether the dims that vectors go along are there, and long enough. */
static bool
find_vectors(struct lend_plan *plan)
{
	const struct dims *m = plan->m, *k = plan->k;
	struct narrow *narrow = &plan->narrow;

	narrow->along = find_unit(m, OPERAND_A);
	narrow->sums = narrow->along == m->count;
	if (!find_store(plan))
		return false;
	if (narrow->sums)
		return run_stride(k, OPERAND_A) == 1 &&
		       k->dim[0].extent >= plan->kernel->lanes;
	return m->dim[narrow->along].extent >= plan->kernel->rows_mr;
}

bool
narrow_plan(struct lend_plan *plan)
{
	if (plan->complex || plan->empty || plan->nothing ||
	    plan->sum_a->total > 1)
		return false;
	sort(plan->m, OPERAND_A);
	sort(plan->k, OPERAND_A);
	sort(plan->n, OPERAND_C);
	if (!find_vectors(plan) || !columns_suit(plan) || !sum_suits(plan))
		return false;
	size_unit(plan);
	set_gathered(plan);
	set_units(plan);
	set_blocks(plan);
	plan->method = METHOD_NARROW;
	return true;
}
