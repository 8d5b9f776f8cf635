/* SPDX-License-Identifier: MIT */
/* Threads come and go: whose slot is whose, and what a thread leaves. */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "lend/lend.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/suite.h"

static const struct lend_req request = {
	.a_bytes = 65536, .tile_bytes = 16384, .worker_scatter = 1024
};

/* What a slot holds after that request. */
#define SLOT_STORAGE ((size_t)65536 + 16384 + 8192)

/* A loan of a thread that then ends. */
struct visit {
	lend_arena *arena;
	struct lend_worker loan;
	int errors;
};

static void *
visit(void *arg)
{
	struct visit *visit = arg;

	visit->errors = lend_worker_checkout(visit->arena, &request,
					     &visit->loan) != 0;
	if (visit->errors)
		return NULL;
	use(&visit->loan, &request);
	visit->errors = lend_worker_return(visit->arena, &visit->loan) != 0;
	return NULL;
}

/* An idle slot stays with its arena and goes to the next new thread. */
START_TEST(the_next_thread_gets_an_idle_slot_with_its_buffers)
{
	struct visit first = { .arena = arena_new() }, next = first;
	struct lend_stats stats;
	size_t allocs;

	in_thread(visit, &first);
	ck_assert_int_eq(first.errors, 0);
	stats = stats_of(first.arena);
	ck_assert_uint_eq(stats.slots_idle, 1);
	ck_assert_uint_eq(stats.retained_bytes, SLOT_STORAGE);
	ck_assert_uint_eq(stats.adopted, 0);
	allocs = fault_counts().extent_allocs;
	for (uint64_t i = 1; i <= 20; i++) {
		in_thread(visit, &next);
		ck_assert_int_eq(next.errors, 0);
		ck_assert_ptr_eq(next.loan.a, first.loan.a);
		ck_assert_ptr_eq(next.loan.tile, first.loan.tile);
		ck_assert_ptr_eq(next.loan.scatter, first.loan.scatter);
		stats = stats_of(first.arena);
		ck_assert_uint_eq(stats.slots_idle, 1);
		ck_assert_uint_eq(stats.adopted, i);
	}
	ck_assert_uint_eq(fault_counts().extent_allocs, allocs);
	ck_assert_uint_eq(stats.abandoned, 0);
	stats_settled(first.arena);
	arena_end(first.arena);
}
END_TEST

/* A slot whose thread lives is nobody else's, idle though it may be. */
START_TEST(the_slot_of_a_living_thread_is_not_given_away)
{
	struct visit other = { .arena = arena_new() };
	struct lend_worker loan = checkout(other.arena, &request);

	returned(other.arena, &loan);
	in_thread(visit, &other);
	ck_assert_int_eq(other.errors, 0);
	ck_assert_ptr_ne(other.loan.a, loan.a);
	ck_assert_uint_eq(stats_of(other.arena).slots_idle, 2);
	ck_assert_uint_eq(stats_of(other.arena).adopted, 0);
	arena_end(other.arena);
}
END_TEST

/* After a trim, too, the slot is adopted; its buffers are grown anew. */
START_TEST(a_trimmed_slot_is_adopted)
{
	struct visit first = { .arena = arena_new() }, next = first;
	struct lend_stats stats;

	in_thread(visit, &first);
	ck_assert_int_eq(lend_arena_trim(first.arena), 0);
	ck_assert_uint_eq(outstanding(), 0);
	in_thread(visit, &next);
	ck_assert_int_eq(next.errors, 0);
	stats = stats_of(first.arena);
	ck_assert_uint_eq(stats.adopted, 1);
	ck_assert_uint_eq(stats.slots_idle, 1);
	ck_assert_uint_eq(stats.retained_bytes, SLOT_STORAGE);
	arena_end(first.arena);
}
END_TEST

/* A thread that ends while it holds loans: in two arenas, nested, grown. */
struct leaver {
	lend_arena *one, *two;
	bool exits;
	struct lend_worker in_one[4], in_two;
	int errors;
};

static void *
leave_loans(void *arg)
{
	struct leaver *leaver = arg;

	for (int i = 0; i < 4; i++) {
		leaver->errors += lend_worker_checkout(leaver->one, &request,
						       &leaver->in_one[i]) != 0;
		use(&leaver->in_one[i], &request);
	}
	leaver->errors += lend_worker_checkout(leaver->two, &request,
					       &leaver->in_two) != 0;
	/* More than the account says while it is out. */
	leaver->errors += lend_worker_scatter_resize(leaver->two,
						     &leaver->in_two,
						     100000) != 0;
	leaver->errors += lend_worker_scatter_resize(leaver->one,
						     &leaver->in_one[2],
						     100000) != 0;
	if (leaver->exits)
		pthread_exit(NULL);
	return NULL;
}

static void
assert_left_loans_are_over(struct leaver *leaver)
{
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(lend_worker_return(leaver->one,
						    &leaver->in_one[i]),
				 -EALREADY);
	ck_assert_int_eq(lend_worker_return(leaver->two, &leaver->in_two),
			 -EALREADY);
}

/*
 * A loan that is still out when its thread ends is settled then, and counted
 * as abandoned, nested ones too.
 */
START_TEST(loans_left_out_are_settled_and_counted)
{
	struct leaver leaver = {
		.one = arena_new(), .two = arena_new(), .exits = _i
	};
	struct visit next = { .arena = leaver.one };
	struct lend_worker own[2];
	struct lend_stats one, two;

	in_thread(leave_loans, &leaver);
	ck_assert_int_eq(leaver.errors, 0);
	one = stats_of(leaver.one);
	two = stats_of(leaver.two);
	ck_assert_uint_eq(one.abandoned, 4);
	ck_assert_uint_eq(two.abandoned, 1);
	ck_assert_uint_eq(one.slots_out + two.slots_out, 0);
	ck_assert_uint_eq(one.leased_bytes + two.leased_bytes, 0);
	/* The slots' storage stays, the nested loans' is gone. */
	ck_assert_uint_eq(one.retained_bytes, SLOT_STORAGE);
	ck_assert_uint_eq(two.retained_bytes, SLOT_STORAGE - 8192 +
			  leaver.in_two.scatter_capacity * 8);
	ck_assert_uint_eq(outstanding(), one.retained_bytes +
			  two.retained_bytes);
	/* Nobody can return them any more, nor when the slot is out again. */
	assert_left_loans_are_over(&leaver);
	in_thread(visit, &next);
	ck_assert_int_eq(next.errors, 0);
	ck_assert_ptr_eq(next.loan.a, leaver.in_one[0].a);
	own[0] = checkout(leaver.one, &request);
	own[1] = checkout(leaver.one, &request);
	assert_left_loans_are_over(&leaver);
	returned(leaver.one, &own[1]);
	returned(leaver.one, &own[0]);
	ck_assert_uint_eq(stats_of(leaver.one).abandoned, 4);
	arena_end(leaver.one);
	arena_end(leaver.two);
}
END_TEST

/* A nested loan that is left when the slot's has been returned counts. */
static void *
leave_nested(void *arg)
{
	struct leaver *leaver = arg;

	for (int i = 0; i < 3; i++)
		leaver->errors += lend_worker_checkout(leaver->one, &request,
						       &leaver->in_one[i]) != 0;
	leaver->errors += lend_worker_return(leaver->one,
					     &leaver->in_one[0]) != 0;
	leaver->errors += lend_worker_return(leaver->one,
					     &leaver->in_one[2]) != 0;
	return NULL;
}

START_TEST(a_nested_loan_alone_is_settled)
{
	struct leaver leaver = { .one = arena_new() };

	in_thread(leave_nested, &leaver);
	ck_assert_int_eq(leaver.errors, 0);
	ck_assert_uint_eq(stats_of(leaver.one).abandoned, 1);
	stats_settled(leaver.one);
	arena_end(leaver.one);
}
END_TEST

/* The end of one thread does not touch the loans of another. */
START_TEST(others_loans_are_left_alone)
{
	struct leaver leaver = { .one = arena_new(), .two = arena_new() };
	struct lend_worker own[2];

	for (int i = 0; i < 2; i++) {
		own[i] = checkout(leaver.one, &request);
		pattern_write(own[i].a, request.a_bytes, (uint64_t)i);
	}
	in_thread(leave_loans, &leaver);
	ck_assert_int_eq(leaver.errors, 0);
	ck_assert_uint_eq(stats_of(leaver.one).abandoned, 4);
	ck_assert_uint_eq(stats_of(leaver.one).slots_out, 1);
	for (int i = 2; i-- > 0;) {
		ck_assert(pattern_holds(own[i].a, request.a_bytes,
					(uint64_t)i));
		returned(leaver.one, &own[i]);
	}
	arena_end(leaver.one);
	arena_end(leaver.two);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("thread");
	TCase *slot = watched_case(suite, "slot");
	TCase *left = watched_case(suite, "left");

	tcase_add_test(slot,
		       the_next_thread_gets_an_idle_slot_with_its_buffers);
	tcase_add_test(slot, the_slot_of_a_living_thread_is_not_given_away);
	tcase_add_test(slot, a_trimmed_slot_is_adopted);
	tcase_add_loop_test(left, loans_left_out_are_settled_and_counted, 0,
			    2);
	tcase_add_test(left, a_nested_loan_alone_is_settled);
	tcase_add_test(left, others_loans_are_left_alone);
	return suite_run_also(suite, confs);
}
