/* SPDX-License-Identifier: MIT */
/*
 * A thread that loses race after race asks the others to let it go first, and
 * each of them does, once.  The loser is beaten on purpose: before it installs
 * what it has made, it has its rival finish an operation.
 */
#include <lend/warm.h>

#include <pthread.h>
#include <semaphore.h>

#include "support/fault.h"
#include "support/suite.h"
#include "support/warm_hook.h"
#include "support/warm_model.h"
#include "warm/root.h"

#define RACES 32

static struct {
	lend_warm_pool *pool;
	sem_t go, done;
	bool over;
	unsigned beaten;		/* races that the loser is to lose */
	/* After that many lost races: how long the rival paused at its next. */
	unsigned paused[RACES];
} race;

static _Thread_local bool is_loser;

static void
change_something(unsigned i)
{
	struct warm_op op = { .kind = i % 2 ? WARM_ABANDON : WARM_BEGIN,
			      .id = 1, .arg = 1 };

	warm_pool_do(race.pool, &op);
}

static void *
rival(void *arg)
{
	for (unsigned i = 0;; i++) {
		unsigned before;

		while (sem_wait(&race.go))
			;
		if (race.over)
			return arg;
		before = warm_hook_paused;
		change_something(i);
		race.paused[i] = warm_hook_paused - before;
		sem_post(&race.done);
	}
}

static void
be_beaten(int step)
{
	static unsigned lost;

	if (!is_loser)
		return;
	if (step == WARM_INSTALLED)
		lost = 0;
	if (step != WARM_WRITTEN || lost == race.beaten)
		return;
	lost++;
	sem_post(&race.go);
	while (sem_wait(&race.done))
		;
}

/* The calling thread loses so many races in one operation. */
static void
lose(unsigned races)
{
	struct warm_op op = { .kind = WARM_BEGIN, .id = 0, .arg = 1 };
	struct warm_op drain = { .kind = WARM_DRAIN_ALL };
	struct warm_op abandon = { .kind = WARM_ABANDON, .id = 0 };
	pthread_t thread;

	ck_assert_int_eq(lend_warm_pool_create(&race.pool, 4), 0);
	sem_init(&race.go, 0, 0);
	sem_init(&race.done, 0, 0);
	race.over = false;
	race.beaten = races;
	is_loser = true;
	warm_hook = be_beaten;
	ck_assert_int_eq(pthread_create(&thread, NULL, rival, NULL), 0);
	warm_pool_do(race.pool, &op);
	warm_hook = NULL;
	race.over = true;
	sem_post(&race.go);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	warm_pool_do(race.pool, &abandon);
	warm_pool_do(race.pool, &drain);
	ck_assert_int_eq(lend_warm_pool_destroy(race.pool), 0);
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}

START_TEST(winners_step_back_once_for_each_plea)
{
	lose(RACES);
	for (unsigned lost = 0; lost < RACES; lost++)
		ck_assert_uint_eq(race.paused[lost],
				  lost > 0 && lost % ROOT_PATIENCE == 0 ?
					  ROOT_STEP_BACK : 0);
}
END_TEST

/* A plea is made in place of a pause, so that the favour is not slept away. */
START_TEST(losers_pause_longer_and_longer_until_they_plead)
{
	unsigned before, pause = 0;

	for (unsigned lost = 1; lost < ROOT_PATIENCE; lost++)
		pause += ROOT_BACK_OFF_LEAST << lost;
	for (unsigned pleas = 1; pleas < 4; pleas++) {
		before = warm_hook_paused;
		lose(pleas * ROOT_PATIENCE);
		ck_assert_uint_eq(warm_hook_paused - before, pleas * pause);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warm_fair");
	TCase *tcase = suite_case(suite, "pleas");

	tcase_add_test(tcase, winners_step_back_once_for_each_plea);
	tcase_add_test(tcase, losers_pause_longer_and_longer_until_they_plead);
	return suite_run(suite);
}
