/* SPDX-License-Identifier: MIT */
/* Latencies in buckets: what is read from them against all of them sorted. */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"
#include "support/suite.h"
#include "tools/latency.h"

#define COUNT 10000

static struct latency latency, other;
static double all[COUNT];

static int
by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* From nanoseconds to seconds, every magnitude alike. */
static void
fill(void)
{
	uint64_t seed = 1;

	memset(&latency, 0, sizeof latency);
	memset(&other, 0, sizeof other);
	for (size_t i = 0; i < COUNT; i++) {
		all[i] = 1e-9 * exp2(random_below(&seed, 30000) / 1000.0);
		latency_add(i % 3 ? &latency : &other, all[i]);
	}
	latency_merge(&latency, &other);
	qsort(all, COUNT, sizeof all[0], by_size);
}

START_TEST(shares_are_what_was_measured)
{
	static const double shares[] = { 0, 0.01, 0.5, 0.9, 0.99, 0.999, 1 };

	fill();
	ck_assert_uint_eq(latency.count, COUNT);
	ck_assert_double_eq(latency.most, all[COUNT - 1]);
	for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
		size_t rank = (size_t)ceil(shares[i] * COUNT);
		double right = all[rank ? rank - 1 : 0];
		double got = latency_at(&latency, shares[i]);

		ck_assert_msg(got >= right - 1e-9 &&
			      got <= right * (1 + 1.0 / 64) + 1e-9,
			      "%g: %g, not %g", shares[i], got, right);
	}
}
END_TEST

START_TEST(nothing_and_too_much)
{
	memset(&latency, 0, sizeof latency);
	ck_assert(isnan(latency_at(&latency, 0.5)));
	latency_add(&latency, -1);
	ck_assert_double_eq(latency_at(&latency, 1), 0);
	latency_add(&latency, 1e30);
	ck_assert_double_ge(latency_at(&latency, 1), 1e8);
	ck_assert_uint_eq(latency.count, 2);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("latency");
	TCase *tcase = suite_case(suite, "latency");

	tcase_add_test(tcase, shares_are_what_was_measured);
	tcase_add_test(tcase, nothing_and_too_much);
	return suite_run(suite);
}
