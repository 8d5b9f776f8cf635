/* SPDX-License-Identifier: MIT */
/* The pool's table, row by row, with its corners: src/warm. */
#include <stdio.h>

#include "support/fault.h"
#include "support/loans.h"
#include "support/suite.h"
#include "support/warm_table.h"
#include "warm/pool.h"

/* claim */

START_TEST(claims_are_keyed_by_id_and_come_last_in_first_out)
{
	warm_make(2);
	warm_fill("a", 3, 10);
	ck_assert_uint_eq(warm_claim("other"), 0);
	ck_assert_uint_eq(warm_claim("a"), 12);
	ck_assert_uint_eq(warm_claim("a"), 11);
	ck_assert(warm_offer("a", 20));
	ck_assert_uint_eq(warm_claim("a"), 20);
	ck_assert_uint_eq(warm_claim("a"), 10);
	ck_assert_uint_eq(warm_claim("a"), 0);
	warm_end();
}
END_TEST

START_TEST(a_claim_of_a_missing_id_touches_nothing)
{
	warm_make(2);
	ck_assert_uint_eq(warm_claim("a"), 0);
	ck_assert(!warm_knows("a"));
	/* b is pooled without a ready slot: its recency stays, too. */
	ck_assert_uint_eq(warm_begin("b", 1), 1);
	warm_fill("c", 1, 30);
	ck_assert_uint_eq(warm_claim("b"), 0);
	(void)warm_begin("d", 1);
	ck_assert_uint_eq(warm_stats("b").pooled, 0);
	ck_assert_uint_eq(warm_stats("c").pooled, 1);
	warm_end();
}
END_TEST

START_TEST(a_claim_makes_its_id_most_recent)
{
	warm_make(2);
	warm_fill("a", 2, 10);
	warm_fill("b", 1, 20);
	ck_assert_uint_eq(warm_claim("a"), 11);
	ck_assert_uint_eq(warm_begin("c", 1), 1);
	BACK(SLOT(20));
	ck_assert_uint_eq(warm_claim("b"), 0);
	ck_assert_uint_eq(warm_claim("a"), 10);
	warm_end();
}
END_TEST

START_TEST(the_last_claim_delists)
{
	warm_make(1);
	warm_fill("a", 1, 10);
	ck_assert_uint_eq(warm_claim("a"), 10);
	ck_assert_uint_eq(warm_stats(NULL).pooled, 0);
	ck_assert(!warm_offer("a", 11));
	/* Not with a fill in flight. */
	ck_assert_uint_eq(warm_begin("a", 2), 2);
	ck_assert(warm_offer("a", 12));
	ck_assert_uint_eq(warm_claim("a"), 12);
	ck_assert_uint_eq(warm_stats(NULL).pooled, 1);
	ck_assert(warm_offer("a", 13));
	ck_assert_uint_eq(warm_claim("a"), 13);
	ck_assert_uint_eq(warm_stats(NULL).pooled, 0);
	warm_end();
}
END_TEST

/* begin_fill */

START_TEST(a_fill_counts_what_is_ready_and_in_flight)
{
	warm_make(2);
	ck_assert_uint_eq(warm_begin("a", 2), 2);
	ck_assert_uint_eq(warm_begin("a", 2), 0);
	ck_assert_uint_eq(warm_begin("a", 1), 0);
	ck_assert_uint_eq(warm_begin("a", 5), 3);
	ck_assert(warm_offer("a", 10));
	ck_assert_uint_eq(warm_begin("a", 5), 0);
	ck_assert_uint_eq(warm_claim("a"), 10);
	ck_assert_uint_eq(warm_begin("a", 5), 1);
	warm_abandon("a");
	ck_assert_uint_eq(warm_begin("a", 5), 1);
	warm_end();
}
END_TEST

START_TEST(a_target_of_0_does_nothing)
{
	warm_make(1);
	ck_assert_uint_eq(warm_begin("a", 0), 0);
	ck_assert(!warm_knows("a"));
	warm_fill("b", 1, 20);
	ck_assert_uint_eq(warm_begin("a", 0), 0);
	ck_assert_uint_eq(warm.backs, 0);
	ck_assert_uint_eq(warm_claim("b"), 20);
	warm_end();
}
END_TEST

START_TEST(a_further_id_evicts_the_least_recent)
{
	warm_make(2);
	warm_fill("a", 3, 10);
	warm_fill("b", 1, 20);
	ck_assert_uint_eq(warm_begin("c", 1), 1);
	BACK(SLOT(10), SLOT(11), SLOT(12));
	ck_assert_uint_eq(warm_claim("a"), 0);
	ck_assert_uint_eq(warm_claim("b"), 20);
	warm_end();
}
END_TEST

START_TEST(a_fill_makes_its_id_most_recent_also_when_nothing_is_owed)
{
	warm_make(2);
	warm_fill("a", 1, 10);
	warm_fill("b", 1, 20);
	ck_assert_uint_eq(warm_begin("a", 1), 0);
	(void)warm_begin("c", 1);
	BACK(SLOT(20));
	warm_end();
}
END_TEST

START_TEST(a_cap_of_1_keeps_one_id)
{
	warm_make(1);
	warm_fill("a", 2, 10);
	ck_assert_uint_eq(warm_begin("b", 1), 1);
	BACK(SLOT(10), SLOT(11));
	ck_assert(warm_offer("b", 20));
	(void)warm_begin("a", 1);
	BACK(SLOT(20));
	warm_end();
}
END_TEST

START_TEST(a_cap_of_64_keeps_64_ids)
{
	char id[16];

	warm_make(64);
	for (uintptr_t i = 1; i <= 64; i++) {
		snprintf(id, sizeof(id), "plan %zu", (size_t)i);
		warm_fill(id, 1, i);
	}
	for (uintptr_t i = 65; i <= 200; i++) {
		snprintf(id, sizeof(id), "plan %zu", (size_t)i);
		ck_assert_uint_eq(warm_begin(id, 1), 1);
		BACK(i - 64);
		ck_assert(warm_offer(id, i));
	}
	ck_assert_uint_eq(warm_stats(NULL).ready, 64);
	ck_assert_uint_eq(warm_stats(NULL).evictions, 136);
	warm_drain_all();
	ck_assert_uint_eq(warm.backs, 64);
	for (unsigned i = 0; i < 64; i++)
		ck_assert_uint_eq(warm.back[i], 137 + i);
	warm_end();
}
END_TEST

/* offer, abandon_fill */

START_TEST(late_offers_for_an_evicted_id_are_handed_back)
{
	warm_make(2);
	ck_assert_uint_eq(warm_begin("a", 1), 1);
	warm_fill("b", 1, 20);
	warm_fill("c", 1, 30);
	ck_assert(!warm_offer("a", 10));
	ck_assert_uint_eq(warm_stats("a").in_flight, 0);
	ck_assert_uint_eq(warm_claim("a"), 0);
	warm_end();
}
END_TEST

START_TEST(an_evicted_id_that_is_begun_again_takes_its_offers)
{
	warm_make(1);
	ck_assert_uint_eq(warm_begin("a", 3), 3);
	(void)warm_begin("b", 1);
	ck_assert_uint_eq(warm_stats("a").in_flight, 3);
	/* Three are in flight already. */
	ck_assert_uint_eq(warm_begin("a", 4), 1);
	for (uintptr_t i = 10; i < 14; i++)
		ck_assert(warm_offer("a", i));
	ck_assert_uint_eq(warm_stats("a").in_flight, 0);
	ck_assert_uint_eq(warm_stats("b").in_flight, 1);
	warm_end();
}
END_TEST

START_TEST(fills_in_flight_never_fall_below_0)
{
	warm_make(1);
	warm_abandon("a");
	ck_assert(!warm_knows("a"));
	ck_assert(!warm_offer("a", 9));
	ck_assert_uint_eq(warm_begin("a", 1), 1);
	ck_assert(warm_offer("a", 10));
	/* More than were planned: they are taken all the same. */
	ck_assert(warm_offer("a", 11));
	warm_abandon("a");
	ck_assert_uint_eq(warm_stats("a").in_flight, 0);
	ck_assert_uint_eq(warm_stats("a").ready, 2);
	ck_assert_uint_eq(warm_begin("a", 3), 1);
	warm_drain("a");
	warm_abandon("a");
	warm_abandon("a");
	ck_assert_uint_eq(warm_begin("a", 2), 2);
	warm_end();
}
END_TEST

START_TEST(the_last_abandoned_fill_delists)
{
	warm_make(1);
	ck_assert_uint_eq(warm_begin("a", 2), 2);
	warm_abandon("a");
	ck_assert_uint_eq(warm_stats("a").pooled, 1);
	warm_abandon("a");
	ck_assert_uint_eq(warm_stats("a").pooled, 0);
	ck_assert(!warm_offer("a", 10));
	/* Not with a slot ready. */
	ck_assert_uint_eq(warm_begin("a", 2), 2);
	ck_assert(warm_offer("a", 11));
	warm_abandon("a");
	ck_assert_uint_eq(warm_stats("a").pooled, 1);
	ck_assert_uint_eq(warm_claim("a"), 11);
	warm_end();
}
END_TEST

/* drain */

START_TEST(a_drain_is_of_one_id)
{
	warm_make(2);
	warm_fill("a", 2, 10);
	warm_fill("b", 1, 20);
	warm_drain("other");
	ck_assert_uint_eq(warm.backs, 0);
	warm_drain("a");
	BACK(SLOT(10), SLOT(11));
	ck_assert_uint_eq(warm_claim("a"), 0);
	ck_assert_uint_eq(warm_claim("b"), 20);
	/* A fill in flight across it comes back. */
	ck_assert_uint_eq(warm_begin("a", 1), 1);
	warm_drain("a");
	ck_assert_uint_eq(warm.backs, 0);
	ck_assert_uint_eq(warm_stats("a").in_flight, 1);
	ck_assert(!warm_offer("a", 12));
	warm_end();
}
END_TEST

START_TEST(a_drain_of_all_leaves_fills_in_flight)
{
	warm_make(3);
	warm_fill("a", 2, 10);
	warm_fill("b", 1, 20);
	ck_assert_uint_eq(warm_begin("b", 3), 2);
	ck_assert_uint_eq(warm_begin("c", 1), 1);
	warm_drain_all();
	BACK(SLOT(10), SLOT(11), SLOT(20));
	ck_assert_uint_eq(warm_stats(NULL).pooled, 0);
	ck_assert_uint_eq(warm_stats(NULL).in_flight, 3);
	ck_assert(!warm_offer("b", 21));
	/* b again: its other fill counts. */
	ck_assert_uint_eq(warm_begin("b", 2), 1);
	ck_assert(warm_offer("b", 22));
	warm_drain_all();
	BACK(SLOT(22));
	warm_end();
}
END_TEST

/* As a drain of all would, and frees it. */
START_TEST(an_end_hands_back_what_is_ready)
{
	warm_make(3);
	warm_fill("a", 2, 10);
	ck_assert_uint_eq(warm_begin("c", 1), 1);
	warm_fill("b", 3, 20);
	ck_assert_uint_eq(warm_claim("b"), 22);
	ck_assert_uint_eq(warm_begin("a", 3), 1);
	warm_pool_end(warm.pool, warm_take_back, &warm.pool);
	BACK(SLOT(20), SLOT(21), SLOT(10), SLOT(11));
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}
END_TEST

/* counts */

START_TEST(counts_are_per_id_and_in_all)
{
	warm_make(1);
	warm_fill("a", 2, 10);
	ck_assert_uint_eq(warm_claim("a"), 11);
	ck_assert_uint_eq(warm_claim("b"), 0);
	ck_assert_uint_eq(warm_begin("a", 2), 1);
	ck_assert_uint_eq(warm_claim("a"), 10);
	ck_assert_uint_eq(warm_claim("a"), 0);
	(void)warm_begin("b", 1);
	ck_assert(!warm_offer("a", 12));
	ck_assert_uint_eq(warm_stats("a").claims, 2);
	ck_assert_uint_eq(warm_stats("a").misses, 1);
	ck_assert_uint_eq(warm_stats("a").evictions, 1);
	ck_assert_uint_eq(warm_stats("a").rejected, 1);
	ck_assert_uint_eq(warm_stats("a").thrash, 0);
	ck_assert_uint_eq(warm_stats("b").evictions, 0);
	/* Within one turn of the list. */
	(void)warm_begin("a", 1);
	ck_assert_uint_eq(warm_stats("a").thrash, 1);
	ck_assert_uint_eq(warm_stats("b").evictions, 1);
	ck_assert_uint_eq(warm_stats(NULL).claims, 2);
	ck_assert_uint_eq(warm_stats(NULL).misses, 2);
	ck_assert_uint_eq(warm_stats(NULL).evictions, 2);
	ck_assert_uint_eq(warm_stats(NULL).rejected, 1);
	ck_assert_uint_eq(warm_stats(NULL).thrash, 1);
	warm_end();
}
END_TEST

/* Evicted, and begun again when `cap` others have left since: no thrash. */
START_TEST(thrash_is_within_one_turn_of_the_list)
{
	warm_make(2);
	(void)warm_begin("a", 1);
	(void)warm_begin("b", 1);
	(void)warm_begin("c", 1);	/* a leaves */
	(void)warm_begin("d", 1);	/* b leaves */
	ck_assert_uint_eq(warm_begin("a", 1), 0);	/* c leaves */
	ck_assert_uint_eq(warm_stats(NULL).thrash, 1);
	(void)warm_begin("e", 1);	/* d leaves */
	(void)warm_begin("f", 1);	/* a leaves */
	(void)warm_begin("g", 1);	/* e leaves */
	(void)warm_begin("h", 1);	/* f leaves */
	ck_assert_uint_eq(warm_begin("a", 1), 0);
	ck_assert_uint_eq(warm_stats(NULL).thrash, 1);
	/* Who was drained did not thrash. */
	warm_drain("a");
	(void)warm_begin("a", 1);
	ck_assert_uint_eq(warm_stats(NULL).thrash, 1);
	warm_end();
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warm_pool");
	TCase *rows = watched_case(suite, "rows");

	tcase_add_test(rows, claims_are_keyed_by_id_and_come_last_in_first_out);
	tcase_add_test(rows, a_claim_of_a_missing_id_touches_nothing);
	tcase_add_test(rows, a_claim_makes_its_id_most_recent);
	tcase_add_test(rows, the_last_claim_delists);
	tcase_add_test(rows, a_fill_counts_what_is_ready_and_in_flight);
	tcase_add_test(rows, a_target_of_0_does_nothing);
	tcase_add_test(rows, a_further_id_evicts_the_least_recent);
	tcase_add_test(rows,
		a_fill_makes_its_id_most_recent_also_when_nothing_is_owed);
	tcase_add_test(rows, a_cap_of_1_keeps_one_id);
	tcase_add_test(rows, a_cap_of_64_keeps_64_ids);
	tcase_add_test(rows, late_offers_for_an_evicted_id_are_handed_back);
	tcase_add_test(rows,
		       an_evicted_id_that_is_begun_again_takes_its_offers);
	tcase_add_test(rows, fills_in_flight_never_fall_below_0);
	tcase_add_test(rows, the_last_abandoned_fill_delists);
	tcase_add_test(rows, a_drain_is_of_one_id);
	tcase_add_test(rows, a_drain_of_all_leaves_fills_in_flight);
	tcase_add_test(rows, an_end_hands_back_what_is_ready);
	tcase_add_test(rows, counts_are_per_id_and_in_all);
	tcase_add_test(rows, thrash_is_within_one_turn_of_the_list);
	return suite_run(suite);
}
