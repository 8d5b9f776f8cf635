/* SPDX-License-Identifier: MIT */
/* What happens to C alone: its scaling, and the sum of partial results. */
#include "base/util.h"
#include "contract/task.h"

#define ROWS (SCALE_SCRATCH / 2)

/* x = beta * x.  A beta of 0 does not read x. */
#define DEFINE_SCALE(name, real, count)					\
	static void							\
	name(void *at, struct scalar beta)				\
	{								\
		real *x = at;						\
		double re = 0, im = 0;					\
									\
		if (!scalar_is(beta, 0)) {				\
			re = x[0];					\
			im = count == 2 ? x[count - 1] : 0;		\
		}							\
		x[0] = (real)(beta.re * re - beta.im * im);		\
		if (count == 2)						\
			x[count - 1] = (real)(beta.re * im +		\
					      beta.im * re);		\
	}

DEFINE_SCALE(scale_f32, float, 1)
DEFINE_SCALE(scale_f64, double, 1)
DEFINE_SCALE(scale_cf32, float, 2)
DEFINE_SCALE(scale_cf64, double, 2)

typedef void scale_fn(void *at, struct scalar beta);

static scale_fn *
scale_of(enum lend_type type)
{
	static scale_fn *const scale[] = {
		[LEND_F32] = scale_f32, [LEND_F64] = scale_f64,
		[LEND_CF32] = scale_cf32, [LEND_CF64] = scale_cf64
	};

	return scale[type];
}

static void
scale_product(const struct task *task, const struct shares *shares, char *c,
	      int64_t *row)
{
	const struct lend_plan *plan = task->plan;
	int64_t bytes = (int64_t)plan->bytes;
	scale_fn *scale = scale_of(plan->type);

	for (size_t i = shares->m.begin; i < shares->m.end; i += ROWS) {
		size_t rows = size_min(ROWS, shares->m.end - i);

		dims_offsets(plan->m, OPERAND_C, i, rows, row);
		for (size_t j = shares->n.begin; j < shares->n.end; j++) {
			int64_t col = dims_offset(plan->n, OPERAND_C, j);

			for (size_t r = 0; r < rows; r++)
				scale(c + (row[r] + col) * bytes, task->beta);
		}
	}
}

void
scale_shares(const struct task *task, const struct shares *shares,
	     int64_t *scratch)
{
	const struct lend_plan *plan = task->plan;

	if (scalar_is(task->beta, 1))
		return;
	for (size_t i = shares->batch.begin; i < shares->batch.end; i++)
		scale_product(task, shares, task->c +
			dims_offset(plan->batch, OPERAND_C, i) *
			(int64_t)plan->bytes, scratch);
}

/* x = x + the sum over `count` arrays, `apart` bytes from each other. */
#define DEFINE_SUM(name, real, parts)					\
	static void							\
	name(void *at, const char *from, size_t apart, size_t count)	\
	{								\
		real *x = at;						\
									\
		for (size_t n = 0; n < count; n++, from += apart)	\
			for (int i = 0; i < parts; i++)			\
				x[i] += ((const real *)from)[i];	\
	}

DEFINE_SUM(sum_f32, float, 1)
DEFINE_SUM(sum_f64, double, 1)
DEFINE_SUM(sum_cf32, float, 2)
DEFINE_SUM(sum_cf64, double, 2)

typedef void sum_fn(void *at, const char *from, size_t apart, size_t count);

void
reduce_run(const struct task *task, const char *partial, size_t apart,
	   size_t count, size_t index, size_t shares, int64_t *scratch)
{
	static sum_fn *const sum_of[] = {
		[LEND_F32] = sum_f32, [LEND_F64] = sum_f64,
		[LEND_CF32] = sum_cf32, [LEND_CF64] = sum_cf64
	};
	const struct lend_plan *plan = task->plan;
	struct share share = share_of(partial_elements(plan), 1, index,
				      shares);
	size_t m = plan->m->total;
	scale_fn *scale = scale_of(plan->type);
	sum_fn *sum = sum_of[plan->type];

	while (share.begin < share.end) {
		size_t i = share.begin % m, j = share.begin / m;
		size_t rows = size_min(size_min(ROWS, m - i),
				       share.end - share.begin);
		int64_t col = dims_offset(plan->n, OPERAND_C, j);

		dims_offsets(plan->m, OPERAND_C, i, rows, scratch);
		for (size_t r = 0; r < rows; r++) {
			char *c = task->c + (scratch[r] + col) *
					    (int64_t)plan->bytes;

			if (!scalar_is(task->beta, 1))
				scale(c, task->beta);
			sum(c, partial + (share.begin + r) * plan->bytes,
			    apart, count);
		}
		share.begin += rows;
	}
}
