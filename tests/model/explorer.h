/* SPDX-License-Identifier: MIT */
/*
 * The explorer: runs real lock-free code through its interleavings.
 *
 * A model is 2 to 4 short thread functions over static data.  Each atomic
 * operation that they make (base/atomic.h under LEND_MODEL) is a step; before
 * each step the explorer may let another thread go on.  It runs the model
 * again and again from setup(), each time along another path of choices,
 * depth first, until every path is done or one has failed.
 *
 * It finds
 *  - failed assertions (MODEL_ASSERT, lend_check) in any interleaving with at
 *    most `preemptions` preemptions: switches away from a thread that could
 *    have gone on.  Switches at a thread's end, or at model_pause(), are free;
 *  - with MODEL_TSO, the same under x86's store buffers: a store waits in its
 *    thread's buffer, which empties first in, first out, at any time later;
 *    loads see the own buffer first; read-modify-writes and fences empty it;
 *  - with MODEL_RELAXED, the same under weaker buffers: stores to different
 *    addresses leave in any order, but a release store leaves after all that
 *    its thread stored before it.  A read-modify-write empties the buffer if
 *    it is a release, else of its own address alone.  And the heavy barrier
 *    orders no more of a thread than what came before its last
 *    compiler_barrier(): the compiler may have put the rest later;
 *  - with any of them, data races: two accesses to plain data, one of them a
 *    write, that no release/acquire pair (nor the heavy barrier) orders.  The
 *    orders are judged by the C11 rules, whatever the memory model; that is
 *    how a missing acquire is found.  A relaxed store ends what a release
 *    store of the object began (C11 lets the same thread go on; C++20 not);
 *  - no progress: more than max_steps steps, or all threads wait for ever.
 *
 * It cannot find
 *  - what needs a load that reads an old value, or that runs early: a load
 *    gets the newest value that its thread may see.  Neither is the store of
 *    a read-modify-write ever late.  (A missing acquire shows as a data race
 *    on plain data only; give the data that an atomic guards to the plain
 *    accesses below);
 *  - what needs more preemptions, threads, or operations than the model has;
 *  - what the compiler may do, but for the heavy barrier, see above;
 *  - races of accesses that bypass these macros.  Such accesses are legal,
 *    for a model's own book-keeping: they happen at once, in one go with the
 *    step before them;
 *  - anything that two accesses of different size to one object would show;
 *  - stores that wait for more than 31 later ones of their thread.
 *
 * setup() must put all that the threads touch into the same state each time;
 * a model that takes another path on replay is reported as failed.
 */
#ifndef LEND_MODEL_EXPLORER_H
#define LEND_MODEL_EXPLORER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "model_atomic.h"

#define MODEL_THREADS 4

enum model_memory { MODEL_SC, MODEL_TSO, MODEL_RELAXED };

struct model {
	const char *name;
	unsigned threads;
	void (*thread[MODEL_THREADS])(void);	/* may be the same function */
	void (*setup)(void);	/* before each execution; operations act */
	void (*finish)(void);	/* after it, and may assert; both directly */
	enum model_memory memory;
	unsigned preemptions;
	unsigned spurious;	/* weak CASes that fail, at most, in each */
	unsigned max_steps;	/* in one execution; 0: 10000 */
	uint64_t max_executions; /* then the search is truncated; 0: never */
};

enum model_failure {
	MODEL_PASSED,
	MODEL_ASSERTION,
	MODEL_RACE,
	MODEL_NO_PROGRESS,
	MODEL_UNUSABLE		/* the model is wrong, not what it tests */
};

struct model_result {
	bool failed;
	enum model_failure failure;
	const char *what;	/* valid until the next model_explore() */
	uint64_t executions;
	uint64_t steps;
	bool truncated;
};

/* Explores until all paths are done, one has failed, or the limit is met. */
struct model_result model_explore(const struct model *model);

/* Prints the steps of the last execution of the last model_explore(). */
void model_print_schedule(FILE *out);

/* The calling thread of the model, from 0. */
unsigned model_self(void);

/*
 * The heavy barrier, os_membarrier() in a model: a fence in the caller, then
 * in each other thread in turn, others running in between.
 */
void model_membarrier(void);
/* A full fence, of the caller alone.  It empties; it synchronises nothing. */
void model_fence(void);
/* A step that touches nothing: before it, too, others may run. */
void model_step(void);
/*
 * One turn of a loop that waits for another thread.  The caller goes on when
 * memory has changed since its last turn.
 */
void model_pause(void);

/*
 * Accesses to data that is not atomic.  They are no steps: where they do not
 * race, nobody can tell when they happened, and where they do it is reported.
 */
#define model_plain_read(p) \
	MODEL_VALUE(p, model_plain_load((p), sizeof(*(p)), \
					"model_plain_read(" #p ")"))
#define model_plain_write(p, v) \
	model_plain_store((p), sizeof(*(p)), MODEL_WORD(p, v), \
			  "model_plain_write(" #p ", " #v ")")

uint64_t model_plain_load(const void *object, size_t size, const char *text);
void model_plain_store(void *object, size_t size, uint64_t value,
		       const char *text);

#endif
