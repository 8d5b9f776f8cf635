/* SPDX-License-Identifier: MIT */
/*
 * Worker loans: the callback form, which returns the slot whatever ends the
 * callback.  (A C++ exception: test_cxx.cc.)
 *
 * A loan that was left out would be settled at its thread's end and counted
 * as abandoned; so none may be.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lend/lend.h"
#include "support/loans.h"
#include "support/suite.h"

static const struct lend_req request = {
	.a_bytes = 10000, .tile_bytes = 5000, .worker_scatter = 700
};

/* How a callback at the given depth ends. */
enum ending {
	RETURNS,
	EXITS,			/* pthread_exit */
	IS_CANCELLED,		/* at a cancellation point: a wait */
	CANCELS_ITSELF,
	ENDINGS
};

struct play {
	lend_arena *arena;
	int depth;		/* of nested calls, 1: one alone */
	enum ending ending;	/* of the innermost */
	bool resizes;		/* each grows its scratch first */
	int level;		/* so many are running */
	int errors;
	int results;		/* of the calls that returned, or-ed */
	int calls;
	int unwound;		/* cleanups of the callbacks that ran */
	sem_t inside;		/* the innermost has come to its end */
	sem_t never;
	struct lend_stats around; /* after the outermost, on that thread */
	size_t outstanding;
};

static void
note_unwound(void *arg)
{
	((struct play *)arg)->unwound++;
}

static void
end(struct play *play)
{
	sem_post(&play->inside);
	switch (play->ending) {
	case EXITS:
		pthread_exit(play);
	case IS_CANCELLED:
		for (;;)
			sem_wait(&play->never);
	case CANCELS_ITSELF:
		pthread_cancel(pthread_self());
		pthread_testcancel();
		play->errors++;
		break;
	default:
		break;
	}
}

static void
act(struct lend_worker *loan, void *ctx)
{
	struct play *play = ctx;

	play->calls++;
	use(loan, &request);
	play->errors += loan->scatter_length != 0;
	if (play->resizes)
		play->errors += lend_worker_scatter_resize(play->arena, loan,
							   100000) != 0;
	pthread_cleanup_push(note_unwound, play);
	if (++play->level < play->depth)
		play->results |= lend_with_worker(play->arena, &request, act,
						  play);
	else
		end(play);
	pthread_cleanup_pop(1);
	play->level--;
}

static void
look_around(void *arg)
{
	struct play *play = arg;

	play->around = stats_of(play->arena);
	play->outstanding = outstanding();
}

static void *
perform(void *arg)
{
	struct play *play = arg;

	/* Runs when the outermost call is over, in whatever way. */
	pthread_cleanup_push(look_around, play);
	play->results |= lend_with_worker(play->arena, &request, act, play);
	pthread_cleanup_pop(1);
	return NULL;
}

static void
play_begin(struct play *play, enum ending ending, int depth)
{
	memset(play, 0, sizeof(*play));
	play->arena = arena_new();
	play->ending = ending;
	play->depth = depth;
	sem_init(&play->inside, 0, 0);
	sem_init(&play->never, 0, 0);
}

/* On a thread of its own; what its end looked like. */
static void *
play_run(struct play *play)
{
	pthread_t thread;
	void *result;

	ck_assert_int_eq(pthread_create(&thread, NULL, perform, play), 0);
	if (play->ending == IS_CANCELLED) {
		while (sem_wait(&play->inside))
			;
		ck_assert_uint_eq(stats_of(play->arena).slots_out, 1);
		ck_assert_int_eq(pthread_cancel(thread), 0);
	}
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	return result;
}

static void
play_end(struct play *play)
{
	ck_assert_int_eq(play->errors, 0);
	ck_assert_int_eq(play->results, 0);
	ck_assert_int_eq(play->calls, play->depth);
	ck_assert_int_eq(play->unwound, play->depth);
	/* Already when the call was over, not only when the thread was. */
	ck_assert_uint_eq(play->around.slots_out, 0);
	ck_assert_uint_eq(play->around.slots_idle, 1);
	ck_assert_uint_eq(play->around.leased_bytes, 0);
	/* Nested loans' storage is freed, the slot's kept. */
	ck_assert_uint_eq(play->around.retained_bytes, play->outstanding);
	ck_assert_uint_eq(play->around.reentrant, (uint64_t)play->depth - 1);
	ck_assert_uint_eq(stats_of(play->arena).abandoned, 0);
	stats_settled(play->arena);
	arena_end(play->arena);
	sem_destroy(&play->inside);
	sem_destroy(&play->never);
}

/* _i: an ending. */
START_TEST(the_slot_is_returned_whatever_ends_the_callback)
{
	struct play play;
	void *result;

	play_begin(&play, (enum ending)_i, 1);
	result = play_run(&play);
	ck_assert_ptr_eq(result, _i == RETURNS ? NULL : _i == EXITS ?
			 (void *)&play : PTHREAD_CANCELED);
	play_end(&play);
}
END_TEST

/* However deep: all of them are returned on the way out. */
START_TEST(nested_slots_are_returned_whatever_ends_it)
{
	struct play play;

	play_begin(&play, (enum ending)_i, 12);
	play_run(&play);
	play_end(&play);
}
END_TEST

/* A scratch that grew in the meantime is settled, too. */
START_TEST(growth_is_settled_whatever_ends_the_callback)
{
	struct play play;

	play_begin(&play, (enum ending)_i, 3);
	play.resizes = true;
	play_run(&play);
	ck_assert_uint_ge(play.around.retained_bytes, 800000);
	play_end(&play);
}
END_TEST

/* The loan is as a checkout gives it, and the slot's next one is the same. */
struct record {
	lend_arena *arena;
	struct lend_worker loan;
	struct lend_stats inside;
	int calls;
};

static void
record_loan(struct lend_worker *loan, void *ctx)
{
	struct record *record = ctx;

	use(loan, &request);
	record->loan = *loan;
	record->inside = stats_of(record->arena);
	record->calls++;
}

START_TEST(the_callback_gets_a_loan_like_any_other)
{
	struct record record = { .arena = arena_new() };
	struct lend_worker loan;

	ck_assert_int_eq(lend_with_worker(record.arena, &request, record_loan,
					  &record), 0);
	ck_assert_int_eq(record.calls, 1);
	ck_assert_uint_eq((uintptr_t)record.loan.a % 4096, 0);
	ck_assert_uint_eq(record.inside.slots_out, 1);
	ck_assert_uint_eq(record.inside.leased_bytes,
			  record.inside.retained_bytes);
	ck_assert_uint_gt(record.inside.leased_bytes, 15000);
	stats_settled(record.arena);
	/* Over: its handle is stale. */
	ck_assert_int_eq(lend_worker_return(record.arena, &record.loan),
			 -EALREADY);
	loan = checkout(record.arena, &request);
	ck_assert_ptr_eq(loan.a, record.loan.a);
	/* Within another loan of the thread it is a nested one. */
	ck_assert_int_eq(lend_with_worker(record.arena, &request, record_loan,
					  &record), 0);
	ck_assert_ptr_ne(record.loan.a, loan.a);
	ck_assert_uint_eq(record.inside.reentrant, 1);
	returned(record.arena, &loan);
	stats_settled(record.arena);
	arena_end(record.arena);
}
END_TEST

static void
return_it(struct lend_worker *loan, void *ctx)
{
	struct record *record = ctx;

	record->calls += lend_worker_return(record->arena, loan) == 0;
}

/* A callback that has returned the loan itself does no harm. */
START_TEST(the_callback_may_return_the_loan_itself)
{
	struct record record = { .arena = arena_new() };
	struct lend_worker outer;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(lend_with_worker(record.arena, &request,
						  return_it, &record), 0);
		stats_settled(record.arena);
	}
	outer = checkout(record.arena, &request);
	ck_assert_int_eq(lend_with_worker(record.arena, &request, return_it,
					  &record), 0);
	ck_assert_int_eq(record.calls, 4);
	returned(record.arena, &outer);
	stats_settled(record.arena);
	arena_end(record.arena);
}
END_TEST

static void
swap_it(struct lend_worker *loan, void *ctx)
{
	struct record *record = ctx;

	record->calls += lend_worker_return(record->arena, loan) == 0;
	record->calls += lend_worker_checkout(record->arena, &request,
					      &record->loan) == 0;
}

/* One that it took instead stays out: it is not the one that was lent. */
START_TEST(a_loan_that_the_callback_took_stays_out)
{
	struct record record = { .arena = arena_new() };

	ck_assert_int_eq(lend_with_worker(record.arena, &request, swap_it,
					  &record), 0);
	ck_assert_int_eq(record.calls, 2);
	ck_assert_uint_eq(stats_of(record.arena).slots_out, 1);
	use(&record.loan, &request);
	returned(record.arena, &record.loan);
	stats_settled(record.arena);
	arena_end(record.arena);
}
END_TEST

/* After an error the callback has not run, and nothing has changed. */
START_TEST(errors_come_before_the_callback)
{
	struct lend_req huge = worker_req(SIZE_MAX, 0, 0);
	struct record record = { .arena = arena_new() };
	struct lend_worker loan = checkout(record.arena, &request);
	struct lend_stats before, after;

	returned(record.arena, &loan);
	before = stats_of(record.arena);
	ck_assert_int_eq(lend_with_worker(record.arena, &request, NULL, NULL),
			 -EINVAL);
	ck_assert_int_eq(lend_with_worker(record.arena, NULL, record_loan,
					  &record), -EINVAL);
	ck_assert_int_eq(lend_with_worker(NULL, &request, record_loan,
					  &record), -EINVAL);
	ck_assert_int_eq(lend_with_worker(record.arena, &huge, record_loan,
					  &record), -EOVERFLOW);
	ck_assert_int_eq(record.calls, 0);
	after = stats_of(record.arena);
	stats_same(&before, &after);
	stats_settled(record.arena);
	arena_end(record.arena);
}
END_TEST

static void *given = &given;

static void
note_context(struct lend_worker *loan, void *ctx)
{
	(void)loan;
	given = ctx;
}

/* The context is handed on as it is, null as well. */
START_TEST(the_context_is_handed_on)
{
	lend_arena *arena = arena_new();

	ck_assert_int_eq(lend_with_worker(arena, &request, note_context,
					  NULL), 0);
	ck_assert_ptr_null(given);
	ck_assert_int_eq(lend_with_worker(arena, &request, note_context,
					  &given), 0);
	ck_assert_ptr_eq(given, &given);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("worker_with");
	TCase *ending = watched_case(suite, "ending");
	TCase *loan = watched_case(suite, "loan");

	tcase_add_loop_test(ending,
			    the_slot_is_returned_whatever_ends_the_callback,
			    0, ENDINGS);
	tcase_add_loop_test(ending,
			    nested_slots_are_returned_whatever_ends_it,
			    0, ENDINGS);
	tcase_add_loop_test(ending,
			    growth_is_settled_whatever_ends_the_callback, 0,
			    ENDINGS);
	tcase_add_test(loan, the_callback_gets_a_loan_like_any_other);
	tcase_add_test(loan, the_callback_may_return_the_loan_itself);
	tcase_add_test(loan, a_loan_that_the_callback_took_stays_out);
	tcase_add_test(loan, errors_come_before_the_callback);
	tcase_add_test(loan, the_context_is_handed_on);
	return suite_run_also(suite, confs);
}
