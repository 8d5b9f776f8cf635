/* SPDX-License-Identifier: MIT */
/*
 * Contractions of many tensors, two at a time along a path
 * (liblend-contract).
 *
 *   R = alpha * einsum(T0, T1, ..) + beta * R
 *
 * A step takes two tensors off the working list, which at first holds the
 * operands in their order, and appends their product at its end:
 *
 *   ab,bc,cd->ad      [T0 T1 T2]  (0, 1)  [T2 T0T1]  (1, 0)  [R]
 *
 * Intermediates are borrowed when they are made and given back as soon as
 * they are dead; the last step writes to R.  Nothing of R is written before
 * all other steps are done.
 */
#ifndef LEND_NETWORK_H
#define LEND_NETWORK_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/contract.h>

LEND_BEGIN_DECLS

typedef struct lend_network lend_network;

/* A step: two different positions in the working list, counted from 0. */
struct lend_network_pair {
	size_t first, second;
};

struct lend_network_options {
	size_t size;		/* sizeof this struct, as compiled */
	const char *kernel;	/* as in struct lend_plan_options */
	/* The output's strides, with or without extents; null: row-major. */
	const struct lend_layout *output;
};

/*
 * Makes the plans of a whole network.
 *
 * `einsum` is as lend_plan_create() has it, with any number of operands from
 * 1 on and of labels, but at most LEND_MAX_RANK of an operand and of the two
 * tensors of a step together.  A label may stand in any number of operands
 * and is kept as long as a later one or the output has it.  Without "->" the
 * output has the labels that stand once.  Operands are used as they lie.
 *
 * `count` operands of the text have the layouts of `layouts`; strides may be
 * null.  `path` has `steps` pairs, one less than there are operands; null
 * (with steps 0): one is searched by greed, which takes the pair whose product
 * is larger than the two by least, of equal ones that of the oldest operands;
 * a few other such rules are tried as well, and the path of the fewest
 * products is taken.  The same network always gets the same path.
 *
 * `options` and `why` may be null.  The network keeps nothing of what it was
 * given.  It is immutable: any number of threads may use it at once.
 *
 * Errors, with *why filled: -EINVAL (the einsum, a layout, extents that
 * disagree, the path, too many labels in one step, an unknown kernel),
 * -EOVERFLOW (an intermediate or the output is beyond any address space),
 * -ENOMEM.
 */
LEND_API LEND_CHECKED int
lend_network_create(lend_network **network, const char *einsum,
		    enum lend_type type, size_t count,
		    const struct lend_layout *layouts,
		    const struct lend_network_pair *path, size_t steps,
		    const struct lend_network_options *options,
		    struct lend_error *why);

/* No call of it may be in progress or follow.  Null is accepted. */
LEND_API void
lend_network_destroy(lend_network *network);

/* The output's layout, as long as the network lives.  Not null. */
LEND_API void
lend_network_output(const lend_network *network, struct lend_layout *output);

/*
 * What an execution over `budget` threads borrows: *req covers the worker and
 * team loans of each step; *bytes are the most that its buffers hold at one
 * time, as they are asked for (a lender may round each of them up).  With a
 * budget of 1 it is exact; with more it is what the steps that run side by
 * side may come to.
 * Errors: -EINVAL (null, 0), -EOVERFLOW.
 */
LEND_API LEND_CHECKED int
lend_network_req(const lend_network *network, size_t budget,
		 struct lend_req *req, size_t *bytes);

/* What a network would do. */
struct lend_network_info {
	size_t size;		/* sizeof this struct, as compiled; you set it */
	enum lend_type type;
	size_t operands;
	size_t steps;		/* 1 for a single operand */
	size_t plans;		/* different ones among the steps */
	size_t labels;
	double flops;		/* additions and multiplications */
	double largest;		/* elements of the largest intermediate */
	size_t peak_bytes;	/* of the buffers, one step at a time */
};

/* Errors: -EINVAL (null, a size that is not this struct's). */
LEND_API LEND_CHECKED int
lend_network_describe(const lend_network *network,
		      struct lend_network_info *info);

/*
 * One step.  Operands are numbered from 0 on, the result of step s has the
 * number operands + s.
 */
struct lend_network_step {
	size_t size;		/* sizeof this struct, as compiled; you set it */
	size_t first, second;	/* numbers; equal: a single operand's step */
	struct lend_network_pair pair;	/* as a path would have it */
	double elements;	/* of the result */
	double flops;
	const lend_plan *plan;	/* the network's; equal steps share one */
};

/* Errors: -EINVAL (null, no such step, a size that is not this struct's). */
LEND_API LEND_CHECKED int
lend_network_step(const lend_network *network, size_t step,
		  struct lend_network_step *info);

/*
 * Writes the einsum of a step, by the labels of the text given, to
 * text[0..size), cut and terminated.  The labels of an intermediate stand in
 * the order in which it is laid out, row-major.  Returns the length of the
 * whole, 0 for no such step.
 */
LEND_API size_t
lend_network_einsum(const lend_network *network, size_t step, char *text,
		    size_t size);

/* One execution.  Start with zeroes. */
struct lend_network_call {
	const void *const *operands;	/* element (0, 0, ..) of each */
	void *output;
	/* null: 1.  0: no operand is read, though none may be null. */
	const void *alpha;
	const void *beta;	/* null or 0: the output is not read */
};

/*
 * Executes the network with memory of the arena.  Any thread, any number at
 * once on one network, arena and pool.  Large steps are shared by the threads
 * of `exec`, small ones run on one; branches of the path that do not need
 * each other run side by side where that is faster.  Within the arena's warm
 * storage it neither allocates nor calls the system, but to wake and wait for
 * others, and it is no cancellation point.
 *
 * Errors, with *why (may be null) naming the step, the output untouched and
 * all that was borrowed given back: -EINVAL (null, the output overlaps an
 * operand that is read), those of lend_plan_execute() and
 * lend_buffer_borrow().
 */
LEND_API LEND_CHECKED int
lend_network_execute(const lend_network *network, lend_arena *arena,
		     const struct lend_exec *exec,
		     const struct lend_network_call *call,
		     struct lend_error *why);

/* The same with memory of `lender`, which must have the buffer functions. */
LEND_API LEND_CHECKED int
lend_network_execute_on(const lend_network *network,
			const struct lend_lender *lender,
			const struct lend_exec *exec,
			const struct lend_network_call *call,
			struct lend_error *why);

/*
 * Warms the arena for executions of the network over `exec`: the calling
 * thread borrows the buffers that those would have out at one time, and one
 * worker loan, writes to their pages, and gives all of it back.  Nothing is
 * computed, and the token's threads are not used; the worker and team loans
 * that they take are what lend_workspace_prepare_for() warms.  Where branches
 * run side by side an execution may still grow the arena a little, as their
 * order is not fixed.  Thread-safe as lend_network_execute().
 *
 * Errors, with *why (may be null), all that was borrowed given back: -EINVAL
 * (null), those of lend_worker_checkout() and lend_buffer_borrow().
 */
LEND_API LEND_CHECKED int
lend_network_warm(const lend_network *network, lend_arena *arena,
		  const struct lend_exec *exec, struct lend_error *why);

LEND_END_DECLS

#endif
