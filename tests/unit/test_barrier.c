/* SPDX-License-Identifier: MIT */
/* Barriers: src/sync/barrier.c. */
#include "sync/barrier.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/os.h"
#include "support/crew.h"
#include "support/scale.h"
#include "support/suite.h"

/* White box: somebody sleeps, or is about to. */
#define SLEEPER 1u

static struct lend_barrier barrier;

static bool
somebody_sleeps(void)
{
	return atomic_load(&barrier.phase) & SLEEPER;
}

static void
await_sleeper(void)
{
	while (!somebody_sleeps())
		os_yield();
}

/* More than can run at once, so that some must sleep. */
static size_t
a_crowd(void)
{
	size_t processors = (size_t)sysconf(_SC_NPROCESSORS_ONLN);
	size_t crowd = 2 * processors + 1;

	return crowd < CREW_MAX ? crowd : CREW_MAX;
}

START_TEST(tells_its_parties)
{
	for (uint32_t parties = 1; parties < 100; parties++) {
		barrier_init(&barrier, parties);
		ck_assert_uint_eq(lend_barrier_parties(&barrier), parties);
	}
	ck_assert_uint_eq(sizeof(struct lend_barrier), LEND_BARRIER_BYTES);
}
END_TEST

/* In storage that held anything before. */
START_TEST(a_caller_makes_its_own)
{
	_Alignas(LEND_BARRIER_BYTES) unsigned char storage[LEND_BARRIER_BYTES];
	struct lend_barrier *made;

	memset(storage, 0xa5, sizeof(storage));
	ck_assert_ptr_null(lend_barrier_init(NULL, 1));
	ck_assert_ptr_null(lend_barrier_init(storage, 0));
	ck_assert_ptr_null(lend_barrier_init(storage, (size_t)1 << 32));
	made = lend_barrier_init(storage, 1);
	ck_assert_ptr_eq(made, storage);
	ck_assert_uint_eq(lend_barrier_parties(made), 1);
	for (int i = 0; i < 1000; i++)
		ck_assert(lend_barrier_wait(made));
	made = lend_barrier_init(storage, 7);
	ck_assert_uint_eq(lend_barrier_parties(made), 7);
}
END_TEST

/* A party of one never waits, and is the one that is told so. */
START_TEST(one_party_passes_at_once)
{
	barrier_init(&barrier, 1);
	for (int i = 0; i < 1000; i++)
		ck_assert(lend_barrier_wait(&barrier));
}
END_TEST

/* Meetings one after another on the same barrier, nothing in between. */
struct meetings {
	size_t parties;
	unsigned rounds;
	atomic_uint arrived;
	unsigned trues[CREW_MAX];
	unsigned early[CREW_MAX];	/* passed before all had arrived */
};

static void
meet_often(size_t self, void *ctx)
{
	struct meetings *all = ctx;

	for (unsigned i = 1; i <= all->rounds; i++) {
		/* Relaxed: the barrier is to order it. */
		atomic_fetch_add_explicit(&all->arrived, 1,
					  memory_order_relaxed);
		all->trues[self] += lend_barrier_wait(&barrier);
		all->early[self] +=
			atomic_load_explicit(&all->arrived,
					     memory_order_relaxed) <
			i * all->parties;
	}
}

static void
run_meetings(size_t parties, unsigned rounds, uint32_t phase)
{
	struct meetings all = { .parties = parties, .rounds = rounds };
	unsigned trues = 0;

	barrier_init(&barrier, (uint32_t)parties);
	atomic_store(&barrier.phase, phase);
	crew_run(parties, meet_often, &all);
	for (size_t i = 0; i < parties; i++) {
		trues += all.trues[i];
		ck_assert_uint_eq(all.early[i], 0);
	}
	/* Exactly one of each meeting is told that it was the last. */
	ck_assert_uint_eq(trues, rounds);
	ck_assert_uint_eq(atomic_load(&all.arrived), rounds * parties);
	ck_assert_uint_eq(atomic_load(&barrier.arrived), 0);
	ck_assert(!somebody_sleeps());
}

START_TEST(nobody_passes_before_all_have_come)
{
	for (size_t parties = 2; parties <= 5; parties++)
		run_meetings(parties, scale(4000), 0);
}
END_TEST

START_TEST(more_threads_than_processors_meet)
{
	run_meetings(a_crowd(), scale(3000), 0);
}
END_TEST

/* The count of meetings may wrap while the barrier is in use. */
START_TEST(the_phase_wraps)
{
	run_meetings(3, 100, UINT32_MAX - 101);
	ck_assert_uint_lt(atomic_load(&barrier.phase), 200);
}
END_TEST

/*
 * What any party wrote before, all see after.  The words are not atomic, so
 * that a race detector judges the order, too.
 */
struct board {
	size_t parties;
	unsigned rounds;
	unsigned word[CREW_MAX];
	unsigned stale[CREW_MAX];
};

static void
write_and_look(size_t self, void *ctx)
{
	struct board *board = ctx;

	for (unsigned i = 1; i <= board->rounds; i++) {
		board->word[self] = i;
		(void)lend_barrier_wait(&barrier);
		for (size_t j = 0; j < board->parties; j++)
			board->stale[self] += board->word[j] != i;
		/* All have looked before anybody writes again. */
		(void)lend_barrier_wait(&barrier);
	}
}

START_TEST(what_was_written_before_is_seen_after)
{
	for (size_t parties = 2; parties <= 5; parties++) {
		struct board board = {
			.parties = parties, .rounds = scale(2000)
		};

		barrier_init(&barrier, (uint32_t)parties);
		crew_run(parties, write_and_look, &board);
		for (size_t i = 0; i < parties; i++)
			ck_assert_uint_eq(board.stale[i], 0);
	}
}
END_TEST

/* The one that is told may act for all: its write is seen by the next one. */
static void
count_plainly(size_t self, void *ctx)
{
	struct meetings *all = ctx;
	unsigned *count = &all->trues[0];

	for (unsigned i = 1; i <= all->rounds; i++) {
		if (lend_barrier_wait(&barrier))
			(*count)++;
		(void)lend_barrier_wait(&barrier);
		all->early[self] += *count != i;
		(void)lend_barrier_wait(&barrier);
	}
}

START_TEST(the_one_that_is_told_acts_alone)
{
	struct meetings all = { .parties = 4, .rounds = scale(2000) };

	barrier_init(&barrier, 4);
	crew_run(4, count_plainly, &all);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(all.early[i], 0);
}
END_TEST

/* Waiters that have gone to sleep, one starter that comes last. */
struct sleepers {
	atomic_uint passed;
	unsigned trues;		/* of those that have passed */
	pthread_t thread[3];
};

static void *
sleep_at_barrier(void *arg)
{
	struct sleepers *all = arg;

	if (lend_barrier_wait(&barrier))
		all->trues++;
	atomic_fetch_add(&all->passed, 1);
	/* Only now: the barrier is no cancellation point. */
	pthread_testcancel();
	return NULL;
}

static void
start_sleepers(struct sleepers *all)
{
	memset(all, 0, sizeof(*all));
	barrier_init(&barrier, 4);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&all->thread[i], NULL,
						sleep_at_barrier, all), 0);
	/* All are inside, and one of them at least is done with spinning. */
	while (atomic_load(&barrier.arrived) < 3)
		os_yield();
	await_sleeper();
}

/* Counts the threads that ended by cancellation. */
static int
end_sleepers(struct sleepers *all)
{
	int cancelled = 0;

	for (int i = 0; i < 3; i++) {
		void *result;

		ck_assert_int_eq(pthread_join(all->thread[i], &result), 0);
		cancelled += result == PTHREAD_CANCELED;
	}
	ck_assert_uint_eq(atomic_load(&all->passed), 3);
	ck_assert_uint_eq(all->trues, 0);
	ck_assert(!somebody_sleeps());
	return cancelled;
}

START_TEST(the_last_one_wakes_all_sleepers)
{
	for (unsigned i = 0; i < scale(200); i++) {
		struct sleepers all;

		start_sleepers(&all);
		ck_assert_uint_eq(atomic_load(&all.passed), 0);
		ck_assert(lend_barrier_wait(&barrier));
		ck_assert_int_eq(end_sleepers(&all), 0);
	}
}
END_TEST

static atomic_int signals;

static void
count_signal(int number)
{
	(void)number;
	atomic_fetch_add(&signals, 1);
}

/* A signal wakes the system call, not the barrier. */
START_TEST(a_signal_opens_nothing)
{
	struct sigaction action = { .sa_handler = count_signal }, before;
	struct sleepers all;

	ck_assert_int_eq(sigaction(SIGUSR1, &action, &before), 0);
	start_sleepers(&all);
	for (int round = 1; round <= 20; round++) {
		for (int i = 0; i < 3; i++)
			pthread_kill(all.thread[i], SIGUSR1);
		while (atomic_load(&signals) < 3 * round)
			os_yield();
		await_sleeper();
		ck_assert_uint_eq(atomic_load(&all.passed), 0);
	}
	ck_assert(lend_barrier_wait(&barrier));
	ck_assert_int_eq(end_sleepers(&all), 0);
	sigaction(SIGUSR1, &before, NULL);
	atomic_store(&signals, 0);
}
END_TEST

/* A party that is cancelled meanwhile passes all the same, then ends. */
START_TEST(waiting_is_no_cancellation_point)
{
	struct sleepers all;

	start_sleepers(&all);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_cancel(all.thread[i]), 0);
	ck_assert_uint_eq(atomic_load(&all.passed), 0);
	ck_assert(lend_barrier_wait(&barrier));
	ck_assert_int_eq(end_sleepers(&all), 3);
}
END_TEST

#define BARRIERS 50

/*
 * Many barriers side by side: the first meets all of four threads, each of
 * the others one pair, and no pair hears of the other.
 */
struct pairs {
	struct lend_barrier all;
	struct lend_barrier pair[2][BARRIERS];
	unsigned rounds;
	unsigned trues[4];
	unsigned word[4];
	unsigned stale[4];
};

static void
meet_in_pairs(size_t self, void *ctx)
{
	struct pairs *pairs = ctx;
	struct lend_barrier *mine = pairs->pair[self / 2];
	unsigned last = 0;

	for (unsigned i = 0; i < pairs->rounds; i++) {
		(void)lend_barrier_wait(&pairs->all);
		for (int b = 0; b + 1 < BARRIERS; b += 2) {
			pairs->word[self] = ++last;
			pairs->trues[self] += lend_barrier_wait(&mine[b]);
			pairs->stale[self] += pairs->word[self ^ 1] != last;
			pairs->trues[self] += lend_barrier_wait(&mine[b + 1]);
		}
	}
}

START_TEST(many_barriers_do_not_mix)
{
	static struct pairs pairs;
	unsigned meetings;

	memset(&pairs, 0, sizeof(pairs));
	pairs.rounds = scale(100);
	barrier_init(&pairs.all, 4);
	for (int i = 0; i < 2 * BARRIERS; i++)
		barrier_init(&pairs.pair[i / BARRIERS][i % BARRIERS], 2);
	crew_run(4, meet_in_pairs, &pairs);
	meetings = pairs.rounds * BARRIERS;
	ck_assert_uint_eq(pairs.trues[0] + pairs.trues[1], meetings);
	ck_assert_uint_eq(pairs.trues[2] + pairs.trues[3], meetings);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(pairs.stale[i], 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("barrier");
	TCase *meet = suite_case(suite, "meet");
	TCase *asleep = suite_case(suite, "asleep");

	tcase_add_test(meet, tells_its_parties);
	tcase_add_test(meet, a_caller_makes_its_own);
	tcase_add_test(meet, one_party_passes_at_once);
	tcase_add_test(meet, nobody_passes_before_all_have_come);
	tcase_add_test(meet, more_threads_than_processors_meet);
	tcase_add_test(meet, the_phase_wraps);
	tcase_add_test(meet, what_was_written_before_is_seen_after);
	tcase_add_test(meet, the_one_that_is_told_acts_alone);
	tcase_add_test(meet, many_barriers_do_not_mix);
	tcase_add_test(asleep, the_last_one_wakes_all_sleepers);
	tcase_add_test(asleep, a_signal_opens_nothing);
	tcase_add_test(asleep, waiting_is_no_cancellation_point);
	return suite_run(suite);
}
