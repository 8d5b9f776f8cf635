/* SPDX-License-Identifier: MIT */
/*
 * Transpose, transpose, gemm, transpose: what people do without an engine of
 * their own.  Of all orders of the fused indices the one is taken that copies
 * the fewest bytes; a tensor that is a matrix already stays where it is.
 */
#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>

#include <lend/exec.h>

#include "bench/contract_peer.h"
#include "bench/contract_transpose.h"
#include "bench/harness.h"

/* As CBLAS has them. */
enum { COLUMN_MAJOR = 102, NO_TRANSPOSE = 111, TRANSPOSE = 112 };

static struct {
	void (*dgemm)(int order, int trans_a, int trans_b, int m, int n,
		      int k, double alpha, const double *a, int lda,
		      const double *b, int ldb, double beta, double *c,
		      int ldc);
	void (*sgemm)(int order, int trans_a, int trans_b, int m, int n,
		      int k, float alpha, const float *a, int lda,
		      const float *b, int ldb, float beta, float *c, int ldc);
	void (*set_threads)(int n);
} blas;

/* A tensor as a matrix of two fused indices. */
struct matrix {
	char labels[CASE_RANK + 1];	/* of the matrix, stride 1 first */
	bool turned;		/* its second fused index comes first */
	bool copied;
	struct transposition t;
	size_t bytes;
	void *copy;
};

static struct {
	const struct contract_job *job;
	struct matrix matrix[CASE_OPERANDS];
	size_t m, n, k;
	lend_pool *pool;
	struct lend_exec exec;
} ttgt;

static bool
find(void *library, const char *name, void *function)
{
	void *symbol = dlsym(library, name);

	memcpy(function, &symbol, sizeof(symbol));
	return symbol;
}

bool
contract_ttgt_open(struct contract_peer *self)
{
	void *library = dlopen(contract_libraries.blas,
			       RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return contract_refuse(self, "%s", dlerror());
	if (!find(library, "cblas_dgemm", &blas.dgemm) ||
	    !find(library, "cblas_sgemm", &blas.sgemm) ||
	    !find(library, "openblas_set_num_threads", &blas.set_threads))
		return contract_refuse(self, "%s", dlerror());
	return true;
}

/* ------------------------------------------------------------------------
 * Which orders
 * --------------------------------------------------------------------- */

/* The labels of `from` that `in` has as well, in their order. */
static char *
common(char *to, const char *from, const char *in)
{
	for (; *from; from++)
		if (strchr(in, *from))
			*to++ = *from;
	*to = '\0';
	return to;
}

/* How a tensor is to be read as the fused indices `rows` and `columns`. */
static struct matrix
matrix_of(const struct case_tensor *tensor, const char *rows,
	  const char *columns, size_t element)
{
	struct matrix matrix = { .bytes = tensor->elements * element };
	char turned[CASE_RANK + 1];

	strcat(strcpy(matrix.labels, rows), columns);
	strcat(strcpy(turned, columns), rows);
	if (strcmp(tensor->labels, matrix.labels) == 0)
		return matrix;
	/* Where it begins with the same label, whole runs are copied. */
	matrix.turned = strcmp(tensor->labels, turned) == 0 ||
			turned[0] == tensor->labels[0];
	matrix.copied = strcmp(tensor->labels, turned) != 0;
	if (matrix.turned)
		strcpy(matrix.labels, turned);
	return matrix;
}

/* One choice of the three orders: bit 0 m, bit 1 n, bit 2 k. */
static size_t
choose(const struct contract_case *c, unsigned choice,
       struct matrix *matrix)
{
	const char *a = c->tensor[CASE_A].labels;
	const char *b = c->tensor[CASE_B].labels;
	const char *out = c->tensor[CASE_C].labels;
	char m[CASE_RANK + 1], n[CASE_RANK + 1], k[CASE_RANK + 1];
	size_t bytes = 0;

	common(m, choice & 1 ? a : out, choice & 1 ? out : a);
	common(n, choice & 2 ? b : out, choice & 2 ? out : b);
	common(k, choice & 4 ? b : a, choice & 4 ? a : b);
	matrix[CASE_A] = matrix_of(&c->tensor[CASE_A], m, k, c->element);
	matrix[CASE_B] = matrix_of(&c->tensor[CASE_B], k, n, c->element);
	matrix[CASE_C] = matrix_of(&c->tensor[CASE_C], m, n, c->element);
	for (int o = 0; o < CASE_OPERANDS; o++)
		bytes += matrix[o].copied ? matrix[o].bytes : 0;
	return bytes;
}

static void
choose_best(const struct contract_case *c)
{
	size_t least = SIZE_MAX;

	for (unsigned choice = 0; choice < 8; choice++) {
		struct matrix matrix[CASE_OPERANDS];
		size_t bytes = choose(c, choice, matrix);

		if (bytes >= least)
			continue;
		least = bytes;
		memcpy(ttgt.matrix, matrix, sizeof(matrix));
	}
}

/* ------------------------------------------------------------------------
 * The contraction
 * --------------------------------------------------------------------- */

static size_t
place(const char *labels, char label)
{
	return (size_t)(strchr(labels, label) - labels);
}

/* The copy of an operand, made from it; of C, made into it. */
static void
set_transposition(int o)
{
	const struct case_tensor *tensor = &ttgt.job->c->tensor[o];
	struct matrix *matrix = &ttgt.matrix[o];
	const char *from = o == CASE_C ? matrix->labels : tensor->labels;
	const char *to = o == CASE_C ? tensor->labels : matrix->labels;

	matrix->t = (struct transposition){
		.element = ttgt.job->c->element,
		.rank = tensor->rank,
		.threads = ttgt.job->threads,
	};
	for (size_t i = 0; i < tensor->rank; i++) {
		matrix->t.source[i] = place(from, to[i]);
		matrix->t.extent[i] =
			tensor->extent[place(tensor->labels, from[i])];
	}
}

static size_t
extents(const struct contract_case *c, int o, int other)
{
	size_t product = 1;

	for (size_t d = 0; d < c->tensor[o].rank; d++)
		if (strchr(c->tensor[other].labels, c->tensor[o].labels[d]))
			product *= c->tensor[o].extent[d];
	return product;
}

static void *
pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bench_die("no memory");
	madvise(p, bytes, MADV_HUGEPAGE);
	return p;
}

bool
contract_ttgt_begin(struct contract_peer *self,
		    const struct contract_job *job)
{
	(void)self;
	ttgt.job = job;
	choose_best(job->c);
	ttgt.m = extents(job->c, CASE_A, CASE_C);
	ttgt.n = extents(job->c, CASE_B, CASE_C);
	ttgt.k = extents(job->c, CASE_A, CASE_B);
	for (int o = 0; o < CASE_OPERANDS; o++) {
		if (!ttgt.matrix[o].copied)
			continue;
		set_transposition(o);
		ttgt.matrix[o].copy = pages(ttgt.matrix[o].bytes);
	}
	if (lend_pool_create(&ttgt.pool, (size_t)job->threads) ||
	    lend_exec_on_pool(&ttgt.exec, ttgt.pool, (size_t)job->threads))
		bench_die("no pool of %d", job->threads);
	blas.set_threads(job->threads);
	return true;
}

/* Where a matrix is, and how far its columns are apart. */
struct place {
	void *data;
	int ld;
	int trans;
};

static struct place
place_of(int o, size_t rows, size_t columns)
{
	const struct matrix *matrix = &ttgt.matrix[o];

	return (struct place){
		matrix->copied ? matrix->copy : ttgt.job->data[o],
		(int)(matrix->turned ? columns : rows),
		matrix->turned ? TRANSPOSE : NO_TRANSPOSE,
	};
}

static int
turn(int trans)
{
	return trans == TRANSPOSE ? NO_TRANSPOSE : TRANSPOSE;
}

/* C = A B, or, where C is turned, its transpose B' A'. */
static void
gemm(void)
{
	struct place a = place_of(CASE_A, ttgt.m, ttgt.k), x = a;
	struct place b = place_of(CASE_B, ttgt.k, ttgt.n), y = b;
	struct place c = place_of(CASE_C, ttgt.m, ttgt.n);
	int m = (int)ttgt.m, n = (int)ttgt.n, k = (int)ttgt.k;

	if (c.trans == TRANSPOSE) {
		x = b;
		y = a;
		x.trans = turn(b.trans);
		y.trans = turn(a.trans);
		m = (int)ttgt.n;
		n = (int)ttgt.m;
	}
	if (ttgt.job->c->single)
		blas.sgemm(COLUMN_MAJOR, x.trans, y.trans, m, n, k, 1, x.data,
			   x.ld, y.data, y.ld, 0, c.data, c.ld);
	else
		blas.dgemm(COLUMN_MAJOR, x.trans, y.trans, m, n, k, 1, x.data,
			   x.ld, y.data, y.ld, 0, c.data, c.ld);
}

static void
contract(void)
{
	const struct matrix *matrix = ttgt.matrix;
	void *const *data = ttgt.job->data;

	for (int o = CASE_A; o <= CASE_B; o++)
		if (matrix[o].copied)
			transpose(&matrix[o].t, data[o], matrix[o].copy,
				  &ttgt.exec);
	gemm();
	if (matrix[CASE_C].copied)
		transpose(&matrix[CASE_C].t, matrix[CASE_C].copy,
			  data[CASE_C], &ttgt.exec);
}

struct contract_time
contract_ttgt_run(struct contract_peer *self, unsigned turns)
{
	struct contract_time start = contract_now();

	(void)self;
	for (unsigned i = 0; i < turns; i++)
		contract();
	return contract_since(start);
}

void
contract_ttgt_end(struct contract_peer *self)
{
	(void)self;
	for (int o = 0; o < CASE_OPERANDS; o++)
		if (ttgt.matrix[o].copied)
			munmap(ttgt.matrix[o].copy, ttgt.matrix[o].bytes);
	if (lend_pool_destroy(ttgt.pool))
		bench_die("the pool is busy");
}
