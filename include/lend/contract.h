/* SPDX-License-Identifier: MIT */
/*
 * Contractions of two tensors that borrow their memory (liblend-contract).
 *
 *   C = alpha * einsum(A, B) + beta * C
 *
 *   plan    what is to be done: made once, immutable, shared by any number
 *           of threads, executed any number of times
 *   call    on which arrays, once
 *   lender  where the scratch memory of a call comes from: an arena, a
 *           workspace, or functions of the host's
 *
 * No tensor is ever copied as a whole: blocks of A and B are packed from
 * where they lie into the loan's buffers, and the result goes straight to C.
 */
#ifndef LEND_CONTRACT_H
#define LEND_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/arena.h>
#include <lend/exec.h>
#include <lend/request.h>
#include <lend/team.h>
#include <lend/visibility.h>
#include <lend/worker.h>
#include <lend/workspace.h>

LEND_BEGIN_DECLS

typedef struct lend_plan lend_plan;

/* The element type of all three tensors, of alpha and of beta. */
enum lend_type {
	LEND_F32,	/* float */
	LEND_F64,	/* double */
	LEND_CF32,	/* float _Complex: real, imaginary */
	LEND_CF64	/* double _Complex */
};

/* The bytes of one element, 0 for what is no type. */
LEND_API size_t
lend_type_bytes(enum lend_type type);

/*
 * How a tensor lies: element (i0, i1, ..) is at
 * start[i0 * stride[0] + i1 * stride[1] + ..].  Strides count elements and
 * may be negative, those of inputs also zero; null: row-major without gaps.
 */
struct lend_layout {
	size_t rank;
	const size_t *extent;
	const ptrdiff_t *stride;
};

/* Says in one line what was wrong and where. */
struct lend_error {
	char text[240];
};

/* The most labels of one operand, and the most different labels. */
#define LEND_MAX_RANK 64

struct lend_plan_options {
	size_t size;		/* sizeof this struct, as compiled */
	/*
	 * "avx512", "avx2", "portable"; null: what LEND_CONF names, else the
	 * best that the processor has.
	 */
	const char *kernel;
	/*
	 * Products of matrices are packed, even those of so few columns that
	 * the larger operand would rather be read where it lies.
	 */
	bool pack;
};

/*
 * Makes a plan for a contraction.
 *
 * `einsum` names each operand's labels in the order of its extents, and the
 * output's: "abcd,aebf->dfce".  A label is any Unicode code point (in UTF-8)
 * but control characters, space, comma, period, '-' and '>'; spaces are
 * skipped.  A label of both inputs that the output lacks is contracted, one in
 * all three is a batch, one of a single input that the output lacks is summed,
 * one that stands twice in an input is its diagonal.  Without "->" the output
 * has the labels that stand once, in the order of their code points.
 *
 * `a`, `b`, `c` give extents and strides; `c` may be null, or its extents
 * may: the output is then as the inputs say.  The output's elements must be
 * provably distinct: sorted by stride, each stride exceeds what the smaller
 * ones reach.  `options` and `why` may be null.
 *
 * Errors, with *why filled: -EINVAL (the einsum, a label, an extent, a
 * stride, an unknown kernel), -EOVERFLOW (extents whose product does not
 * fit), -ENOMEM.
 */
LEND_API LEND_CHECKED int
lend_plan_create(lend_plan **plan, const char *einsum, enum lend_type type,
		 const struct lend_layout *a, const struct lend_layout *b,
		 const struct lend_layout *c,
		 const struct lend_plan_options *options,
		 struct lend_error *why);

/* No call of it may be in progress or follow.  Null is accepted. */
LEND_API void
lend_plan_destroy(lend_plan *plan);

/* The output's layout, as long as the plan lives.  Not null. */
LEND_API void
lend_plan_output(const lend_plan *plan, struct lend_layout *c);

/*
 * What an execution by a team of pm x pn threads borrows: pn column groups
 * of pm threads, each group with its part of the B panel.
 * Errors: -EINVAL (null, 0), -EOVERFLOW.
 */
LEND_API LEND_CHECKED int
lend_plan_req(const lend_plan *plan, size_t pm, size_t pn,
	      struct lend_req *req);

/*
 * The team that an execution over `budget` threads makes when its call names
 * none: 1 x 1 where waking others would cost more than it brings.
 * Errors: -EINVAL (null, 0).
 */
LEND_API LEND_CHECKED int
lend_plan_team(const lend_plan *plan, size_t budget, size_t *pm, size_t *pn);

/* What the column groups of a team divide among themselves. */
enum lend_split {
	LEND_SPLIT_N,		/* the columns of the product */
	LEND_SPLIT_BATCH,	/* the batch */
	LEND_SPLIT_K		/* the sum; partial results are added up */
};

/* What a plan would do. */
struct lend_plan_info {
	size_t size;		/* sizeof this struct, as compiled; you set it */
	enum lend_type type;
	const char *kernel;	/* the instruction set: "avx512", .. */
	bool swapped;		/* the second operand gives the rows */
	bool in_place;		/* what gives the rows is not packed */
	bool loops;		/* nothing is: loops over the arrays */
	size_t m, n, k;		/* the matrices of each of the batch */
	size_t batch;
	size_t sum_a, sum_b;	/* elements summed within one operand alone */
	size_t mr, nr;		/* the kernel's tile, in elements */
	size_t mc, nc, kc;	/* cache blocks, in elements */
	double flops;		/* additions and multiplications */
	double bytes;		/* each element moved once */
	size_t pm, pn;		/* the team for the budget asked for */
	enum lend_split split;
	struct lend_req req;	/* what that team borrows */
};

/*
 * Errors: -EINVAL (null, 0, a size that is not this struct's).
 */
LEND_API LEND_CHECKED int
lend_plan_describe(const lend_plan *plan, size_t budget,
		   struct lend_plan_info *info);

/* One execution.  Start with zeroes. */
struct lend_call {
	const void *a, *b;	/* element (0, 0, ..) of each */
	void *c;
	/* null: 1.  0: A and B, which must not be null, are not read. */
	const void *alpha;
	const void *beta;	/* null or 0: C is not read */
	size_t pm, pn;		/* the team; 0, 0: lend_plan_team() decides */
};

/*
 * Executes the plan with memory of the arena.  Any thread, any number at
 * once on one plan, arena and pool.  Within the arena's warm storage it
 * neither allocates nor calls the system, but to wake and wait for others.
 *
 * Errors, with *why (may be null) filled and C untouched: -EINVAL (null, C
 * overlaps an input that is read, a team beyond the exec's budget), those of
 * lend_worker_checkout(), lend_team_take() and lend_exec_team(): the calling
 * thread has a seat in the team.  A
 * forked exec and one whose pool the caller works for run the team 1 x 1.
 */
LEND_API LEND_CHECKED int
lend_plan_execute(const lend_plan *plan, lend_arena *arena,
		  const struct lend_exec *exec, const struct lend_call *call,
		  struct lend_error *why);

/*
 * The same with memory of a workspace, by a team of workers alone, which
 * lend_workspace_prepare_for() has warmed.  -ENOBUFS: its bound does not cover
 * what the plan needs.
 */
LEND_API LEND_CHECKED int
lend_plan_execute_in(const lend_plan *plan, lend_workspace *ws,
		     const struct lend_exec *exec,
		     const struct lend_call *call, struct lend_error *why);

/*
 * Another source of memory.  The functions have the contracts of the arena's
 * of the same names, any thread may call them; barriers are to be made by
 * lend_barrier_init().
 */
struct lend_lender {
	size_t size;		/* sizeof this struct, as compiled */
	void *host;
	int (*worker_checkout)(void *host, const struct lend_req *req,
			       struct lend_worker *loan);
	int (*worker_return)(void *host, struct lend_worker *loan);
	int (*team_take)(void *host, const struct lend_req *req, size_t pm,
			 size_t pn, struct lend_team *lease);
	int (*team_panel)(void *host, struct lend_team *lease, size_t bytes);
	int (*team_return)(void *host, struct lend_team *lease);
	/*
	 * As lend_buffer_borrow() and lend_buffer_return().  Networks alone
	 * call them: for plans they may be null, and `size` may end before
	 * them.
	 */
	int (*buffer_borrow)(void *host, size_t bytes, void **buffer);
	int (*buffer_return)(void *host, void *buffer);
};

/* The same with memory of `lender`. */
LEND_API LEND_CHECKED int
lend_plan_execute_on(const lend_plan *plan, const struct lend_lender *lender,
		     const struct lend_exec *exec,
		     const struct lend_call *call, struct lend_error *why);

LEND_END_DECLS

#endif
