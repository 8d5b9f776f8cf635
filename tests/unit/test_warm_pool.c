/* SPDX-License-Identifier: MIT */
/* The pool's table, row by row, with its corners: src/warm. */
#include <lend/warm.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mem/init.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/suite.h"
#include "support/warm_model.h"

static lend_warm_pool *pool;
static uintptr_t back[64];
static unsigned backs;

static void
take_back(void *slot, void *ctx)
{
	ck_assert_ptr_eq(ctx, &pool);
	ck_assert_uint_lt(backs, 64);
	back[backs++] = (uintptr_t)slot;
}

static void
make(size_t cap)
{
	ck_assert_int_eq(lend_warm_pool_create(&pool, cap), 0);
	backs = 0;
}

static void
drain_all(void)
{
	backs = 0;
	ck_assert_int_eq(lend_warm_pool_drain_all(pool, take_back, &pool), 0);
}

/* Frees it, after which no page may be left. */
static void
end(void)
{
	drain_all();
	ck_assert_int_eq(lend_warm_pool_destroy(pool), 0);
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}

static size_t
begin(const char *id, size_t target)
{
	size_t spawn = 77;

	backs = 0;
	ck_assert_int_eq(lend_warm_pool_begin_fill(pool, id, target, &spawn,
						   take_back, &pool), 0);
	return spawn;
}

/* 0: handed back. */
static bool
offer(const char *id, uintptr_t slot)
{
	int result = lend_warm_pool_offer(pool, id, (void *)slot);

	ck_assert(result == 0 || result == -ECANCELED);
	return result == 0;
}

/* 0: none. */
static uintptr_t
claim(const char *id)
{
	void *slot = NULL;
	int result = lend_warm_pool_claim(pool, id, &slot);

	ck_assert_int_eq(result, slot ? 0 : -ENOENT);
	return (uintptr_t)slot;
}

static void
abandon(const char *id)
{
	ck_assert_int_eq(lend_warm_pool_abandon_fill(pool, id), 0);
}

static void
drain(const char *id)
{
	backs = 0;
	ck_assert_int_eq(lend_warm_pool_drain(pool, id, take_back, &pool), 0);
}

/* What was handed back, in order, up to 0. */
static void
must_be_back(uintptr_t slot, ...)
{
	unsigned n = 0;
	va_list list;

	va_start(list, slot);
	for (; slot; slot = va_arg(list, uintptr_t)) {
		ck_assert_uint_lt(n, backs);
		ck_assert_uint_eq(back[n++], slot);
	}
	va_end(list);
	ck_assert_uint_eq(backs, n);
}

#define BACK(...) must_be_back(__VA_ARGS__, (uintptr_t)0)
#define SLOT(n) ((uintptr_t)(n))

static struct lend_warm_stats
stats(const char *id)
{
	struct lend_warm_stats stats;

	memset(&stats, 0xff, sizeof(stats));
	ck_assert_int_eq(id ? lend_warm_pool_id_stats(pool, id, &stats)
			    : lend_warm_pool_stats(pool, &stats), 0);
	return stats;
}

static bool
is_known(const char *id)
{
	struct lend_warm_stats stats;
	int result = lend_warm_pool_id_stats(pool, id, &stats);

	ck_assert(result == 0 || result == -ENOENT);
	return result == 0;
}

static void
fill(const char *id, size_t target, uintptr_t first)
{
	size_t spawn = begin(id, target);

	ck_assert_uint_eq(backs, 0);
	for (size_t i = 0; i < spawn; i++)
		ck_assert(offer(id, first + i));
}

/* claim */

START_TEST(claims_are_keyed_by_id_and_come_last_in_first_out)
{
	make(2);
	fill("a", 3, 10);
	ck_assert_uint_eq(claim("other"), 0);
	ck_assert_uint_eq(claim("a"), 12);
	ck_assert_uint_eq(claim("a"), 11);
	ck_assert(offer("a", 20));
	ck_assert_uint_eq(claim("a"), 20);
	ck_assert_uint_eq(claim("a"), 10);
	ck_assert_uint_eq(claim("a"), 0);
	end();
}
END_TEST

START_TEST(a_claim_of_a_missing_id_touches_nothing)
{
	make(2);
	ck_assert_uint_eq(claim("a"), 0);
	ck_assert(!is_known("a"));
	/* b is pooled without a ready slot: its recency stays, too. */
	ck_assert_uint_eq(begin("b", 1), 1);
	fill("c", 1, 30);
	ck_assert_uint_eq(claim("b"), 0);
	(void)begin("d", 1);
	ck_assert_uint_eq(stats("b").pooled, 0);
	ck_assert_uint_eq(stats("c").pooled, 1);
	end();
}
END_TEST

START_TEST(a_claim_makes_its_id_most_recent)
{
	make(2);
	fill("a", 2, 10);
	fill("b", 1, 20);
	ck_assert_uint_eq(claim("a"), 11);
	ck_assert_uint_eq(begin("c", 1), 1);
	BACK(SLOT(20));
	ck_assert_uint_eq(claim("b"), 0);
	ck_assert_uint_eq(claim("a"), 10);
	end();
}
END_TEST

START_TEST(the_last_claim_delists)
{
	make(1);
	fill("a", 1, 10);
	ck_assert_uint_eq(claim("a"), 10);
	ck_assert_uint_eq(stats(NULL).pooled, 0);
	ck_assert(!offer("a", 11));
	/* Not with a fill in flight. */
	ck_assert_uint_eq(begin("a", 2), 2);
	ck_assert(offer("a", 12));
	ck_assert_uint_eq(claim("a"), 12);
	ck_assert_uint_eq(stats(NULL).pooled, 1);
	ck_assert(offer("a", 13));
	ck_assert_uint_eq(claim("a"), 13);
	ck_assert_uint_eq(stats(NULL).pooled, 0);
	end();
}
END_TEST

/* begin_fill */

START_TEST(a_fill_counts_what_is_ready_and_in_flight)
{
	make(2);
	ck_assert_uint_eq(begin("a", 2), 2);
	ck_assert_uint_eq(begin("a", 2), 0);
	ck_assert_uint_eq(begin("a", 1), 0);
	ck_assert_uint_eq(begin("a", 5), 3);
	ck_assert(offer("a", 10));
	ck_assert_uint_eq(begin("a", 5), 0);
	ck_assert_uint_eq(claim("a"), 10);
	ck_assert_uint_eq(begin("a", 5), 1);
	abandon("a");
	ck_assert_uint_eq(begin("a", 5), 1);
	end();
}
END_TEST

START_TEST(a_target_of_0_does_nothing)
{
	make(1);
	ck_assert_uint_eq(begin("a", 0), 0);
	ck_assert(!is_known("a"));
	fill("b", 1, 20);
	ck_assert_uint_eq(begin("a", 0), 0);
	ck_assert_uint_eq(backs, 0);
	ck_assert_uint_eq(claim("b"), 20);
	end();
}
END_TEST

START_TEST(a_further_id_evicts_the_least_recent)
{
	make(2);
	fill("a", 3, 10);
	fill("b", 1, 20);
	ck_assert_uint_eq(begin("c", 1), 1);
	BACK(SLOT(10), SLOT(11), SLOT(12));
	ck_assert_uint_eq(claim("a"), 0);
	ck_assert_uint_eq(claim("b"), 20);
	end();
}
END_TEST

START_TEST(a_fill_makes_its_id_most_recent_also_when_nothing_is_owed)
{
	make(2);
	fill("a", 1, 10);
	fill("b", 1, 20);
	ck_assert_uint_eq(begin("a", 1), 0);
	(void)begin("c", 1);
	BACK(SLOT(20));
	end();
}
END_TEST

START_TEST(a_cap_of_1_keeps_one_id)
{
	make(1);
	fill("a", 2, 10);
	ck_assert_uint_eq(begin("b", 1), 1);
	BACK(SLOT(10), SLOT(11));
	ck_assert(offer("b", 20));
	(void)begin("a", 1);
	BACK(SLOT(20));
	end();
}
END_TEST

START_TEST(a_cap_of_64_keeps_64_ids)
{
	char id[16];

	make(64);
	for (uintptr_t i = 1; i <= 64; i++) {
		snprintf(id, sizeof(id), "plan %zu", (size_t)i);
		fill(id, 1, i);
	}
	for (uintptr_t i = 65; i <= 200; i++) {
		snprintf(id, sizeof(id), "plan %zu", (size_t)i);
		ck_assert_uint_eq(begin(id, 1), 1);
		BACK(i - 64);
		ck_assert(offer(id, i));
	}
	ck_assert_uint_eq(stats(NULL).ready, 64);
	ck_assert_uint_eq(stats(NULL).evictions, 136);
	drain_all();
	ck_assert_uint_eq(backs, 64);
	for (unsigned i = 0; i < 64; i++)
		ck_assert_uint_eq(back[i], 137 + i);
	end();
}
END_TEST

/* offer, abandon_fill */

START_TEST(late_offers_for_an_evicted_id_are_handed_back)
{
	make(2);
	ck_assert_uint_eq(begin("a", 1), 1);
	fill("b", 1, 20);
	fill("c", 1, 30);
	ck_assert(!offer("a", 10));
	ck_assert_uint_eq(stats("a").in_flight, 0);
	ck_assert_uint_eq(claim("a"), 0);
	end();
}
END_TEST

START_TEST(an_evicted_id_that_is_begun_again_takes_its_offers)
{
	make(1);
	ck_assert_uint_eq(begin("a", 3), 3);
	(void)begin("b", 1);
	ck_assert_uint_eq(stats("a").in_flight, 3);
	/* Three are in flight already. */
	ck_assert_uint_eq(begin("a", 4), 1);
	for (uintptr_t i = 10; i < 14; i++)
		ck_assert(offer("a", i));
	ck_assert_uint_eq(stats("a").in_flight, 0);
	ck_assert_uint_eq(stats("b").in_flight, 1);
	end();
}
END_TEST

START_TEST(fills_in_flight_never_fall_below_0)
{
	make(1);
	abandon("a");
	ck_assert(!is_known("a"));
	ck_assert(!offer("a", 9));
	ck_assert_uint_eq(begin("a", 1), 1);
	ck_assert(offer("a", 10));
	/* More than were planned: they are taken all the same. */
	ck_assert(offer("a", 11));
	abandon("a");
	ck_assert_uint_eq(stats("a").in_flight, 0);
	ck_assert_uint_eq(stats("a").ready, 2);
	ck_assert_uint_eq(begin("a", 3), 1);
	drain("a");
	abandon("a");
	abandon("a");
	ck_assert_uint_eq(begin("a", 2), 2);
	end();
}
END_TEST

START_TEST(the_last_abandoned_fill_delists)
{
	make(1);
	ck_assert_uint_eq(begin("a", 2), 2);
	abandon("a");
	ck_assert_uint_eq(stats("a").pooled, 1);
	abandon("a");
	ck_assert_uint_eq(stats("a").pooled, 0);
	ck_assert(!offer("a", 10));
	/* Not with a slot ready. */
	ck_assert_uint_eq(begin("a", 2), 2);
	ck_assert(offer("a", 11));
	abandon("a");
	ck_assert_uint_eq(stats("a").pooled, 1);
	ck_assert_uint_eq(claim("a"), 11);
	end();
}
END_TEST

/* drain */

START_TEST(a_drain_is_of_one_id)
{
	make(2);
	fill("a", 2, 10);
	fill("b", 1, 20);
	drain("other");
	ck_assert_uint_eq(backs, 0);
	drain("a");
	BACK(SLOT(10), SLOT(11));
	ck_assert_uint_eq(claim("a"), 0);
	ck_assert_uint_eq(claim("b"), 20);
	/* A fill in flight across it comes back. */
	ck_assert_uint_eq(begin("a", 1), 1);
	drain("a");
	ck_assert_uint_eq(backs, 0);
	ck_assert_uint_eq(stats("a").in_flight, 1);
	ck_assert(!offer("a", 12));
	end();
}
END_TEST

START_TEST(a_drain_of_all_leaves_fills_in_flight)
{
	make(3);
	fill("a", 2, 10);
	fill("b", 1, 20);
	ck_assert_uint_eq(begin("b", 3), 2);
	ck_assert_uint_eq(begin("c", 1), 1);
	drain_all();
	BACK(SLOT(10), SLOT(11), SLOT(20));
	ck_assert_uint_eq(stats(NULL).pooled, 0);
	ck_assert_uint_eq(stats(NULL).in_flight, 3);
	ck_assert(!offer("b", 21));
	/* b again: its other fill counts. */
	ck_assert_uint_eq(begin("b", 2), 1);
	ck_assert(offer("b", 22));
	drain_all();
	BACK(SLOT(22));
	end();
}
END_TEST

/* Ids with fills in flight, many more than the cap, in every order. */
START_TEST(any_number_of_ids_has_fills_in_flight)
{
	enum { IDS = 1000 };
	char id[16];

	make(2);
	for (unsigned i = 0; i < IDS; i++) {
		snprintf(id, sizeof(id), "%u", i);
		ck_assert_uint_eq(begin(id, i % 5 + 1), i % 5 + 1);
		if (i % 50 == 0)
			drain_all();
	}
	ck_assert_uint_eq(stats(NULL).in_flight, 3 * IDS);
	for (unsigned i = 0; i < IDS; i++) {
		unsigned other = i * 7 % IDS;

		snprintf(id, sizeof(id), "%u", other);
		ck_assert_uint_eq(stats(id).in_flight, other % 5 + 1);
		ck_assert_uint_eq(begin(id, 6), 5 - other % 5);
		for (unsigned k = 0; k < 5; k++)
			abandon(id);
		ck_assert(offer(id, 1 + other));
		ck_assert_uint_eq(claim(id), 1 + other);
	}
	ck_assert_uint_eq(stats(NULL).in_flight, 0);
	end();
}
END_TEST

/* ids */

START_TEST(ids_are_of_any_length_and_are_copied)
{
	static const size_t lengths[] = {
		0, 1, 7, 8, 9, 183, 184, 185, 4096, 4097, 100000
	};
	enum { N = sizeof(lengths) / sizeof(lengths[0]) };
	char *id = malloc(lengths[N - 1] + 1);

	ck_assert_ptr_nonnull(id);
	make(3 * N);
	for (int round = 0; round < 3; round++) {
		for (uintptr_t i = 0; i < N; i++) {
			memset(id, 'x', lengths[i]);
			id[lengths[i]] = '\0';
			fill(id, 1, 1 + i);
			/* They differ in the last byte alone. */
			if (lengths[i] > 0)
				id[lengths[i] - 1] = 'y';
			else
				continue;
			ck_assert_uint_eq(claim(id), 0);
			fill(id, 1, 100 + i);
		}
		memset(id, 'z', lengths[N - 1]);
		for (uintptr_t i = 0; i < N; i++) {
			memset(id, 'x', lengths[i]);
			id[lengths[i]] = '\0';
			ck_assert_uint_eq(claim(id), 1 + i);
			if (lengths[i] == 0)
				continue;
			id[lengths[i] - 1] = 'y';
			ck_assert_uint_eq(claim(id), 100 + i);
		}
	}
	free(id);
	end();
}
END_TEST

/* Names of ids that are gone are used again: memory does not grow. */
START_TEST(ids_that_come_and_go_leave_nothing_behind)
{
	size_t pages = 0;
	char id[300];

	make(2);
	for (unsigned i = 0; i < 20000; i++) {
		snprintf(id, sizeof(id), "%*u", i % 3 ? 10 : 250, i);
		fill(id, 1, 1);
		ck_assert_uint_eq(claim(id), 1);
		if (i == 100)
			pages = fault_counts().pages_bytes;
	}
	ck_assert_uint_eq(fault_counts().pages_bytes, pages);
	end();
}
END_TEST

/* counts */

START_TEST(counts_are_per_id_and_in_all)
{
	make(1);
	fill("a", 2, 10);
	ck_assert_uint_eq(claim("a"), 11);
	ck_assert_uint_eq(claim("b"), 0);
	ck_assert_uint_eq(begin("a", 2), 1);
	ck_assert_uint_eq(claim("a"), 10);
	ck_assert_uint_eq(claim("a"), 0);
	(void)begin("b", 1);
	ck_assert(!offer("a", 12));
	ck_assert_uint_eq(stats("a").claims, 2);
	ck_assert_uint_eq(stats("a").misses, 1);
	ck_assert_uint_eq(stats("a").evictions, 1);
	ck_assert_uint_eq(stats("a").rejected, 1);
	ck_assert_uint_eq(stats("a").thrash, 0);
	ck_assert_uint_eq(stats("b").evictions, 0);
	/* Within one turn of the list. */
	(void)begin("a", 1);
	ck_assert_uint_eq(stats("a").thrash, 1);
	ck_assert_uint_eq(stats("b").evictions, 1);
	ck_assert_uint_eq(stats(NULL).claims, 2);
	ck_assert_uint_eq(stats(NULL).misses, 2);
	ck_assert_uint_eq(stats(NULL).evictions, 2);
	ck_assert_uint_eq(stats(NULL).rejected, 1);
	ck_assert_uint_eq(stats(NULL).thrash, 1);
	end();
}
END_TEST

/* Evicted, and begun again when `cap` others have left since: no thrash. */
START_TEST(thrash_is_within_one_turn_of_the_list)
{
	make(2);
	(void)begin("a", 1);
	(void)begin("b", 1);
	(void)begin("c", 1);	/* a leaves */
	(void)begin("d", 1);	/* b leaves */
	ck_assert_uint_eq(begin("a", 1), 0);	/* c leaves */
	ck_assert_uint_eq(stats(NULL).thrash, 1);
	(void)begin("e", 1);	/* d leaves */
	(void)begin("f", 1);	/* a leaves */
	(void)begin("g", 1);	/* e leaves */
	(void)begin("h", 1);	/* f leaves */
	ck_assert_uint_eq(begin("a", 1), 0);
	ck_assert_uint_eq(stats(NULL).thrash, 1);
	/* Who was drained did not thrash. */
	drain("a");
	(void)begin("a", 1);
	ck_assert_uint_eq(stats(NULL).thrash, 1);
	end();
}
END_TEST

/* errors */

START_TEST(bad_input_is_refused)
{
	size_t spawn;
	void *slot;

	make(2);
	ck_assert_int_eq(lend_warm_pool_create(NULL, 1), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_create(&pool, 0), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_create(&pool, LEND_WARM_CAP_MAX + 1),
			 -EINVAL);
	ck_assert_int_eq(lend_warm_pool_claim(NULL, "a", &slot), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_claim(pool, NULL, &slot), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_claim(pool, "a", NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_begin_fill(pool, "a", 1, NULL,
						   take_back, NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_begin_fill(pool, "a", 1, &spawn, NULL,
						   NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_begin_fill(
				 pool, "a", LEND_WARM_TARGET_MAX + 1, &spawn,
				 take_back, NULL), -EOVERFLOW);
	ck_assert_int_eq(lend_warm_pool_offer(pool, "a", NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_offer(pool, NULL, &pool), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_abandon_fill(pool, NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_drain(pool, "a", NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_drain(pool, NULL, take_back, NULL),
			 -EINVAL);
	ck_assert_int_eq(lend_warm_pool_drain_all(pool, NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_stats(pool, NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_id_stats(pool, "a", NULL), -EINVAL);
	ck_assert(!is_known("a"));
	ck_assert_int_eq(lend_warm_pool_destroy(NULL), 0);
	end();
}
END_TEST

START_TEST(a_pool_with_ready_slots_is_not_destroyed)
{
	make(2);
	fill("a", 1, 10);
	ck_assert_int_eq(lend_warm_pool_destroy(pool), -EBUSY);
	ck_assert_uint_eq(claim("a"), 10);
	end();
}
END_TEST

/* Through every allocation: an error, and nothing has changed. */
static void
drive(struct warm_model *model, struct warm_op *op)
{
	for (unsigned long n = 1;; n++) {
		struct warm_op tried = *op;

		fault_fail_nth(FAULT_PAGES, n);
		warm_pool_do(pool, &tried);
		if (fault_pending()) {
			fault_fail_nth(0, 0);
			warm_model_do(model, op);
			ck_assert_msg(warm_op_same(op, &tried), "%s",
				      warm_op_text(&tried));
			return;
		}
		fault_fail_nth(0, 0);
		if (tried.result == -ENOMEM) {
			ck_assert(warm_stats_same(pool, model));
			continue;
		}
		/* It did without. */
		warm_model_do(model, op);
		ck_assert_msg(warm_op_same(op, &tried), "%s",
			      warm_op_text(&tried));
		return;
	}
}

START_TEST(no_memory_is_an_error_that_changes_nothing)
{
	static struct warm_model model;
	uint64_t random = 1;
	unsigned slots = 0;

	for (unsigned long n = 1;; n++) {
		int error;

		fault_fail_nth(FAULT_PAGES, n);
		error = lend_warm_pool_create(&pool, 2);
		if (fault_pending() && error == 0)
			break;
		ck_assert_int_eq(error, -ENOMEM);
		ck_assert_uint_eq(fault_counts().pages_bytes, 0);
	}
	fault_fail_nth(0, 0);
	warm_model_init(&model, 2, WARM_IDS);
	for (int i = 0; i < 20000; i++) {
		struct warm_op op;

		warm_op_random(&op, &model, &random, &slots);
		drive(&model, &op);
	}
	ck_assert_uint_gt(fault_counts().failed, 5);
	end();
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
	tcase_add_test(rows, any_number_of_ids_has_fills_in_flight);
	tcase_add_test(rows, ids_are_of_any_length_and_are_copied);
	tcase_add_test(rows, ids_that_come_and_go_leave_nothing_behind);
	tcase_add_test(rows, counts_are_per_id_and_in_all);
	tcase_add_test(rows, thrash_is_within_one_turn_of_the_list);
	tcase_add_test(rows, bad_input_is_refused);
	tcase_add_test(rows, a_pool_with_ready_slots_is_not_destroyed);
	tcase_add_test(rows, no_memory_is_an_error_that_changes_nothing);
	return suite_run(suite);
}
