/* SPDX-License-Identifier: MIT */
/* What a pool refuses: bad input, an end too early, what has no memory. */
#include <lend/warm.h>

#include <errno.h>

#include "support/fault.h"
#include "support/loans.h"
#include "support/suite.h"
#include "support/warm_model.h"
#include "support/warm_table.h"

START_TEST(bad_input_is_refused)
{
	lend_warm_pool *pool;
	size_t spawn;
	void *slot;

	warm_make(2);
	pool = warm.pool;
	ck_assert_int_eq(lend_warm_pool_create(NULL, 1), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_create(&pool, 0), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_create(&pool, LEND_WARM_CAP_MAX + 1),
			 -EINVAL);
	ck_assert_int_eq(lend_warm_pool_claim(NULL, "a", &slot), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_claim(pool, NULL, &slot), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_claim(pool, "a", NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_begin_fill(pool, "a", 1, NULL,
						   warm_take_back, NULL),
			 -EINVAL);
	ck_assert_int_eq(lend_warm_pool_begin_fill(pool, "a", 1, &spawn, NULL,
						   NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_begin_fill(
				 pool, "a", LEND_WARM_TARGET_MAX + 1, &spawn,
				 warm_take_back, NULL), -EOVERFLOW);
	ck_assert_int_eq(lend_warm_pool_offer(pool, "a", NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_offer(pool, NULL, &pool), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_abandon_fill(pool, NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_drain(pool, "a", NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_drain(pool, NULL, warm_take_back, NULL),
			 -EINVAL);
	ck_assert_int_eq(lend_warm_pool_drain_all(pool, NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_stats(pool, NULL), -EINVAL);
	ck_assert_int_eq(lend_warm_pool_id_stats(pool, "a", NULL), -EINVAL);
	ck_assert(!warm_knows("a"));
	ck_assert_int_eq(lend_warm_pool_destroy(NULL), 0);
	warm_end();
}
END_TEST

START_TEST(a_pool_with_ready_slots_is_not_destroyed)
{
	warm_make(2);
	warm_fill("a", 1, 10);
	ck_assert_int_eq(lend_warm_pool_destroy(warm.pool), -EBUSY);
	ck_assert_uint_eq(warm_claim("a"), 10);
	warm_end();
}
END_TEST

/* Through every allocation: an error, and nothing has changed. */
static void
drive(struct warm_model *model, struct warm_op *op)
{
	for (unsigned long n = 1;; n++) {
		struct warm_op tried = *op;

		fault_fail_nth(FAULT_PAGES, n);
		warm_pool_do(warm.pool, &tried);
		if (fault_pending()) {
			fault_fail_nth(0, 0);
			warm_model_do(model, op);
			ck_assert_msg(warm_op_same(op, &tried), "%s",
				      warm_op_text(&tried));
			return;
		}
		fault_fail_nth(0, 0);
		if (tried.result == -ENOMEM) {
			ck_assert(warm_stats_same(warm.pool, model));
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
		error = lend_warm_pool_create(&warm.pool, 2);
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
	warm_end();
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warm_refuse");
	TCase *refuse = watched_case(suite, "refuse");

	tcase_add_test(refuse, bad_input_is_refused);
	tcase_add_test(refuse, a_pool_with_ready_slots_is_not_destroyed);
	tcase_add_test(refuse, no_memory_is_an_error_that_changes_nothing);
	return suite_run(suite);
}
