/* SPDX-License-Identifier: MIT */
/* Prepares that fail or hang: src/warm/warmer.c, warmer_threads.c, task.c. */
#include <errno.h>

#include "support/loans.h"
#include "support/suite.h"
#include "support/warmer_site.h"

START_TEST(an_id_that_fails_is_left_alone)
{
	struct lend_warmer_options with = warmer_options();

	with.target = 4;
	with.threads = 1;
	with.backoff_ms = with.backoff_most_ms = 3600000;
	warmer_make(&with);
	site.fail_percent = 100;
	warmer_refill("a");
	while (warmer_stats().failed == 0)
		doze(200);
	for (int i = 0; i < 1000; i++)
		warmer_refill("a");
	warmer_await_ready(0);
	ck_assert_uint_eq(site.attempts, 1);
	ck_assert_uint_eq(warmer_stats().held_off, 1000);
	/* Others are not. */
	site.fail_percent = 0;
	warmer_refill("b");
	warmer_await_ready(4);
	warmer_end();
}
END_TEST

START_TEST(an_id_that_fails_comes_back)
{
	struct lend_warmer_options with = warmer_options();

	with.backoff_ms = 1;
	with.backoff_most_ms = 4;
	warmer_make(&with);
	site.fail_percent = 100;
	while (warmer_stats().failed < 5) {
		warmer_refill("a");
		doze(500);
	}
	site.fail_percent = 0;
	while (warmer_stats().pool.ready == 0) {
		warmer_refill("a");
		doze(500);
	}
	warmer_end();
}
END_TEST

/* Given up once; what comes in the end is torn down. */
START_TEST(a_prepare_that_hangs_is_given_up)
{
	struct lend_warmer_options with = warmer_options();

	with.threads = 1;
	with.deadline_ms = 1;
	with.backoff_ms = with.backoff_most_ms = 0;
	warmer_make(&with);
	site.hang_percent = 100;
	warmer_refill("a");
	while (sem_wait(&site.hanging))
		;
	while (warmer_stats().pool.in_flight)
		doze(200);
	ck_assert_uint_eq(warmer_stats().late, 1);
	ck_assert_uint_eq(warmer_stats().preparing, 1);
	/* Another thread prepares meanwhile. */
	site.hang_percent = 0;
	do {
		warmer_refill("a");
		doze(5000);
	} while (warmer_stats().pool.ready == 0);
	sem_post(&site.go_on);
	while (warmer_stats().preparing)
		doze(200);
	ck_assert_uint_eq(warmer_stats().pool.ready, 1);
	ck_assert_uint_ge(warmer_stats().destroyed, 1);
	warmer_end();
}
END_TEST

START_TEST(an_end_does_not_lose_a_prepare_that_hangs)
{
	struct lend_warmer_options with = warmer_options();

	with.target = 4;
	with.threads = 2;
	with.deadline_ms = _i ? 0 : 3600000;
	warmer_make(&with);
	site.hang_percent = 100;
	warmer_refill("a");
	while (sem_wait(&site.hanging))
		;
	while (sem_wait(&site.hanging))
		;
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 1), -EBUSY);
	ck_assert_uint_eq(warmer_stats().pool.in_flight, 0);
	ck_assert_uint_eq(warmer_stats().pool.ready, 0);
	ck_assert_int_eq(lend_warmer_refill(site.warmer, "a"), -ESHUTDOWN);
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 1), -EBUSY);
	sem_post(&site.go_on);
	sem_post(&site.go_on);
	warmer_end();
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warmer_fail");
	TCase *tcase = watched_case(suite, "warmer_fail");

	tcase_add_test(tcase, an_id_that_fails_is_left_alone);
	tcase_add_test(tcase, an_id_that_fails_comes_back);
	tcase_add_test(tcase, a_prepare_that_hangs_is_given_up);
	tcase_add_loop_test(tcase, an_end_does_not_lose_a_prepare_that_hangs,
			    0, 2);
	return suite_run(suite);
}
