/* SPDX-License-Identifier: MIT */
#include "support/trial.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem/init.h"
#include "support/audit.h"
#include "support/fault.h"
#include "support/suite.h"

/* No operation allocates so often: the loop does not end then. */
#define ALLOCATIONS_MAX 64

/* What handles are filled with, so that a write to them is seen. */
#define UNTOUCHED 0x5a

void
trial_expect(struct trial *trial, bool condition, const char *text, int line)
{
	if (condition || trial->wrong)
		return;
	trial->wrong = text;
	trial->line = line;
}

/* The accounts are the sum of what is there, and what the backend gave. */
static void
expect_accounts(struct trial *trial)
{
	struct audit audit = audit_process();

	trial_expect(trial, !audit.wrong, audit.wrong, __LINE__);
	expect(trial, audit.lost_records == 0);
	expect(trial, audit.retained + audit.privates ==
	       fault_counts().extent_bytes);
}

static void
expect_stats(struct trial *trial, const struct lend_stats *was)
{
	unsigned may = trial->operation->may;
	struct lend_stats is;

	expect(trial, lend_arena_stats(trial->arena, &is) == 0);
	expect(trial, is.leased_bytes == was->leased_bytes ||
	       ((may & (MAY_EMPTY | MAY_RESIZE)) &&
		is.leased_bytes < was->leased_bytes));
	if (may & (MAY_TRIM | MAY_EMPTY | MAY_RESIZE)) {
		expect(trial, is.retained_bytes <= was->retained_bytes);
	} else {
		expect(trial, is.retained_bytes == was->retained_bytes);
		expect(trial, is.panel_bytes == was->panel_bytes);
		expect(trial, is.trims == was->trims);
	}
	expect(trial, is.slots_out == was->slots_out);
	expect(trial, is.sets_out == was->sets_out);
	expect(trial, is.slots_idle == was->slots_idle ||
	       ((may & MAY_SLOT) && is.slots_idle == was->slots_idle + 1));
	expect(trial, is.sets_idle == was->sets_idle ||
	       ((may & MAY_SET) && is.sets_idle == was->sets_idle + 1));
	expect(trial, is.growths == was->growths);
	expect(trial, is.reentrant == was->reentrant);
	expect(trial, is.abandoned == was->abandoned);
	expect(trial, is.adopted == was->adopted);
}

/* Runs the operation, which fails.  Its result. */
static int
run_starved(struct trial *trial)
{
	size_t failures = fault_counts().failed;
	int error;

	if (trial->kinds)
		fault_fail_all(trial->kinds);
	else
		fault_fail_nth(FAULT_ANY, trial->nth);
	error = trial->operation->run(trial);
	fault_fail_all(0);
	fault_fail_nth(0, 0);
	trial->failed = fault_counts().failed > failures;
	return error;
}

static void
try(struct trial *trial)
{
	const struct operation *operation = trial->operation;
	struct lend_stats stats;
	int error;

	if (operation->before)
		operation->before(trial);
	expect(trial, lend_arena_stats(trial->arena, &stats) == 0);
	expect_accounts(trial);
	error = run_starved(trial);
	if (trial->failed) {
		expect(trial, error == -ENOMEM);
		expect_stats(trial, &stats);
		expect_accounts(trial);
		if (operation->kept)
			operation->kept(trial);
		error = operation->run(trial);
	}
	expect(trial, error == 0);
	expect_accounts(trial);
	if (operation->after && error == 0)
		operation->after(trial);
	expect_accounts(trial);
}

static void *
trial_main(void *arg)
{
	struct trial *trial = arg;
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;

	options.limit = trial->operation->limit;
	options.trace = trial->operation->trace;
	expect(trial, lend_arena_create(&trial->arena, &options) == 0);
	if (!trial->arena)
		return NULL;
	try(trial);
	expect(trial, lend_arena_destroy(trial->arena) == 0);
	return NULL;
}

/* One trial, on a thread of its own.  Whether an allocation failed. */
static bool
trial_run(const struct operation *operation, unsigned kinds,
	  unsigned long nth)
{
	struct trial trial = {
		.operation = operation, .kinds = kinds, .nth = nth
	};
	struct fault_counts was = fault_counts();
	size_t directory = audit_directory_pages();
	pthread_t thread;

	memset(&trial.outer, UNTOUCHED, sizeof(trial.outer));
	memset(&trial.loan, UNTOUCHED, sizeof(trial.loan));
	memset(&trial.lease, UNTOUCHED, sizeof(trial.lease));
	ck_assert_int_eq(pthread_create(&thread, NULL, trial_main, &trial),
			 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_msg(!trial.wrong, "%s, kinds %u, allocation %lu: "
		      "expected at line %d: %s", operation->name, kinds, nth,
		      trial.line, trial.wrong);
	directory = audit_directory_pages() - directory;
	ck_assert_uint_eq(fault_counts().extent_bytes, was.extent_bytes);
	ck_assert_uint_eq(fault_counts().pages_bytes,
			  was.pages_bytes + directory);
	return trial.failed;
}

void
starve(const struct operation *operation)
{
	unsigned long n = 1;

	while (n < ALLOCATIONS_MAX && trial_run(operation, 0, n))
		n++;
	ck_assert_msg(n < ALLOCATIONS_MAX, "%s: never succeeded",
		      operation->name);
	ck_assert_msg(n > operation->least, "%s: %lu allocations",
		      operation->name, n - 1);
	for (unsigned kinds = 1; kinds <= FAULT_ANY; kinds++)
		(void)trial_run(operation, kinds, 0);
}

static struct fault_counts at_begin;

static void
look_begin(void)
{
	at_begin = fault_counts();
	at_begin.pages_bytes -= audit_directory_pages() +
				audit_thread_pages();
}

static void
look_end(void)
{
	ck_assert_uint_eq(fault_counts().extent_bytes, at_begin.extent_bytes);
	ck_assert_uint_eq(fault_counts().pages_bytes, at_begin.pages_bytes +
			  audit_directory_pages() + audit_thread_pages());
}

TCase *
starved_case(Suite *suite, const char *name)
{
	TCase *tcase = suite_case(suite, name);

	tcase_add_checked_fixture(tcase, look_begin, look_end);
	return tcase;
}

int
starved_run(Suite *suite)
{
	struct fault_counts left;
	int status;

	/* First: it chooses the backend that the counting stands before. */
	if (lend__init())
		return EXIT_FAILURE;
	fault_install(NULL);
	status = suite_run(suite);
	left = fault_counts();
	fault_uninstall();
	if (left.extent_bytes || left.pages_bytes !=
	    audit_directory_pages() + audit_thread_pages()) {
		fprintf(stderr, "outstanding: %zu bytes of extents, %zu of "
			"pages\n", left.extent_bytes, left.pages_bytes);
		return EXIT_FAILURE;
	}
	return status;
}

bool
untouched(const void *handle, size_t size)
{
	const unsigned char *byte = handle;

	for (size_t i = 0; i < size; i++)
		if (byte[i] != UNTOUCHED)
			return false;
	return true;
}

void
fill(int64_t *scatter, size_t elements)
{
	for (size_t i = 0; i < elements; i++)
		scatter[i] = (int64_t)i * 3 + 1;
}

bool
filled(const int64_t *scatter, size_t elements)
{
	for (size_t i = 0; i < elements; i++)
		if (scatter[i] != (int64_t)i * 3 + 1)
			return false;
	return true;
}
