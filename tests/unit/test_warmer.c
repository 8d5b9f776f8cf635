/* SPDX-License-Identifier: MIT */
/* The warmer: src/warm/warmer.c, warmer_threads.c. */
#include <errno.h>
#include <stdio.h>

#include "support/crew.h"
#include "support/loans.h"
#include "support/suite.h"
#include "support/warmer_site.h"

START_TEST(a_refill_makes_slots_in_the_background)
{
	struct lend_warmer_options with = warmer_options();
	void *slot;

	with.target = 3;
	warmer_make(&with);
	ck_assert_ptr_null(warmer_claim("a"));
	ck_assert_uint_eq(warmer_stats().threads, 0);
	warmer_refill("a");
	warmer_await_ready(3);
	ck_assert_uint_eq(warmer_stats().prepared, 3);
	ck_assert_uint_gt(warmer_stats().threads, 0);
	slot = warmer_claim("a");
	ck_assert_ptr_nonnull(slot);
	ck_assert_ptr_null(warmer_claim("b"));
	warmer_refill("a");
	warmer_await_ready(3);
	ck_assert_uint_eq(warmer_stats().prepared, 4);
	ck_assert(!site.signals_open);
	ck_assert(!site.nameless);
	warmer_destroy_slot(slot, &site);
	warmer_end();
}
END_TEST

START_TEST(a_warmer_that_was_never_used_ends)
{
	struct lend_warmer_options with = warmer_options();

	warmer_make(&with);
	warmer_end();
	ck_assert_int_eq(lend_warmer_destroy(NULL, 0), 0);
}
END_TEST

static void
refill_much(size_t self, void *ctx)
{
	(void)self;
	(void)ctx;
	for (int i = 0; i < 200; i++)
		if (lend_warmer_refill(site.warmer, "a"))
			site.wrong++;
}

/* However many ask, and however many threads there are. */
START_TEST(no_more_prepares_than_planned)
{
	struct lend_warmer_options with = warmer_options();

	with.target = 2;
	with.threads = 8;
	warmer_make(&with);
	site.sleep_us = 20000;
	crew_run(8, refill_much, NULL);
	warmer_await_ready(2);
	ck_assert_uint_eq(site.attempts, 2);
	ck_assert_uint_le(site.most, 2);
	warmer_end();
}
END_TEST

START_TEST(no_more_prepares_at_once_than_threads)
{
	struct lend_warmer_options with = warmer_options();
	char id[8];

	with.target = 2;
	with.cap = 8;
	with.threads = 2;
	warmer_make(&with);
	site.sleep_us = 1000;
	for (int i = 0; i < 8; i++) {
		snprintf(id, sizeof(id), "%d", i);
		warmer_refill(id);
	}
	warmer_await_ready(16);
	ck_assert_uint_le(site.most, 2);
	ck_assert_uint_eq(site.attempts, 16);
	warmer_end();
}
END_TEST

START_TEST(dead_slots_are_discarded_at_a_claim)
{
	struct lend_warmer_options with = warmer_options();
	void *slot;

	with.target = 3;
	warmer_make(&with);
	warmer_refill("a");
	warmer_await_ready(3);
	/* The two that would come first. */
	site.slot[0] = site.slot[1] = site.slot[2] = SLOT_DEAD;
	ck_assert_ptr_null(warmer_claim("a"));
	ck_assert_uint_eq(warmer_stats().dead, 3);
	warmer_refill("a");
	warmer_await_ready(3);
	slot = warmer_claim("a");
	ck_assert_ptr_nonnull(slot);
	warmer_destroy_slot(slot, &site);
	warmer_end();
}
END_TEST

START_TEST(a_drain_tears_down)
{
	struct lend_warmer_options with = warmer_options();

	with.target = 2;
	warmer_make(&with);
	warmer_refill("a");
	warmer_refill("b");
	warmer_await_ready(4);
	ck_assert_int_eq(lend_warmer_drain(site.warmer, "a"), 0);
	warmer_await_ready(2);
	ck_assert_uint_eq(warmer_stats().destroyed, 2);
	ck_assert_int_eq(lend_warmer_drain(site.warmer, NULL), 0);
	warmer_await_ready(0);
	warmer_end();
}
END_TEST

START_TEST(bad_input_is_refused)
{
	struct lend_warmer_options with = warmer_options();
	lend_warmer *warmer;
	void *slot;

	warmer_make(&with);
	ck_assert_int_eq(lend_warmer_create(NULL, &with), -EINVAL);
	ck_assert_int_eq(lend_warmer_create(&warmer, NULL), -EINVAL);
	with.prepare = NULL;
	ck_assert_int_eq(lend_warmer_create(&warmer, &with), -EINVAL);
	with = warmer_options();
	with.threads = LEND_WARMER_THREADS_MAX + 1;
	ck_assert_int_eq(lend_warmer_create(&warmer, &with), -EINVAL);
	with = warmer_options();
	with.target = 0;
	ck_assert_int_eq(lend_warmer_create(&warmer, &with), -EINVAL);
	with = warmer_options();
	with.size--;
	ck_assert_int_eq(lend_warmer_create(&warmer, &with), -EINVAL);
	ck_assert_int_eq(lend_warmer_claim(NULL, "a", &slot), -EINVAL);
	ck_assert_int_eq(lend_warmer_claim(site.warmer, NULL, &slot), -EINVAL);
	ck_assert_int_eq(lend_warmer_claim(site.warmer, "a", NULL), -EINVAL);
	ck_assert_int_eq(lend_warmer_refill(site.warmer, NULL), -EINVAL);
	ck_assert_int_eq(lend_warmer_drain(NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_warmer_stats(site.warmer, NULL), -EINVAL);
	ck_assert_ptr_null(lend_warmer_pool(NULL));
	warmer_end();
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warmer");
	TCase *tcase = watched_case(suite, "warmer");

	tcase_add_test(tcase, a_refill_makes_slots_in_the_background);
	tcase_add_test(tcase, a_warmer_that_was_never_used_ends);
	tcase_add_test(tcase, no_more_prepares_than_planned);
	tcase_add_test(tcase, no_more_prepares_at_once_than_threads);
	tcase_add_test(tcase, dead_slots_are_discarded_at_a_claim);
	tcase_add_test(tcase, a_drain_tears_down);
	tcase_add_test(tcase, bad_input_is_refused);
	return suite_run(suite);
}
