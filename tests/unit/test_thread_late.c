/* SPDX-License-Identifier: MIT */
/*
 * Late destructors: those of a program's own thread keys, which run beside
 * the library's when a thread ends, and may want to work with an arena.
 *
 * The C library runs them in rounds, in each of them in the order in which
 * the keys were made: a key that is older than the library's comes before it,
 * a younger one after.  What comes after the library has let go of the thread
 * is served by private loans.
 */
#include <check.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "arena/thread.h"
#include "lend/lend.h"
#include "support/flat.h"
#include "support/loans.h"
#include "support/scale.h"
#include "support/stall.h"
#include "support/suite.h"

/*
 * How many rounds there are at most, and in how many of them everything goes:
 * ThreadSanitizer lets go of a thread in the last one, after which nothing
 * that it watches may run.
 */
#define ROUNDS PTHREAD_DESTRUCTOR_ITERATIONS
#ifdef LEND_TSAN
#define GOOD_ROUNDS (ROUNDS - 1)
#else
#define GOOD_ROUNDS ROUNDS
#endif

static const struct lend_req request = {
	.a_bytes = 8192, .worker_scatter = 512
};

#define SLOT_STORAGE ((size_t)8192 + 4096)

enum { OLDER, YOUNGER, KEYS };

static pthread_key_t keys[KEYS];

/* A thread with a late destructor. */
struct late {
	lend_arena *arena;
	int key;
	int rounds;		/* in how many the destructor runs */
	bool leaves;		/* the destructor leaves its loan out */
	bool cold;		/* the thread itself does no work */
	/* What happened. */
	int calls;		/* of the destructor */
	int over;		/* those when the thread was over */
	struct lend_worker loan[ROUNDS];
	int gone[ROUNDS];	/* what a return of an earlier one gave */
	int errors;
};

static void
work(struct late *late, struct lend_worker *loan, bool leave)
{
	if (lend_worker_checkout(late->arena, &request, loan)) {
		late->errors++;
		return;
	}
	use(loan, &request);
	if (!leave)
		late->errors += lend_worker_return(late->arena, loan) != 0;
}

static void
destructor(void *arg)
{
	struct late *late = arg;
	int call = late->calls++;

	late->over += thread_is_over();
	if (call >= ROUNDS)
		return;
	if (call)
		late->gone[call] = lend_worker_return(late->arena,
						      &late->loan[call - 1]);
	work(late, &late->loan[call], late->leaves);
	if (late->calls < late->rounds)
		late->errors += pthread_setspecific(keys[late->key],
						    late) != 0;
}

static void *
live(void *arg)
{
	struct late *late = arg;
	struct lend_worker loan;

	if (!late->cold)
		work(late, &loan, false);
	late->errors += pthread_setspecific(keys[late->key], late) != 0;
	return NULL;
}

/*
 * How often the library had let go of the thread before: the older key's
 * destructor comes before it in the first round.
 */
static int
rounds_over(const struct late *late)
{
	return late->key == OLDER || late->cold ? late->rounds - 1 :
	       late->rounds;
}

/* Runs it once more, from the start. */
static void
run(struct late *late)
{
	late->calls = 0;
	late->over = 0;
	ck_assert_int_eq(pthread_join(flat_thread(live, late), NULL), 0);
	ck_assert_int_eq(late->errors, 0);
	ck_assert_int_eq(late->calls, late->rounds);
	ck_assert_int_eq(late->over, rounds_over(late));
}

/*
 * In how many rounds the destructor may do its work so that the library is
 * called once more after it.  A loan that is left out in the very last one,
 * by a key that comes after the library's, is settled by nobody.
 */
static int
most_rounds(int key, bool leaves)
{
	if (key == YOUNGER && (leaves || GOOD_ROUNDS < ROUNDS))
		return GOOD_ROUNDS - 1;
	return GOOD_ROUNDS;
}

/* Calls try(late) for each key and each number of rounds. */
static void
for_all(void (*try)(struct late *late), bool leaves, bool cold)
{
	for (int key = OLDER; key < KEYS; key++) {
		int most = most_rounds(key, leaves);

		for (int rounds = 1; rounds <= most; rounds++) {
			struct late late = {
				.arena = arena_new(), .key = key,
				.rounds = rounds, .leaves = leaves,
				.cold = cold,
			};

			try(&late);
			stats_settled(late.arena);
			arena_end(late.arena);
		}
	}
}

/* The destructor works as at any other time, in every round. */
static void
try_return(struct late *late)
{
	struct lend_stats stats;

	run(late);
	stats = stats_of(late->arena);
	ck_assert_uint_eq(stats.abandoned, 0);
	ck_assert_uint_eq(stats.reentrant, (uint64_t)late->over);
	ck_assert_uint_eq(stats.slots_idle, 1);
	ck_assert_uint_eq(stats.retained_bytes, SLOT_STORAGE);
	for (int i = 1; i < late->rounds; i++)
		ck_assert_int_eq(late->gone[i], -EALREADY);
}

START_TEST(late_destructors_are_served)
{
	for_all(try_return, false, false);
}
END_TEST

/* Also where it is the first that the thread does with an arena. */
START_TEST(late_destructors_may_be_the_first_to_come)
{
	for_all(try_return, false, true);
}
END_TEST

/* What a destructor leaves out is settled and counted. */
static void
try_leave(struct late *late)
{
	struct lend_stats stats;

	run(late);
	stats = stats_of(late->arena);
	ck_assert_uint_eq(stats.abandoned, (uint64_t)late->rounds);
	ck_assert_uint_eq(stats.reentrant, (uint64_t)late->over);
	ck_assert_uint_eq(stats.slots_idle, 1);
	/* Settled before the next round: the handle is stale in it. */
	for (int i = 1; i < late->rounds; i++)
		ck_assert_int_eq(late->gone[i], -EALREADY);
	for (int i = 0; i < late->rounds; i++)
		ck_assert_int_eq(lend_worker_return(late->arena,
						    &late->loan[i]),
				 -EALREADY);
}

START_TEST(loans_left_by_late_destructors_are_settled)
{
	for_all(try_leave, true, false);
}
END_TEST

START_TEST(loans_left_by_the_first_to_come_are_settled)
{
	for_all(try_leave, true, true);
}
END_TEST

/* However many such threads there are, nothing of them remains. */
static void
try_often(struct late *late)
{
	/* The last rounds are where things are left behind. */
	unsigned threads = scale(late->rounds < ROUNDS - 1 ? 300 : 1500);
	struct flat flat;

	for (unsigned i = 0; i < threads / 10 + 2; i++)
		run(late);
	flat_begin(&flat);
	for (unsigned i = 0; i < threads; i++)
		run(late);
	flat_end(&flat);
	ck_assert_uint_eq(stats_of(late->arena).slots_idle, 1);
	ck_assert_uint_eq(stats_of(late->arena).retained_bytes, SLOT_STORAGE);
}

START_TEST(nothing_remains_of_threads_with_late_destructors)
{
	for_all(try_often, false, false);
}
END_TEST

START_TEST(nothing_remains_of_loans_left_by_late_destructors)
{
	for_all(try_often, true, false);
}
END_TEST

START_TEST(nothing_remains_of_late_first_comers)
{
	for_all(try_often, false, true);
}
END_TEST

/* A loan of the thread itself, returned by its destructor. */
struct returning {
	lend_arena *arena;
	int key;
	struct lend_worker slot, nested;
	int errors;
	int results[2];
};

static void
return_both(void *arg)
{
	struct returning *returning = arg;

	returning->results[0] = lend_worker_return(returning->arena,
						   &returning->nested);
	returning->results[1] = lend_worker_return(returning->arena,
						   &returning->slot);
}

static pthread_key_t return_keys[KEYS];

static void *
take_both(void *arg)
{
	struct returning *returning = arg;

	returning->errors =
		lend_worker_checkout(returning->arena, &request,
				     &returning->slot) ||
		lend_worker_checkout(returning->arena, &request,
				     &returning->nested) ||
		pthread_setspecific(return_keys[returning->key], returning);
	return NULL;
}

/*
 * Before the library lets go of the thread, its loans can be returned; after
 * it has settled them, there is nothing to return.
 */
START_TEST(a_destructor_may_return_what_its_thread_took)
{
	for (int key = OLDER; key < KEYS; key++) {
		struct returning returning = {
			.arena = arena_new(), .key = key
		};
		int result = key == OLDER ? 0 : -EALREADY;

		in_thread(take_both, &returning);
		ck_assert_int_eq(returning.errors, 0);
		ck_assert_int_eq(returning.results[0], result);
		ck_assert_int_eq(returning.results[1], result);
		ck_assert_uint_eq(stats_of(returning.arena).abandoned,
				  key == OLDER ? 0 : 2);
		stats_settled(returning.arena);
		arena_end(returning.arena);
	}
}
END_TEST

/*
 * The library settles what a destructor has left out at a moment of its own
 * choice: an arena that is destroyed meanwhile waits for it.
 */
struct settling {
	lend_arena *kept, *gone;
	int errors;
};

static pthread_key_t settle_key;

static void
leave_one_of_two(void *arg)
{
	struct settling *settling = arg;
	struct lend_worker loan;

	settling->errors +=
		!thread_is_over() ||
		lend_worker_checkout(settling->gone, &request, &loan) ||
		lend_worker_return(settling->gone, &loan) ||
		lend_worker_checkout(settling->kept, &request, &loan);
	stall_next();
}

static void *
settle_late(void *arg)
{
	struct settling *settling = arg;
	struct lend_worker loan;

	settling->errors =
		lend_worker_checkout(settling->gone, &request, &loan) ||
		lend_worker_return(settling->gone, &loan) ||
		pthread_setspecific(settle_key, settling);
	return NULL;
}

START_TEST(destroy_waits_for_a_thread_that_settles_late)
{
	struct settling settling = { .errors = 1 };
	pthread_t thread;

	stall_begin();
	settling.kept = arena_new();
	settling.gone = arena_new();
	ck_assert_int_eq(pthread_create(&thread, NULL, settle_late,
					&settling), 0);
	stall_await();
	arena_end(settling.gone);
	stall_done();
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(settling.errors, 0);
	ck_assert_uint_eq(stats_of(settling.kept).abandoned, 1);
	arena_end(settling.kept);
	ck_assert(!stall_end());
}
END_TEST

/* The library makes its key with the first arena of the process. */
static bool
make_keys(void)
{
	lend_arena *arena;

	return !pthread_key_create(&keys[OLDER], destructor) &&
	       !pthread_key_create(&return_keys[OLDER], return_both) &&
	       !lend_arena_create(&arena, NULL) &&
	       !lend_arena_destroy(arena) &&
	       !pthread_key_create(&keys[YOUNGER], destructor) &&
	       !pthread_key_create(&return_keys[YOUNGER], return_both) &&
	       !pthread_key_create(&settle_key, leave_one_of_two);
}

int
main(void)
{
	Suite *suite = suite_create("thread_late");
	TCase *loan = watched_case(suite, "loan");
	TCase *often = watched_case(suite, "often");

	if (!make_keys())
		return 1;
	tcase_add_test(loan, late_destructors_are_served);
	tcase_add_test(loan, late_destructors_may_be_the_first_to_come);
	tcase_add_test(loan, loans_left_by_late_destructors_are_settled);
	tcase_add_test(loan, loans_left_by_the_first_to_come_are_settled);
	tcase_add_test(loan, a_destructor_may_return_what_its_thread_took);
	tcase_add_test(loan, destroy_waits_for_a_thread_that_settles_late);
	tcase_add_test(often,
		       nothing_remains_of_threads_with_late_destructors);
	tcase_add_test(often,
		       nothing_remains_of_loans_left_by_late_destructors);
	tcase_add_test(often, nothing_remains_of_late_first_comers);
	return suite_run(suite);
}
