/* SPDX-License-Identifier: MIT */
/*
 * How a team loan ends: by any thread, once; and what is refused before
 * anything changes.
 */
#include "lend/team.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "support/crew.h"
#include "support/fault.h"
#include "support/instep.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/scale.h"
#include "support/suite.h"

static const struct lend_req some = { .team_scatter = 512, .barriers = 3 };

/* All functions that want a lease, on this one: each returns its error. */
struct answers {
	int panel, resize, shrink, back;
};

static struct answers
try_all(lend_arena *arena, struct lend_team *lease)
{
	struct answers answers = {
		.panel = lend_team_panel(arena, lease, 1 << 20),
		.resize = lend_team_scatter_resize(arena, lease, 1 << 20),
		.shrink = lend_team_scatter_shrink(arena, lease),
		.back = lend_team_return(arena, lease),
	};

	return answers;
}

static void
assert_all(struct answers answers, int error)
{
	ck_assert_int_eq(answers.panel, error);
	ck_assert_int_eq(answers.resize, error);
	ck_assert_int_eq(answers.shrink, error);
	ck_assert_int_eq(answers.back, error);
}

/* That the lease is refused with the error, and nothing has changed. */
static void
assert_refused(lend_arena *arena, struct lend_team *lease, int error)
{
	struct lend_stats before = stats_of(arena), after;
	struct lend_team was = *lease;
	struct fault_counts counts = fault_counts(), counts_after;

	assert_all(try_all(arena, lease), error);
	after = stats_of(arena);
	stats_same(&before, &after);
	counts_after = fault_counts();
	counts_same(&counts, &counts_after);
	ck_assert_ptr_eq(lease->panel, was.panel);
	ck_assert_ptr_eq(lease->scatter, was.scatter);
	ck_assert_uint_eq(lease->scatter_length, was.scatter_length);
}

struct errand {
	lend_arena *arena;
	struct lend_team lease;
	int error;
};

static void
run_errand(size_t index, void *ctx)
{
	struct errand *errand = ctx;

	(void)index;
	errand->error = lend_team_panel(errand->arena, &errand->lease, 8192);
	if (errand->error)
		return;
	pattern_write(errand->lease.panel, 8192, 3);
	errand->error = lend_team_return(errand->arena, &errand->lease);
}

/* "Any thread may return a team loan", and use it before. */
START_TEST(another_thread_may_return_it)
{
	lend_arena *arena = arena_of(NULL);
	struct errand errand = { .arena = arena, .lease = take(arena, &some) };

	crew_run(1, run_errand, &errand);
	ck_assert_int_eq(errand.error, 0);
	ck_assert_uint_eq(stats_of(arena).sets_idle, 1);
	stats_settled(arena);
	assert_refused(arena, &errand.lease, -EALREADY);
	arena_end(arena);
}
END_TEST

/* "Once": a second return, also of a copy, is refused; so is any use. */
START_TEST(a_second_return_is_refused)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease = take(arena, &some), copy = lease;

	give_back(arena, &copy);
	assert_refused(arena, &lease, -EALREADY);
	assert_refused(arena, &copy, -EALREADY);
	arena_end(arena);
}
END_TEST

/* The set is lent again: the old lease has no say in the new one. */
START_TEST(an_old_lease_does_not_end_a_new_one)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team old = take(arena, &some), lease;

	for (int i = 0; i < 10; i++) {
		give_back(arena, &old);
		lease = take(arena, &some);
		ck_assert_ptr_eq(lease.scatter, old.scatter);
		assert_refused(arena, &old, -EALREADY);
		ck_assert_uint_eq(stats_of(arena).sets_out, 1);
		old = lease;
	}
	/* Nor after its storage was trimmed away. */
	give_back(arena, &lease);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	assert_refused(arena, &lease, -EALREADY);
	arena_end(arena);
}
END_TEST

START_TEST(a_lease_of_another_arena_is_refused)
{
	lend_arena *arena = arena_of(NULL), *other = arena_of(NULL);
	struct lend_team lease = take(arena, &some);

	assert_refused(other, &lease, -EXDEV);
	/* Where the other one has such a loan as well. */
	struct lend_team second = take(other, &some);

	assert_refused(other, &lease, -EXDEV);
	assert_refused(arena, &second, -EXDEV);
	give_back(arena, &lease);
	give_back(other, &second);
	arena_end(arena);
	/* Of one that is gone, whose place another one has. */
	arena = arena_of(NULL);
	assert_refused(arena, &lease, -EXDEV);
	arena_end(arena);
	arena_end(other);
}
END_TEST

START_TEST(what_is_no_lease_is_refused)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team none, lease = take(arena, &some);

	memset(&none, 0, sizeof(none));
	assert_refused(arena, &none, -EALREADY);
	assert_all(try_all(arena, NULL), -EINVAL);
	assert_all(try_all(NULL, &lease), -EINVAL);
	ck_assert_uint_eq(stats_of(arena).sets_out, 1);
	give_back(arena, &lease);
	arena_end(arena);
}
END_TEST

struct race {
	struct instep step;
	lend_arena *arena;
	unsigned rounds;
	struct lend_team lease;		/* of the present round */
	unsigned won[2], lost[2];
	int error;
};

static void
race_main(size_t index, void *ctx)
{
	struct race *race = ctx;

	instep_begin(index);
	for (unsigned round = 0; round < race->rounds; round++) {
		struct lend_team copy;
		int error;

		if (index == 0)
			race->error |= lend_team_take(race->arena, &some, 1,
						      1, &race->lease);
		instep_meet(&race->step);
		copy = race->lease;
		instep_delay(index, round);
		error = lend_team_return(race->arena, &copy);
		race->won[index] += error == 0;
		race->lost[index] += error == -EALREADY;
		instep_meet(&race->step);
	}
}

/* "Any thread may return a team loan, once": of two at once, one does. */
START_TEST(of_two_returns_at_once_one_succeeds)
{
	struct race race = {
		.arena = arena_of(NULL),
		.rounds = scale(20000),
	};
	struct lend_team second;

	crew_run(2, race_main, &race);
	ck_assert_int_eq(race.error, 0);
	ck_assert_uint_eq(race.won[0] + race.won[1], race.rounds);
	ck_assert_uint_eq(race.lost[0] + race.lost[1], race.rounds);
	ck_assert_uint_eq(stats_of(race.arena).sets_idle, 1);
	/* It is on the stack once: the next two takes get two sets. */
	race.lease = take(race.arena, &some);
	second = take(race.arena, &some);
	ck_assert_ptr_ne(second.scatter, race.lease.scatter);
	give_back(race.arena, &second);
	give_back(race.arena, &race.lease);
	stats_settled(race.arena);
	arena_end(race.arena);
}
END_TEST

static void
assert_take_refused(lend_arena *arena, const struct lend_req *req, size_t pm,
		    size_t pn, int error)
{
	struct lend_stats before = stats_of(arena), after;
	struct fault_counts counts = fault_counts(), counts_after;
	struct lend_team lease;

	ck_assert_int_eq(lend_team_take(arena, req, pm, pn, &lease), error);
	after = stats_of(arena);
	stats_same(&before, &after);
	counts_after = fault_counts();
	counts_same(&counts, &counts_after);
}

static void
assert_bad_takes(lend_arena *arena)
{
	struct lend_team lease;
	struct lend_req req;

	assert_take_refused(arena, &some, 0, 1, -EINVAL);
	assert_take_refused(arena, &some, 1, 0, -EINVAL);
	assert_take_refused(arena, NULL, 1, 1, -EINVAL);
	ck_assert_int_eq(lend_team_take(arena, &some, 1, 1, NULL), -EINVAL);
	ck_assert_int_eq(lend_team_take(NULL, &some, 1, 1, &lease), -EINVAL);
	/* More parties than a barrier can count. */
	assert_take_refused(arena, &some, (size_t)UINT32_MAX + 1, 1,
			    -EOVERFLOW);
	assert_take_refused(arena, &some, SIZE_MAX, 1, -EOVERFLOW);
	/* Sizes that wrap, and sizes that are merely impossible. */
	req = team_req(SIZE_MAX / 8 + 2, 1);
	assert_take_refused(arena, &req, 1, 1, -EOVERFLOW);
	req = team_req(SIZE_MAX, 0);
	assert_take_refused(arena, &req, 1, 1, -EOVERFLOW);
	req = team_req(SIZE_MAX / 16 + 1, 0);
	assert_take_refused(arena, &req, 1, 1, -EOVERFLOW);
	req = team_req(1, SIZE_MAX / 64 + 2);
	assert_take_refused(arena, &req, 1, 1, -EOVERFLOW);
	req = team_req(0, SIZE_MAX / 64);
	assert_take_refused(arena, &req, 1, 1, -EOVERFLOW);
}

/* "Bad input is -EINVAL or -EOVERFLOW before anything changes": a set idle. */
START_TEST(bad_takes_leave_an_idle_set_alone)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease = take(arena, &some);

	give_back(arena, &lease);
	assert_bad_takes(arena);
	arena_end(arena);
}
END_TEST

/* The same where there is no set: none is made. */
START_TEST(bad_takes_make_no_set)
{
	lend_arena *arena = arena_of(NULL);

	assert_bad_takes(arena);
	ck_assert_uint_eq(stats_of(arena).sets_idle, 0);
	arena_end(arena);
}
END_TEST

START_TEST(bad_sizes_leave_the_loan_alone)
{
	static const size_t bad[] = { SIZE_MAX, SIZE_MAX / 2 + 1 };
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease = take(arena, &some), was;
	struct lend_stats before, after;

	ck_assert_int_eq(lend_team_panel(arena, &lease, 4096), 0);
	before = stats_of(arena);
	was = lease;
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(lend_team_panel(arena, &lease, bad[i]),
				 -EOVERFLOW);
		ck_assert_int_eq(lend_team_scatter_resize(arena, &lease,
							  bad[i]),
				 -EOVERFLOW);
		ck_assert_int_eq(lend_team_scatter_resize(arena, &lease,
							  bad[i] / 8 + 1),
				 -EOVERFLOW);
		ck_assert_mem_eq(&lease, &was, sizeof(lease));
	}
	after = stats_of(arena);
	stats_same(&before, &after);
	give_back(arena, &lease);
	arena_end(arena);
}
END_TEST

/*
 * "If preparing fails, the set is returned or released whole, accounts
 * settled": the set that was idle is lent as it was.
 */
START_TEST(a_take_that_fails_leaves_the_set_whole)
{
	struct lend_req more = team_req(5000, 500);
	lend_arena *arena = arena_of(NULL);
	struct lend_team was = take(arena, &some), lease;
	unsigned long failures = 0;

	give_back(arena, &was);
	for (unsigned long n = 1;; n++) {
		struct lend_stats before = stats_of(arena), after;
		int error;

		fault_fail_nth(FAULT_ANY, n);
		error = lend_team_take(arena, &more, 2, 2, &lease);
		if (fault_pending()) {
			ck_assert_int_eq(error, 0);
			break;
		}
		failures++;
		ck_assert_int_eq(error, -ENOMEM);
		after = stats_of(arena);
		stats_same(&before, &after);
		stats_settled(arena);
		lease = take(arena, &some);
		ck_assert_ptr_eq(lease.scatter, was.scatter);
		ck_assert_ptr_eq(lend_team_barrier(&lease, 0),
				 lend_team_barrier(&was, 0));
		ck_assert_uint_eq(lease.scatter_capacity,
				  was.scatter_capacity);
		give_back(arena, &lease);
	}
	fault_fail_nth(0, 0);
	/* The scatter vector and the barriers. */
	ck_assert_uint_eq(failures, 2);
	ck_assert_uint_eq(lease.barriers, 500);
	give_back(arena, &lease);
	arena_end(arena);
}
END_TEST

/* Without memory for a new set, there is none; later there is. */
START_TEST(a_first_take_that_fails_leaves_nothing_out)
{
	unsigned long failures = 0;

	for (unsigned long n = 1;; n++) {
		lend_arena *arena = arena_of(NULL);
		struct lend_team lease;
		int error;

		fault_fail_nth(FAULT_ANY, n);
		error = lend_team_take(arena, &some, 2, 2, &lease);
		if (!fault_pending()) {
			ck_assert_int_eq(error, -ENOMEM);
			failures++;
			stats_settled(arena);
			ck_assert_uint_eq(outstanding(), 0);
			ck_assert_uint_le(stats_of(arena).sets_idle, 1);
			lease = take(arena, &some);
			error = 1;
		}
		fault_fail_nth(0, 0);
		ck_assert_uint_eq(stats_of(arena).sets_out, 1);
		give_back(arena, &lease);
		ck_assert_uint_eq(stats_of(arena).sets_idle, 1);
		arena_end(arena);
		if (error == 0)
			break;
	}
	/* The set, its scatter vector, its barriers. */
	ck_assert_uint_eq(failures, 3);
}
END_TEST

/* A growth during the loan that fails: the loan is as it was. */
START_TEST(a_growth_that_fails_leaves_the_loan_whole)
{
	lend_arena *arena = arena_traced();
	struct lend_team lease = take(arena, &some), was;
	struct lend_stats before, after;

	ck_assert_int_eq(lend_team_panel(arena, &lease, 8192), 0);
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 100), 0);
	pattern_write(lease.panel, 8192, 1);
	pattern_write(lease.scatter, 100 * 8, 2);
	was = lease;
	before = stats_of(arena);
	fault_fail_all(FAULT_ANY);
	ck_assert_int_eq(lend_team_panel(arena, &lease, 1 << 20), -ENOMEM);
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 100000),
			 -ENOMEM);
	lease.scatter_length = 100;
	fault_fail_all(0);
	after = stats_of(arena);
	stats_same(&before, &after);
	ck_assert_mem_eq(&lease, &was, sizeof(lease));
	ck_assert(pattern_holds(lease.panel, 8192, 1));
	ck_assert(pattern_holds(lease.scatter, 100 * 8, 2));
	/* To shrink wants a smaller extent first. */
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 20000), 0);
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 100), 0);
	was = lease;
	fault_fail_all(FAULT_ANY);
	ck_assert_int_eq(lend_team_scatter_shrink(arena, &lease), -ENOMEM);
	fault_fail_all(0);
	ck_assert_mem_eq(&lease, &was, sizeof(lease));
	ck_assert(pattern_holds(lease.scatter, 100 * 8, 2));
	give_back(arena, &lease);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("team returns");
	TCase *once = watched_case(suite, "once");
	TCase *bad = watched_case(suite, "bad");
	TCase *failure = watched_case(suite, "failure");

	tcase_add_test(once, another_thread_may_return_it);
	tcase_add_test(once, a_second_return_is_refused);
	tcase_add_test(once, an_old_lease_does_not_end_a_new_one);
	tcase_add_test(once, a_lease_of_another_arena_is_refused);
	tcase_add_test(once, what_is_no_lease_is_refused);
	tcase_add_test(once, of_two_returns_at_once_one_succeeds);
	tcase_add_test(bad, bad_takes_leave_an_idle_set_alone);
	tcase_add_test(bad, bad_takes_make_no_set);
	tcase_add_test(bad, bad_sizes_leave_the_loan_alone);
	tcase_add_test(failure, a_take_that_fails_leaves_the_set_whole);
	tcase_add_test(failure, a_first_take_that_fails_leaves_nothing_out);
	tcase_add_test(failure, a_growth_that_fails_leaves_the_loan_whole);
	return suite_run(suite);
}
