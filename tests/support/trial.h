/* SPDX-License-Identifier: MIT */
/*
 * Operations without memory.  An operation is run on a thread and an arena of
 * its own, over and over, each time with the next one of its allocations
 * failing, until none is left that could fail; then with all of them failing.
 *
 * Each time the harness demands
 *
 *   - -ENOMEM, and the statistics as they were, but for what `may` names;
 *   - the accounts equal to the sum over what is there, and to what the
 *     backend has given;
 *   - a second try, with memory, that succeeds;
 *   - nothing outstanding when the arena is gone and the thread has ended,
 *     but for the directory's pages.
 *
 * The trial's thread records, the main thread asserts.
 */
#ifndef TESTS_SUPPORT_TRIAL_H
#define TESTS_SUPPORT_TRIAL_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lend/lend.h"

/* What a failure may leave behind. */
enum {
	MAY_SLOT = 1,	/* the thread's slot, idle and empty */
	MAY_SET = 2,	/* a team set, idle and empty */
	MAY_TRIM = 4,	/* the limit had the arena's idle storage trimmed */
	MAY_EMPTY = 8,	/* the limit had the old buffers go first, and they
			   may not have come back */
	MAY_RESIZE = 16	/* the same of a scatter that is lent: the account
			   follows at the return */
};

struct trial {
	lend_arena *arena;
	struct lend_worker outer, loan;
	struct lend_team lease;
	lend_arena *other;
	lend_workspace *ws;
	lend_pool *pool;
	struct lend_exec exec;
	size_t calls;
	size_t records;		/* trace records handed over */
	/* The harness's. */
	const struct operation *operation;
	unsigned kinds;		/* FAULT_*: all of these fail, or */
	unsigned long nth;	/* the n-th of any kind does */
	bool failed;		/* an allocation did */
	const char *wrong;	/* the first expectation that was not met */
	int line;
};

struct operation {
	const char *name;
	size_t limit;		/* of the arena, 0: none */
	bool trace;
	unsigned least;		/* allocations that it makes at least */
	unsigned may;
	/* All of these may expect(); all but run() may be null. */
	void (*before)(struct trial *trial);
	int (*run)(struct trial *trial);
	/* After a failure: what else is as before. */
	void (*kept)(struct trial *trial);
	/* After a success; returns all loans. */
	void (*after)(struct trial *trial);
};

/* Records the first expectation that was not met. */
#define expect(trial, condition) \
	trial_expect((trial), (condition), #condition, __LINE__)
void trial_expect(struct trial *trial, bool condition, const char *text,
		  int line);

/* Tries the operation as said above.  Main thread, in a starved_case(). */
void starve(const struct operation *operation);

/* A case whose tests find the backend counted and must leave it empty. */
TCase *starved_case(Suite *suite, const char *name);

/*
 * Runs the suite, the whole of main(): with the backend counted, and at the
 * end nothing outstanding but the directory's pages and the table of the
 * main thread.
 */
int starved_run(Suite *suite);

/* Whether nobody wrote to the handle since the trial began. */
bool untouched(const void *handle, size_t size);

/* A pattern in a scatter vector, and whether it is there. */
void fill(int64_t *scatter, size_t elements);
bool filled(const int64_t *scatter, size_t elements);

#endif
