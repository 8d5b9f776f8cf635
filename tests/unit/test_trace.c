/* SPDX-License-Identifier: MIT */
/*
 * Trace records: which growth gives one, who gets them, in which order.  Many
 * threads at once are in test_trace_threads.c.
 */
#include "lend/arena.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/fault.h"
#include "support/loans.h"
#include "support/records.h"
#include "support/suite.h"

/* The kernel's, asked without the library. */
static pid_t
thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

static void
assert_record(size_t i, pid_t thread, enum lend_buffer buffer,
	      size_t capacity)
{
	ck_assert_int_eq(taken_record(i)->thread, thread);
	ck_assert_int_eq(taken_record(i)->buffer, buffer);
	ck_assert_uint_eq(taken_record(i)->capacity, capacity);
}

static void
lend_once(lend_arena *arena, size_t a, size_t tile, size_t scatter)
{
	struct lend_req req = worker_req(a, tile, scatter);
	struct lend_worker loan = checkout(arena, &req);

	checkin(arena, &loan);
}

/* "Which buffer (A, tile, panel) and the new capacity", oldest first. */
START_TEST(every_growth_of_a_page_buffer_is_recorded)
{
	lend_arena *arena = arena_traced();
	struct lend_team lease;
	pid_t me = thread_id();

	lend_once(arena, 0, 5000, 0);
	lend_once(arena, 5000, 0, 0);
	lend_once(arena, 5000, 5000, 0);	/* no growth */
	lend_once(arena, 9000, 0, 0);
	lease = take(arena, &(struct lend_req){ 0 });
	ck_assert_int_eq(lend_team_panel(arena, &lease, 1), 0);
	ck_assert_int_eq(lend_team_panel(arena, &lease, 4096), 0);
	ck_assert_int_eq(lend_team_panel(arena, &lease, 100000), 0);
	give_back(arena, &lease);
	ck_assert_uint_eq(taken(arena), 5);
	assert_record(0, me, LEND_BUFFER_TILE, 8192);
	assert_record(1, me, LEND_BUFFER_A, 8192);
	assert_record(2, me, LEND_BUFFER_A, 16384);
	assert_record(3, me, LEND_BUFFER_PANEL, 4096);
	assert_record(4, me, LEND_BUFFER_PANEL, 131072);
	arena_end(arena);
}
END_TEST

/* Two buffers that grow in one checkout: a record each. */
START_TEST(a_checkout_that_grows_both_gives_both)
{
	lend_arena *arena = arena_traced();

	lend_once(arena, 4096, 8192, 0);
	ck_assert_uint_eq(taken(arena), 2);
	assert_record(0, thread_id(), LEND_BUFFER_A, 4096);
	assert_record(1, thread_id(), LEND_BUFFER_TILE, 8192);
	arena_end(arena);
}
END_TEST

/* "Hands over this arena's records and leaves none." */
START_TEST(a_take_leaves_none)
{
	lend_arena *arena = arena_traced();
	size_t a = 4096;

	ck_assert_uint_eq(taken(arena), 0);
	for (int round = 1; round < 6; round++) {
		for (int i = 0; i < round; i++, a *= 2)
			lend_once(arena, a, 0, 0);
		ck_assert_uint_eq(taken(arena), (size_t)round);
		for (int i = 0; i < round; i++)
			assert_record((size_t)i, thread_id(), LEND_BUFFER_A,
				      a >> (round - i));
		ck_assert_uint_eq(taken(arena), 0);
	}
	arena_end(arena);
}
END_TEST

/* What was trimmed grows anew, and says so. */
START_TEST(what_grows_again_after_a_trim_is_recorded_again)
{
	lend_arena *arena = arena_traced();

	for (int i = 0; i < 3; i++) {
		lend_once(arena, 8192, 0, 0);
		ck_assert_uint_eq(taken(arena), 1);
		assert_record(0, thread_id(), LEND_BUFFER_A, 8192);
		ck_assert_int_eq(lend_arena_trim(arena), 0);
	}
	arena_end(arena);
}
END_TEST

/* "Another arena's are never seen." */
START_TEST(records_of_another_arena_are_not_seen)
{
	lend_arena *arena = arena_traced(), *other = arena_traced();

	lend_once(other, 4096, 0, 0);
	ck_assert_uint_eq(taken(arena), 0);
	lend_once(arena, 8192, 0, 0);
	lend_once(other, 16384, 0, 0);
	ck_assert_uint_eq(taken(arena), 1);
	assert_record(0, thread_id(), LEND_BUFFER_A, 8192);
	ck_assert_uint_eq(taken(other), 2);
	assert_record(0, thread_id(), LEND_BUFFER_A, 4096);
	assert_record(1, thread_id(), LEND_BUFFER_A, 16384);
	arena_end(arena);
	arena_end(other);
}
END_TEST

/* A page buffer that is kept: no scatter vector, no barrier, no nested loan. */
START_TEST(what_is_no_kept_page_buffer_is_not_recorded)
{
	lend_arena *arena = arena_traced();
	struct lend_req req = worker_req(4096, 0, 0);
	struct lend_req more = worker_req(65536, 65536, 1000);
	struct lend_worker loan = checkout(arena, &req), nested;
	struct lend_team lease;

	nested = checkout(arena, &more);
	ck_assert_int_eq(lend_worker_scatter_resize(arena, &nested, 50000),
			 0);
	ck_assert_int_eq(lend_worker_scatter_resize(arena, &loan, 50000), 0);
	checkin(arena, &nested);
	checkin(arena, &loan);
	more = team_req(1000, 1000);
	lease = take(arena, &more);
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 50000), 0);
	ck_assert_int_eq(lend_team_scatter_shrink(arena, &lease), 0);
	give_back(arena, &lease);
	lend_once(arena, 0, 0, 100000);
	ck_assert_uint_eq(taken(arena), 1);
	assert_record(0, thread_id(), LEND_BUFFER_A, 4096);
	arena_end(arena);
}
END_TEST

/* A growth that did not happen: no memory, for whichever part; no room. */
START_TEST(a_growth_that_fails_is_not_recorded)
{
	static const struct {
		unsigned kinds;
		unsigned long nth;
	} faults[] = {
		/* The records; the first extent; the second. */
		{ FAULT_PAGES, 1 }, { FAULT_EXTENT, 1 }, { FAULT_EXTENT, 2 },
	};
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct lend_req req = worker_req(65536, 65536, 0);
	struct lend_worker loan;
	lend_arena *arena;

	options.trace = true;
	options.limit = 4 * 65536;
	arena = arena_of(&options);
	/* The slot and its descriptor are there. */
	lend_once(arena, 0, 0, 0);
	for (int i = 0; i < 3; i++) {
		fault_fail_nth(faults[i].kinds, faults[i].nth);
		ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan),
				 -ENOMEM);
		ck_assert(!fault_pending());
		ck_assert_uint_eq(taken(arena), 0);
	}
	loan = checkout(arena, &req);
	checkin(arena, &loan);
	ck_assert_uint_eq(taken(arena), 2);
	req.a_bytes = 8 * 65536;
	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan), -EDQUOT);
	req.a_bytes = SIZE_MAX;
	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan),
			 -EOVERFLOW);
	ck_assert_uint_eq(taken(arena), 0);
	arena_end(arena);
}
END_TEST

/* Pages that many growths of a page buffer take, beyond the first ones. */
static size_t
pages_for_growths(const struct lend_arena_options *options)
{
	lend_arena *arena = arena_of(options);
	size_t before, after;

	lend_once(arena, 4096, 0, 0);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	before = fault_counts().pages_allocs;
	for (int i = 0; i < 1000; i++) {
		lend_once(arena, 8192, 4096, 0);
		ck_assert_int_eq(lend_arena_trim(arena), 0);
	}
	after = fault_counts().pages_allocs;
	ck_assert_uint_eq(stats_of(arena).growths, 2001);
	arena_end(arena);
	return after - before;
}

/* "Tracing is off by default and then costs nothing": no record is made. */
START_TEST(tracing_is_off_by_default)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	lend_arena *arena = arena_of(NULL);

	lend_once(arena, 4096, 4096, 0);
	ck_assert_uint_eq(taken(arena), 0);
	arena_end(arena);
	ck_assert_uint_eq(pages_for_growths(NULL), 0);
	ck_assert_uint_eq(pages_for_growths(&options), 0);
	options.trace = true;
	ck_assert_uint_ge(pages_for_growths(&options), 1);
}
END_TEST

/* "Records die with the arena": their memory, and what they say. */
START_TEST(records_die_with_their_arena)
{
	lend_arena *first = arena_of(NULL), *arena;
	size_t before;

	/* The thread's table and the directory have their pages. */
	lend_once(first, 0, 0, 0);
	lend_once(arena = arena_traced(), 0, 0, 0);
	arena_end(arena);
	before = fault_counts().pages_bytes;
	for (int i = 0; i < 3; i++) {
		arena = arena_traced();
		ck_assert_uint_eq(taken(arena), 0);
		for (int k = 0; k < 500; k++) {
			lend_once(arena, 4096, 4096, 0);
			ck_assert_int_eq(lend_arena_trim(arena), 0);
		}
		arena_end(arena);
		ck_assert_uint_eq(fault_counts().pages_bytes, before);
	}
	arena_end(first);
}
END_TEST

/* Records that were taken are used again: a drained trace does not grow. */
START_TEST(a_trace_that_is_drained_does_not_grow)
{
	lend_arena *arena = arena_traced();
	size_t before = 0;

	for (int i = 0; i < 2000; i++) {
		lend_once(arena, 4096, 4096, 0);
		ck_assert_uint_eq(taken(arena), 2);
		ck_assert_int_eq(lend_arena_trim(arena), 0);
		if (i == 0)
			before = fault_counts().pages_allocs;
	}
	ck_assert_uint_eq(fault_counts().pages_allocs, before);
	arena_end(arena);
}
END_TEST

/* Whoever is handed a record may use the arena: it is traced as ever. */
static void
grow_meanwhile(const struct lend_trace_record *record, void *ctx)
{
	lend_arena *arena = ctx;
	struct lend_req req = worker_req(2 * record->capacity, 0, 0);
	struct lend_worker loan;

	if (lend_worker_checkout(arena, &req, &loan) == 0)
		(void)lend_worker_return(arena, &loan);
}

START_TEST(the_taker_may_use_the_arena)
{
	lend_arena *arena = arena_traced();

	lend_once(arena, 4096, 0, 0);
	lend_once(arena, 8192, 0, 0);
	ck_assert_int_eq(lend_trace_take(arena, grow_meanwhile, arena), 2);
	ck_assert_uint_eq(taken(arena), 1);
	assert_record(0, thread_id(), LEND_BUFFER_A, 16384);
	arena_end(arena);
}
END_TEST

START_TEST(null_is_refused)
{
	lend_arena *arena = arena_traced();

	lend_once(arena, 4096, 0, 0);
	ck_assert_int_eq(lend_trace_take(NULL, grow_meanwhile, arena), -EINVAL);
	ck_assert_int_eq(lend_trace_take(arena, NULL, NULL), -EINVAL);
	ck_assert_uint_eq(taken(arena), 1);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("trace");
	TCase *record = watched_case(suite, "record");
	TCase *life = watched_case(suite, "life");

	tcase_add_test(record, every_growth_of_a_page_buffer_is_recorded);
	tcase_add_test(record, a_checkout_that_grows_both_gives_both);
	tcase_add_test(record, a_take_leaves_none);
	tcase_add_test(record,
		       what_grows_again_after_a_trim_is_recorded_again);
	tcase_add_test(record, records_of_another_arena_are_not_seen);
	tcase_add_test(record, what_is_no_kept_page_buffer_is_not_recorded);
	tcase_add_test(record, a_growth_that_fails_is_not_recorded);
	tcase_add_test(life, tracing_is_off_by_default);
	tcase_add_test(life, records_die_with_their_arena);
	tcase_add_test(life, a_trace_that_is_drained_does_not_grow);
	tcase_add_test(life, the_taker_may_use_the_arena);
	tcase_add_test(life, null_is_refused);
	return suite_run(suite);
}
