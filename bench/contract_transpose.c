/* SPDX-License-Identifier: MIT */
#include "bench/contract_transpose.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "bench/harness.h"

/* Of the two indices with stride 1: whole cache lines of both. */
#define BLOCK 32

struct loop {
	size_t extent;
	size_t from, to;	/* strides, in elements */
};

struct work {
	const struct transposition *t;
	const char *from;
	char *to;
	/* The first one has stride 1 in `from`, `across` in `to`. */
	struct loop loop[CASE_RANK];
	size_t across;		/* which loop that is */
	size_t outer[CASE_RANK];	/* the others */
	size_t outers, total;
};

static struct {
	void (*d)(const int *perm, int dim, double alpha, const double *a,
		  const int *size, const int *outer_a, double beta, double *b,
		  const int *outer_b, int threads, int row_major);
	void (*s)(const int *perm, int dim, float alpha, const float *a,
		  const int *size, const int *outer_a, float beta, float *b,
		  const int *outer_b, int threads, int row_major);
} hptt;

bool
transpose_use(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	void *d = handle ? dlsym(handle, "dTensorTranspose") : NULL;
	void *s = handle ? dlsym(handle, "sTensorTranspose") : NULL;

	memcpy(&hptt.d, &d, sizeof(d));
	memcpy(&hptt.s, &s, sizeof(s));
	return d && s;
}

static void
by_hptt(const struct transposition *t, const void *from, void *to)
{
	int perm[CASE_RANK], size[CASE_RANK];

	for (size_t i = 0; i < t->rank; i++) {
		perm[i] = (int)t->source[i];
		size[i] = (int)t->extent[i];
	}
	if (t->element == sizeof(double))
		hptt.d(perm, (int)t->rank, 1, from, size, NULL, 0, to, NULL,
		       t->threads, 0);
	else
		hptt.s(perm, (int)t->rank, 1, from, size, NULL, 0, to, NULL,
		       t->threads, 0);
}

/* The strides of each index; what both tensors run along is one. */
static void
lay(struct work *work)
{
	const struct transposition *t = work->t;
	size_t next = 1;

	for (size_t i = 0; i < t->rank; i++) {
		work->loop[i].extent = t->extent[i];
		work->loop[i].from = next;
		next *= t->extent[i];
	}
	next = 1;
	for (size_t i = 0; i < t->rank; i++) {
		work->loop[t->source[i]].to = next;
		next *= t->extent[t->source[i]];
	}
	work->across = t->source[0];
}

/* All indices but the two go to outer loops; blocks of the two as well. */
static void
count(struct work *work)
{
	const struct loop *loop = work->loop;

	work->total = 1;
	for (size_t i = 0; i < work->t->rank; i++) {
		if (i == 0 || i == work->across)
			continue;
		work->outer[work->outers++] = i;
		work->total *= loop[i].extent;
	}
	if (work->across != 0)
		work->total *= (loop[work->across].extent + BLOCK - 1) /
			       BLOCK;
}

#define DEFINE_BLOCK(type)						\
static void								\
block_##type(const type *restrict from, type *restrict to, size_t rows,	\
	     size_t columns, size_t from_step, size_t to_step)		\
{									\
	for (size_t i = 0; i < rows; i++)				\
		for (size_t j = 0; j < columns; j++)			\
			to[i * to_step + j] = from[i + j * from_step];	\
}

DEFINE_BLOCK(double)
DEFINE_BLOCK(float)

/* The columns j .. of all rows. */
static void
strip(const struct work *work, size_t from, size_t to, size_t j)
{
	const struct loop *row = &work->loop[0];
	const struct loop *column = &work->loop[work->across];
	size_t columns = column->extent - j < BLOCK ? column->extent - j :
						      BLOCK;

	from += j * column->from;
	to += j;
	for (size_t i = 0; i < row->extent; i += BLOCK) {
		size_t rows = row->extent - i < BLOCK ? row->extent - i :
							BLOCK;

		if (work->t->element == sizeof(double))
			block_double((const double *)work->from + from + i,
				     (double *)work->to + to + i * row->to,
				     rows, columns, column->from, row->to);
		else
			block_float((const float *)work->from + from + i,
				    (float *)work->to + to + i * row->to,
				    rows, columns, column->from, row->to);
	}
}

static void
piece(const struct work *work, size_t index)
{
	const struct loop *column = &work->loop[work->across];
	size_t blocks = (column->extent + BLOCK - 1) / BLOCK;
	size_t from = 0, to = 0, j = 0;

	if (work->across != 0) {
		j = index % blocks * BLOCK;
		index /= blocks;
	}
	for (size_t i = 0; i < work->outers; i++) {
		const struct loop *loop = &work->loop[work->outer[i]];

		from += index % loop->extent * loop->from;
		to += index % loop->extent * loop->to;
		index /= loop->extent;
	}
	if (work->across != 0)
		strip(work, from, to, j);
	else
		memcpy(work->to + to * work->t->element,
		       work->from + from * work->t->element,
		       work->loop[0].extent * work->t->element);
}

static void
pieces(size_t begin, size_t end, void *ctx)
{
	for (size_t i = begin; i < end; i++)
		piece(ctx, i);
}

void
transpose(const struct transposition *t, const void *from, void *to,
	  const struct lend_exec *exec)
{
	struct work work = { .t = t, .from = from, .to = to };

	if (hptt.d) {
		by_hptt(t, from, to);
		return;
	}
	lay(&work);
	count(&work);
	if (lend_exec_for_ranges(exec, work.total, 1, pieces, &work))
		bench_die("the transposition did not run");
}
