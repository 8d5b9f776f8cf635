/* SPDX-License-Identifier: MIT */
/* What the explorer's tests share: their variables, and expectations. */
#ifndef LEND_MODEL_EXPLORER_LITMUS_H
#define LEND_MODEL_EXPLORER_LITMUS_H

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

#define ENOUGH 100	/* preemptions: no bound, for these short threads */

/* What the threads share: atomic, plain, and what each of them saw. */
static _Atomic(uint32_t) x, y, flag;
static uint32_t data, other;
static uint32_t saw[MODEL_THREADS];

static inline void
clear(void)
{
	store_relaxed(&x, 0);
	store_relaxed(&y, 0);
	store_relaxed(&flag, 0);
	data = other = 0;
	memset(saw, 0, sizeof(saw));
}

static inline struct model_result
explore(struct model m, enum model_memory memory)
{
	m.memory = memory;
	if (!m.name)
		m.name = "litmus";
	if (!m.threads)
		m.threads = 2;
	if (!m.setup)
		m.setup = clear;
	return model_explore(&m);
}

/* Explores without a bound; the outcome must be the expected one. */
static inline void
expect(struct model m, enum model_memory memory, enum model_failure failure)
{
	struct model_result r;

	m.preemptions = ENOUGH;
	r = explore(m, memory);
	if (r.failure != failure)
		model_print_schedule(stderr);
	ck_assert_int_eq(r.failure, failure);
	ck_assert_int_eq(r.failed, failure != MODEL_PASSED);
	ck_assert(!r.truncated);
}

static inline void
expect_each(struct model m, enum model_failure sc, enum model_failure tso,
	    enum model_failure relaxed)
{
	expect(m, MODEL_SC, sc);
	expect(m, MODEL_TSO, tso);
	expect(m, MODEL_RELAXED, relaxed);
}

static inline void
expect_all(struct model m, enum model_failure failure)
{
	expect_each(m, failure, failure, failure);
}

static inline int
run_suite(Suite *suite)
{
	SRunner *runner = srunner_create(suite);
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

#endif
