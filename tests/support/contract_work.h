/* SPDX-License-Identifier: MIT */
/*
 * A contraction of two matrices with its arrays, for tests of calls that are
 * refused: C holds a pattern that must not change.  All of it asserts.
 */
#ifndef TESTS_SUPPORT_CONTRACT_WORK_H
#define TESTS_SUPPORT_CONTRACT_WORK_H

#include "lend/contract.h"

#define ROWS 40

struct work {
	lend_plan *plan;
	double a[ROWS * ROWS], b[ROWS * ROWS], c[ROWS * ROWS];
	double was[ROWS * ROWS];	/* C as it is before */
	struct lend_call call;
	struct lend_exec serial;
	struct lend_error why;
};

extern struct work work;

/* A fixture. */
void work_open(void);
void work_close(void);

int work_execute(lend_arena *arena, const struct lend_exec *exec);
/* The error was the expected one, work.why has the word, C is as it was. */
void work_refused(int error, int expected, const char *word);
/* It is 0 and C is the product; then C is as before again. */
void work_done(int error);

#endif
