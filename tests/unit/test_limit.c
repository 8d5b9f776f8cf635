/* SPDX-License-Identifier: MIT */
/*
 * The limit, by one thread at a time: what fits, what is refused.  What makes
 * room is in test_limit_room.c, many threads at once in test_limit_threads.c.
 */
#include "lend/arena.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/suite.h"

#define KB ((size_t)1024)
#define LIMIT (256 * KB)

/* "A growth beyond it ... fails with its own error code": up to it, it fits. */
START_TEST(what_fits_exactly_is_lent)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_req req = worker_req(128 * KB, 64 * KB, 32 * KB / 8);
	struct lend_worker loan = checkout(arena, &req);
	struct lend_team lease = take(arena, &(struct lend_req){ 0 });
	struct lend_stats stats;

	ck_assert_int_eq(lend_team_panel(arena, &lease, 32 * KB), 0);
	stats = stats_of(arena);
	ck_assert_uint_eq(stats.limit_bytes, LIMIT);
	ck_assert_uint_eq(stats.retained_bytes, LIMIT);
	ck_assert_uint_eq(stats.leased_bytes, LIMIT);
	ck_assert_uint_eq(outstanding(), LIMIT);
	/* And not one page more, of anything. */
	ck_assert_int_eq(lend_team_panel(arena, &lease, 32 * KB + 1),
			 -EDQUOT);
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 1), -EDQUOT);
	ck_assert_int_eq(lend_worker_scatter_resize(arena, &loan,
						    32 * KB / 8 + 1),
			 -EDQUOT);
	give_back(arena, &lease);
	checkin(arena, &loan);
	ck_assert_uint_eq(outstanding(), LIMIT);
	arena_end(arena);
}
END_TEST

START_TEST(what_never_fits_is_refused)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_req req = worker_req(LIMIT + 1, 0, 0);
	struct lend_worker loan;
	struct lend_team lease;

	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan), -EDQUOT);
	req = worker_req(LIMIT / 2, LIMIT / 2, 1);
	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan), -EDQUOT);
	req = team_req(LIMIT, 1);
	ck_assert_int_eq(lend_team_take(arena, &req, 1, 1, &lease), -EDQUOT);
	req = team_req(1, LIMIT);
	ck_assert_int_eq(lend_team_take(arena, &req, 1, 1, &lease), -EDQUOT);
	/* Impossible is another matter. */
	req = worker_req(SIZE_MAX, 0, 0);
	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan),
			 -EOVERFLOW);
	stats_settled(arena);
	ck_assert_uint_eq(outstanding(), 0);
	/* Nothing of it was charged. */
	req = worker_req(LIMIT, 0, 0);
	loan = checkout(arena, &req);
	checkin(arena, &loan);
	arena_end(arena);
}
END_TEST

/*
 * A checkout that is refused although all that was idle has gone: nothing is
 * out, the accounts are what is there, and the next one is served.
 */
START_TEST(a_refused_checkout_leaves_the_slot_idle)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_req req = worker_req(64 * KB, 16 * KB, 8 * KB / 8);
	struct lend_req more = worker_req(64 * KB, LIMIT, 8 * KB / 8);
	struct lend_worker loan = checkout(arena, &req);
	struct lend_stats stats;

	checkin(arena, &loan);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(lend_worker_checkout(arena, &more, &loan),
				 -EDQUOT);
		stats_settled(arena);
		ck_assert_int_eq(lend_worker_return(arena, &loan), -EALREADY);
		loan = checkout(arena, &req);
		pattern_write(loan.a, 64 * KB, 1);
		checkin(arena, &loan);
		stats = stats_of(arena);
		ck_assert_uint_eq(stats.slots_idle, 1);
		ck_assert_uint_eq(stats.retained_bytes, 88 * KB);
	}
	arena_end(arena);
}
END_TEST

/* The same for a take. */
START_TEST(a_refused_take_leaves_the_set_idle)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_req req = team_req(512, 3), more = team_req(LIMIT, 3);
	struct lend_team lease = take(arena, &req);

	give_back(arena, &lease);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(lend_team_take(arena, &more, 1, 1, &lease),
				 -EDQUOT);
		stats_settled(arena);
		lease = take(arena, &req);
		ck_assert_uint_ge(lease.scatter_capacity, 512);
		ck_assert_uint_eq(lease.barriers, 3);
		give_back(arena, &lease);
		ck_assert_uint_eq(stats_of(arena).sets_idle, 1);
	}
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* "Nothing else changed": addresses, capacities, contents of what is out. */
START_TEST(a_refused_growth_leaves_the_loan_as_it_was)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_req req = worker_req(4096, 0, 4096 / 8);
	struct lend_req team = team_req(512, 1);
	struct lend_worker loan = checkout(arena, &req), loan_was;
	struct lend_team lease = take(arena, &team), lease_was;
	struct lend_stats before, after;

	ck_assert_int_eq(lend_team_panel(arena, &lease, 8192), 0);
	pattern_write(lease.panel, 8192, 1);
	pattern_write(lease.scatter, 4096, 2);
	pattern_write(loan.scatter, 4096, 3);
	lease.scatter_length = 512;
	loan.scatter_length = 512;
	before = stats_of(arena);
	loan_was = loan;
	lease_was = lease;
	ck_assert_int_eq(lend_team_panel(arena, &lease, LIMIT), -EDQUOT);
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, LIMIT / 8),
			 -EDQUOT);
	ck_assert_int_eq(lend_worker_scatter_resize(arena, &loan, LIMIT / 8),
			 -EDQUOT);
	after = stats_of(arena);
	stats_same_but_trims(&before, &after);
	ck_assert_mem_eq(&lease, &lease_was, sizeof(lease));
	ck_assert_mem_eq(&loan, &loan_was, sizeof(loan));
	ck_assert(pattern_holds(lease.panel, 8192, 1));
	ck_assert(pattern_holds(lease.scatter, 4096, 2));
	ck_assert(pattern_holds(loan.scatter, 4096, 3));
	give_back(arena, &lease);
	checkin(arena, &loan);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* "They are not traced and not in the arena's accounts": nor limited. */
START_TEST(nested_loans_are_not_under_the_limit)
{
	lend_arena *arena = arena_limited(16 * KB);
	struct lend_req req = worker_req(16 * KB, 0, 0);
	struct lend_req more = worker_req(LIMIT, LIMIT, LIMIT / 8);
	struct lend_worker loan = checkout(arena, &req), nested;

	nested = checkout(arena, &more);
	ck_assert_uint_eq(outstanding(), 16 * KB + 3 * LIMIT);
	ck_assert_int_eq(lend_worker_scatter_resize(arena, &nested,
						    LIMIT / 4), 0);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, 16 * KB);
	checkin(arena, &nested);
	checkin(arena, &loan);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* Growths that lack memory are not charged: in the end all of it fits. */
START_TEST(a_failed_growth_is_not_charged)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_req req = worker_req(32 * KB, 32 * KB, 32 * KB / 8);
	struct lend_req whole = worker_req(LIMIT, 0, 0);
	struct lend_worker loan;

	for (unsigned long n = 1; n <= 3; n++) {
		fault_fail_nth(FAULT_EXTENT, n);
		ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan),
				 -ENOMEM);
		stats_settled(arena);
		ck_assert_uint_eq(outstanding(), 0);
	}
	/* In the place of the old one, too. */
	req = worker_req(LIMIT / 2, 0, 0);
	loan = checkout(arena, &req);
	checkin(arena, &loan);
	fault_fail_all(FAULT_EXTENT);
	ck_assert_int_eq(lend_worker_checkout(arena, &whole, &loan), -ENOMEM);
	fault_fail_all(0);
	stats_settled(arena);
	loan = checkout(arena, &whole);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, LIMIT);
	checkin(arena, &loan);
	arena_end(arena);
}
END_TEST

/* Each arena has its own. */
START_TEST(a_limit_is_of_one_arena)
{
	lend_arena *first = arena_limited(LIMIT);
	lend_arena *second = arena_limited(LIMIT);
	lend_arena *free_one = arena_of(NULL);
	struct lend_req req = worker_req(LIMIT, 0, 0);
	struct lend_req more = worker_req(LIMIT, LIMIT, 0);
	struct lend_worker loan[3] = {
		checkout(first, &req), checkout(second, &req),
		checkout(free_one, &more),
	};

	ck_assert_uint_eq(stats_of(free_one).limit_bytes, 0);
	checkin(first, &loan[0]);
	checkin(second, &loan[1]);
	checkin(free_one, &loan[2]);
	arena_end(first);
	arena_end(second);
	arena_end(free_one);
}
END_TEST

/* In a process with LEND_CONF=limit:64K: the default, never what was set. */
static int
play_default(void)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct lend_req req = worker_req(64 * KB, 1, 0);
	struct lend_worker loan;
	lend_arena *arena, *larger;

	options.limit = 128 * KB;
	if (lend_arena_create(&arena, NULL) ||
	    lend_arena_create(&larger, &options))
		return 1;
	if (stats_of(arena).limit_bytes != 64 * KB ||
	    stats_of(larger).limit_bytes != 128 * KB)
		return 2;
	if (lend_worker_checkout(arena, &req, &loan) != -EDQUOT)
		return 3;
	if (lend_worker_checkout(larger, &req, &loan) ||
	    lend_worker_return(larger, &loan))
		return 4;
	return lend_arena_destroy(arena) || lend_arena_destroy(larger) ? 5
								       : 0;
}

START_TEST(the_environment_sets_the_default)
{
	ck_assert_int_eq(suite_again("default", "limit:64K", NULL, 0), 0);
}
END_TEST

static void
add_tests(Suite *suite)
{
	TCase *refusal = watched_case(suite, "refusal");
	TCase *scope = watched_case(suite, "scope");

	tcase_add_test(refusal, what_fits_exactly_is_lent);
	tcase_add_test(refusal, what_never_fits_is_refused);
	tcase_add_test(refusal, a_refused_checkout_leaves_the_slot_idle);
	tcase_add_test(refusal, a_refused_take_leaves_the_set_idle);
	tcase_add_test(refusal, a_refused_growth_leaves_the_loan_as_it_was);
	tcase_add_test(refusal, a_failed_growth_is_not_charged);
	tcase_add_test(scope, nested_loans_are_not_under_the_limit);
	tcase_add_test(scope, a_limit_is_of_one_arena);
	tcase_add_test(scope, the_environment_sets_the_default);
}

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite;

	if (suite_role())
		return play_default();
	suite = suite_create("limit");
	add_tests(suite);
	return suite_run_also(suite, confs);
}
