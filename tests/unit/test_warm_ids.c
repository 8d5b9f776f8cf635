/* SPDX-License-Identifier: MIT */
/*
 * Ids of a pool, many, long and short-lived ones: src/warm/name.c, stray.c.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fault.h"
#include "support/loans.h"
#include "support/suite.h"
#include "support/warm_table.h"

/* Ids with fills in flight, many more than the cap, in every order. */
START_TEST(any_number_of_ids_has_fills_in_flight)
{
	enum { IDS = 1000 };
	char id[16];

	warm_make(2);
	for (unsigned i = 0; i < IDS; i++) {
		snprintf(id, sizeof(id), "%u", i);
		ck_assert_uint_eq(warm_begin(id, i % 5 + 1), i % 5 + 1);
		if (i % 50 == 0)
			warm_drain_all();
	}
	ck_assert_uint_eq(warm_stats(NULL).in_flight, 3 * IDS);
	for (unsigned i = 0; i < IDS; i++) {
		unsigned other = i * 7 % IDS;

		snprintf(id, sizeof(id), "%u", other);
		ck_assert_uint_eq(warm_stats(id).in_flight, other % 5 + 1);
		ck_assert_uint_eq(warm_begin(id, 6), 5 - other % 5);
		for (unsigned k = 0; k < 5; k++)
			warm_abandon(id);
		ck_assert(warm_offer(id, 1 + other));
		ck_assert_uint_eq(warm_claim(id), 1 + other);
	}
	ck_assert_uint_eq(warm_stats(NULL).in_flight, 0);
	warm_end();
}
END_TEST

START_TEST(ids_are_of_any_length_and_are_copied)
{
	static const size_t lengths[] = {
		0, 1, 7, 8, 9, 183, 184, 185, 4096, 4097, 100000
	};
	enum { N = sizeof(lengths) / sizeof(lengths[0]) };
	char *id = malloc(lengths[N - 1] + 1);

	ck_assert_ptr_nonnull(id);
	warm_make(3 * N);
	for (int round = 0; round < 3; round++) {
		for (uintptr_t i = 0; i < N; i++) {
			memset(id, 'x', lengths[i]);
			id[lengths[i]] = '\0';
			warm_fill(id, 1, 1 + i);
			/* They differ in the last byte alone. */
			if (lengths[i] > 0)
				id[lengths[i] - 1] = 'y';
			else
				continue;
			ck_assert_uint_eq(warm_claim(id), 0);
			warm_fill(id, 1, 100 + i);
		}
		memset(id, 'z', lengths[N - 1]);
		for (uintptr_t i = 0; i < N; i++) {
			memset(id, 'x', lengths[i]);
			id[lengths[i]] = '\0';
			ck_assert_uint_eq(warm_claim(id), 1 + i);
			if (lengths[i] == 0)
				continue;
			id[lengths[i] - 1] = 'y';
			ck_assert_uint_eq(warm_claim(id), 100 + i);
		}
	}
	free(id);
	warm_end();
}
END_TEST

/* Names of ids that are gone are used again: memory does not grow. */
START_TEST(ids_that_come_and_go_leave_nothing_behind)
{
	size_t pages = 0;
	char id[300];

	warm_make(2);
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(id, sizeof(id), "%*u", i % 3 ? 10 : 250, i);
		warm_fill(id, 1, 1);
		ck_assert_uint_eq(warm_claim(id), 1);
		if (i == 100)
			pages = fault_counts().pages_bytes;
	}
	ck_assert_uint_eq(fault_counts().pages_bytes, pages);
	warm_end();
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warm_ids");
	TCase *ids = watched_case(suite, "ids");

	tcase_add_test(ids, any_number_of_ids_has_fills_in_flight);
	tcase_add_test(ids, ids_are_of_any_length_and_are_copied);
	tcase_add_test(ids, ids_that_come_and_go_leave_nothing_behind);
	return suite_run(suite);
}
