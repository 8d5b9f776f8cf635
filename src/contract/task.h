/* SPDX-License-Identifier: MIT */
/*
 * One execution of a plan, and where each of its threads sits.
 *
 *            column group 0   ..   column group pn - 1
 *   rank 0     seat             seat
 *     ..        |  share the group's B panel, its column offsets and its
 *   rank pm-1  seat             barrier; each has an A block of its own
 *
 * The ranks of a group divide the rows; what the groups divide, the split
 * says.  Each element of C is written by one thread alone, except where the
 * groups divide the sum: then each has a partial result, and reduce.h adds
 * them up.
 */
#ifndef LEND_CONTRACT_TASK_H
#define LEND_CONTRACT_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/plan.h"
#include "contract/scalar.h"

struct scalar scalar_read(enum lend_type type, const void *from,
			  double otherwise);

struct task {
	const struct lend_plan *plan;
	const char *a, *b;	/* as the plan sees them */
	char *c;
	struct scalar alpha, beta;
	size_t pm, pn;
	enum lend_split split;
};

struct seat {
	size_t group, rank;
	struct lend_barrier *barrier;	/* the group's; null: alone in it */
	void *a;		/* packed block of A */
	void *tile;
	int64_t *scratch;	/* offsets, this thread's */
	void *b;		/* packed panel of B, the group's */
	int64_t *columns;	/* offsets, the group's */
	void *partial;		/* the group's result where the sum is split */
};

/* What a seat works on. */
struct shares {
	struct share m, n, k, batch;
};

struct shares task_divide(const struct task *task, const struct seat *seat);

/*
 * Whether C is written once, without being read, and too large to stay in the
 * caches: it is then stored past them.
 */
bool task_streams(const struct task *task);

/*
 * What one seat needs, in bytes of its loans' buffers and in offsets of its
 * scratch, and for gemm also in offsets of the group's.
 */
size_t gemm_a_bytes(const struct lend_plan *plan);
size_t gemm_b_bytes(const struct lend_plan *plan);
size_t gemm_tile_bytes(const struct lend_plan *plan);
size_t gemm_scratch(const struct lend_plan *plan);
size_t gemm_columns(const struct lend_plan *plan);
void gemm_run(const struct task *task, const struct seat *seat);

size_t loops_tile_bytes(const struct lend_plan *plan);
void loops_run(const struct task *task, const struct seat *seat);

/* C = beta * C for the shares of C.  No other arrays are read. */
#define SCALE_SCRATCH 256
void scale_shares(const struct task *task, const struct shares *shares,
		  int64_t *scratch);

/* The elements of a partial result, which lies column after column. */
size_t partial_elements(const struct lend_plan *plan);

/*
 * C = beta * C + the sum of the `count` partial results, the first at
 * `partial`, the others `apart` bytes on each: the share `index` of `shares`
 * of C.  `scratch`: SCALE_SCRATCH elements.
 */
void reduce_run(const struct task *task, const char *partial, size_t apart,
		size_t count, size_t index, size_t shares, int64_t *scratch);

#endif
