/* SPDX-License-Identifier: MIT */
#include "contract/narrow.h"

#include "base/util.h"
#include "contract/caches.h"

/*
 * Up to so many columns it is faster than packing A: 1.1 to 1.6 times in rows
 * (n = 56 to 96), but for sums only while A is read once.
 */
#define MOST_COLUMNS 96
#define MOST_COLUMNS_SUMS 24
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

static bool
columns_suit(const struct lend_plan *plan)
{
	size_t n = plan->n->total, nr = plan->kernel->narrow_nr;

	/* Half of a kernel's columns idle at most. */
	return n <= MOST_COLUMNS && n >= nr / 2;
}

static bool
sum_suits(const struct lend_plan *plan)
{
	size_t k = plan->k->total, nr = plan->kernel->narrow_nr;
	size_t taken = ceil_div(plan->n->total, nr) * nr;
	size_t most = caches()->l2 / (taken * plan->bytes);

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
	size_t columns = ceil_div(plan->n->total, kernel->narrow_nr) *
			 kernel->narrow_nr;
	size_t vector = columns * kernel->lanes * plan->bytes;
	/* Of the first cache, what A and B leave. */
	size_t most = caches()->l1 / 4 * 3;

	narrow->rows = NARROW_LINES * kernel->line;
	narrow->vectors = 1;
	if (narrow->sums || kernel->lanes == kernel->line)
		return;
	narrow->vectors = size_min(kernel->line,
		plan->m->dim[narrow->along].extent) / kernel->lanes;
	if (narrow->rows * narrow->vectors * vector > most)
		narrow->rows = kernel->line;
	while (narrow->vectors > 1 &&
	       narrow->rows * narrow->vectors * vector > most)
		narrow->vectors--;
}

static void
set_units(struct lend_plan *plan)
{
	const struct narrow *narrow = &plan->narrow;
	struct dims *units = plan->units;
	const struct kernel *kernel = plan->kernel;

	units->count = plan->m->count;
	for (size_t i = 0; i < units->count; i++)
		units->dim[i] = plan->m->dim[i];
	units_cut(units, narrow->line, narrow->rows);
	if (!narrow->sums)
		units_cut(units, narrow->along, narrow->vectors * kernel->lanes);
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

/*
 * Of such sums, as many units along as the second cache has room for.  Where
 * a vector is a line each line is read once, in any case.
 */
static void
set_gathered(struct lend_plan *plan)
{
	struct narrow *narrow = &plan->narrow;
	size_t line = plan->kernel->line;

	narrow->gathered = 0;
	/* Units go along first, but where another dim is as close. */
	if (narrow->sums || narrow->along > 0 || narrow->vectors == 1 ||
	    narrow->vectors * plan->kernel->lanes != line ||
	    !sums_collide(plan))
		return;
	narrow->gathered =
		size_min(ceil_div(plan->m->dim[narrow->along].extent, line),
			 caches()->l2 * 3 / 4 / narrow_unit_bytes(plan));
}

static void
set_blocks(struct lend_plan *plan)
{
	const struct kernel *kernel = plan->kernel;
	size_t nr = kernel->narrow_nr;

	plan->blocks = (struct blocks){
		.mr = kernel->lanes, .nr = nr,
		.mc = plan->narrow.rows * (plan->narrow.sums ? 1 :
		      plan->narrow.vectors * kernel->lanes),
		.nc = ceil_div(plan->n->total, nr) * nr, .kc = plan->k->total,
		.m_share = kernel->lanes, .n_share = nr
	};
}

/* Whether the dims that vectors go along are there, and long enough. */
static bool
find_vectors(struct lend_plan *plan)
{
	const struct dims *m = plan->m, *k = plan->k;
	struct narrow *narrow = &plan->narrow;
	size_t lanes = plan->kernel->lanes;

	narrow->line = find_unit(m, OPERAND_C);
	narrow->along = find_unit(m, OPERAND_A);
	narrow->sums = narrow->along == m->count;
	if (narrow->line == m->count || narrow->line == narrow->along ||
	    m->dim[narrow->line].extent < lanes)
		return false;
	if (narrow->sums)
		return plan->n->total <= MOST_COLUMNS_SUMS && k->count &&
		       k->dim[0].stride[OPERAND_A] == 1 &&
		       k->dim[0].extent >= lanes;
	return m->dim[narrow->along].extent >= lanes;
}

bool
narrow_plan(struct lend_plan *plan)
{
	if (plan->complex || plan->empty || plan->nothing ||
	    plan->sum_a->total > 1 || !columns_suit(plan))
		return false;
	sort(plan->m, OPERAND_A);
	sort(plan->k, OPERAND_A);
	if (!find_vectors(plan) || !sum_suits(plan))
		return false;
	size_unit(plan);
	set_gathered(plan);
	set_units(plan);
	sort(plan->n, OPERAND_C);
	set_blocks(plan);
	plan->method = METHOD_NARROW;
	return true;
}
