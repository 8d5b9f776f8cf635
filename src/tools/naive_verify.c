/* SPDX-License-Identifier: MIT */
#include "tools/naive.h"

#include <float.h>
#include <math.h>
#include <pthread.h>

#include "tools/npy.h"
#include "tools/progress.h"

/* Elements between two steps of progress. */
#define STEP ((size_t)64)

struct job {
	const struct naive *naive;
	const void *c;
	pthread_mutex_t lock;
	struct naive_verdict verdict;	/* guarded by the lock */
	double worst;			/* error / bound; guarded likewise */
};

static void
load(enum lend_type type, const void *array, ptrdiff_t i, double value[2])
{
	bool complex = type_is_complex(type);
	ptrdiff_t at = complex ? 2 * i : i;

	value[0] = type_real_bytes(type) == 4 ? ((const float *)array)[at]
					      : ((const double *)array)[at];
	value[1] = 0;
	if (complex)
		value[1] = type_real_bytes(type) == 4
				   ? ((const float *)array)[at + 1]
				   : ((const double *)array)[at + 1];
}

static bool
overflows(enum lend_type type, long double x)
{
	return x > (type_real_bytes(type) == 4 ? FLT_MAX / 2 : DBL_MAX / 2);
}

static double
bound_of(const struct naive *naive, const struct naive_element *want)
{
	bool single = type_real_bytes(naive->type) == 4;
	double epsilon = single ? FLT_EPSILON : DBL_EPSILON;
	/* Where a product underflows, its error is of this size. */
	double least = single ? FLT_TRUE_MIN : DBL_TRUE_MIN;
	double terms = naive->terms > 0 ? (double)naive->terms : 1;

	return NAIVE_ULPS * terms *
	       (epsilon * (double)want->magnitude + least);
}

/* The error over its bound: right up to 1. */
static double
judge(const struct naive *naive, const double got[2],
      const struct naive_element *want, double *error, double *bound)
{
	bool finite = isfinite(want->value[0]) && isfinite(want->value[1]);
	bool got_finite = isfinite(got[0]) && isfinite(got[1]);

	*bound = bound_of(naive, want);
	*error = hypot((double)(got[0] - want->value[0]),
		       (double)(got[1] - want->value[1]));
	if (finite && got_finite)
		return *error <= *bound ? *error / *bound
					: fmax(*error / *bound, 1.0000001);
	if (!finite && !got_finite)
		return 0;
	/* A sum may pass the largest number on its way to a smaller one. */
	if (finite && overflows(naive->type, want->magnitude))
		return 0;
	*error = INFINITY;
	return INFINITY;
}

static void
merge(struct job *job, const struct naive_verdict *part, double worst)
{
	size_t wrong;

	pthread_mutex_lock(&job->lock);
	wrong = job->verdict.wrong + part->wrong;
	if (worst > job->worst) {
		job->worst = worst;
		job->verdict = *part;
	}
	job->verdict.wrong = wrong;
	pthread_mutex_unlock(&job->lock);
}

static void
verify_range(size_t begin, size_t end, void *ctx)
{
	struct job *job = ctx;
	const struct naive *naive = job->naive;
	struct naive_verdict part = { 0 };
	double worst = -1;

	for (size_t i = begin; i < end; i++) {
		double got[2], error, bound, share;
		struct naive_element want;
		ptrdiff_t offset;

		want = naive_element(naive, i, &offset);
		load(naive->type, job->c, offset, got);
		share = judge(naive, got, &want, &error, &bound);
		part.wrong += share > 1;
		if (share > worst) {
			worst = share;
			part = (struct naive_verdict){
				part.wrong, i, error, bound,
				{ got[0], got[1] },
				{ (double)want.value[0],
				  (double)want.value[1] },
			};
		}
		if ((i - begin) % STEP == STEP - 1)
			progress_step(STEP);
	}
	merge(job, &part, worst);
}

void
naive_verify(const struct naive *naive, const void *c,
	     const struct lend_exec *exec, struct naive_verdict *verdict)
{
	struct job job = { .naive = naive, .c = c, .worst = -1 };

	pthread_mutex_init(&job.lock, NULL);
	/* Its arguments are right, so that it cannot be refused. */
	if (lend_exec_for_ranges(exec, naive->elements, 1, verify_range,
				 &job))
		verify_range(0, naive->elements, &job);
	pthread_mutex_destroy(&job.lock);
	*verdict = job.verdict;
}
