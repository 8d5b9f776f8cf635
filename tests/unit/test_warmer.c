/* SPDX-License-Identifier: MIT */
/*
 * The warmer: src/warm/warmer.c, warmer_threads.c.  Prepares here sleep, fail,
 * hang and look around as they are told; every slot is counted from its making
 * to its end.
 */
#include <lend/warmer.h>

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

enum { DESTROYED, ALIVE, DEAD };

#define SLOTS 100000

static struct {
	lend_warmer *warmer;
	/* What prepares do. */
	atomic_uint sleep_us, fail_percent, hang_percent;
	sem_t hanging, go_on;
	atomic_uint hung;		/* at this moment */
	/* What was seen. */
	atomic_int slot[SLOTS];		/* the last one is never made */
	atomic_uint made, attempts, preparing, most;
	atomic_uint wrong;
	atomic_bool signals_open, nameless;
} site;

static void
doze(unsigned us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&time, NULL);
}

static unsigned
roll(unsigned sides)
{
	static _Thread_local uint64_t dice;

	if (dice == 0)
		dice = (uint64_t)(uintptr_t)&dice;
	return random_below(&dice, sides);
}

static void
look_around(void)
{
	char name[16] = "";
	sigset_t blocked;

	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	if (!sigismember(&blocked, SIGTERM) || sigismember(&blocked, SIGSEGV))
		site.signals_open = true;
	if (prctl(PR_GET_NAME, name) || strcmp(name, "lend-warmer"))
		site.nameless = true;
}

static void
hang(void)
{
	site.hung++;
	sem_post(&site.hanging);
	while (sem_wait(&site.go_on))
		;
	site.hung--;
}

static int
prepare(const char *id, void **slot, void *ctx)
{
	unsigned now = atomic_fetch_add(&site.preparing, 1) + 1, number;
	unsigned most = site.most;
	int result = 0;

	if (ctx != &site || !*id)
		site.wrong++;
	while (now > most &&
	       !atomic_compare_exchange_weak(&site.most, &most, now))
		;
	site.attempts++;
	look_around();
	if (site.sleep_us)
		doze(site.sleep_us);
	if (roll(100) < site.hang_percent)
		hang();
	if (roll(100) < site.fail_percent) {
		result = -EIO;
	} else {
		number = atomic_fetch_add(&site.made, 1);
		if (number < SLOTS - 1)
			site.slot[number] = ALIVE;
		*slot = &site.slot[number < SLOTS - 1 ? number : SLOTS - 1];
	}
	site.preparing--;
	return result;
}

static void
destroy(void *slot, void *ctx)
{
	atomic_int *place = slot;

	if (ctx != &site || atomic_exchange(place, DESTROYED) == DESTROYED)
		site.wrong++;
}

static bool
alive(void *slot, void *ctx)
{
	atomic_int *place = slot;

	(void)ctx;
	return *place == ALIVE;
}

static struct lend_warmer_options
options(void)
{
	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;

	options.prepare = prepare;
	options.destroy = destroy;
	options.alive = alive;
	options.ctx = &site;
	return options;
}

static void
make(const struct lend_warmer_options *with)
{
	memset(&site, 0, sizeof(site));
	sem_init(&site.hanging, 0, 0);
	sem_init(&site.go_on, 0, 0);
	ck_assert_int_eq(lend_warmer_create(&site.warmer, with), 0);
}

/* Ends it; every slot has been torn down once, by it or by its claimer. */
static void
end(void)
{
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 60000), 0);
	ck_assert_uint_eq(site.wrong, 0);
	ck_assert_uint_lt(site.made, SLOTS);
	for (unsigned i = 0; i < site.made; i++)
		ck_assert_int_eq(site.slot[i], DESTROYED);
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}

static struct lend_warmer_stats
stats(void)
{
	struct lend_warmer_stats stats;

	ck_assert_int_eq(lend_warmer_stats(site.warmer, &stats), 0);
	return stats;
}

static void
refill(const char *id)
{
	ck_assert_int_eq(lend_warmer_refill(site.warmer, id), 0);
}

/* A slot that the test tears down, or null. */
static void *
claim(const char *id)
{
	void *slot = NULL;
	int error = lend_warmer_claim(site.warmer, id, &slot);

	ck_assert_int_eq(error, slot ? 0 : -ENOENT);
	return slot;
}

/* Until so many are ready and nothing is under way. */
static void
await_ready(unsigned n)
{
	struct lend_warmer_stats now;

	do {
		doze(200);
		now = stats();
	} while (now.pool.ready != n || now.preparing || now.pool.in_flight);
}

START_TEST(a_refill_makes_slots_in_the_background)
{
	struct lend_warmer_options with = options();
	void *slot;

	with.target = 3;
	make(&with);
	ck_assert_ptr_null(claim("a"));
	ck_assert_uint_eq(stats().threads, 0);
	refill("a");
	await_ready(3);
	ck_assert_uint_eq(stats().prepared, 3);
	ck_assert_uint_gt(stats().threads, 0);
	slot = claim("a");
	ck_assert_ptr_nonnull(slot);
	ck_assert_ptr_null(claim("b"));
	refill("a");
	await_ready(3);
	ck_assert_uint_eq(stats().prepared, 4);
	ck_assert(!site.signals_open);
	ck_assert(!site.nameless);
	destroy(slot, &site);
	end();
}
END_TEST

START_TEST(a_warmer_that_was_never_used_ends)
{
	struct lend_warmer_options with = options();

	make(&with);
	end();
	ck_assert_int_eq(lend_warmer_destroy(NULL, 0), 0);
}
END_TEST

static void
refill_much(size_t self, void *ctx)
{
	(void)self;
	(void)ctx;
	for (int i = 0; i < 200; i++)
		if (lend_warmer_refill(site.warmer, "a"))
			site.wrong++;
}

/* However many ask, and however many threads there are. */
START_TEST(no_more_prepares_than_planned)
{
	struct lend_warmer_options with = options();

	with.target = 2;
	with.threads = 8;
	make(&with);
	site.sleep_us = 20000;
	crew_run(8, refill_much, NULL);
	await_ready(2);
	ck_assert_uint_eq(site.attempts, 2);
	ck_assert_uint_le(site.most, 2);
	end();
}
END_TEST

START_TEST(no_more_prepares_at_once_than_threads)
{
	struct lend_warmer_options with = options();
	char id[8];

	with.target = 2;
	with.cap = 8;
	with.threads = 2;
	make(&with);
	site.sleep_us = 1000;
	for (int i = 0; i < 8; i++) {
		snprintf(id, sizeof(id), "%d", i);
		refill(id);
	}
	await_ready(16);
	ck_assert_uint_le(site.most, 2);
	ck_assert_uint_eq(site.attempts, 16);
	end();
}
END_TEST

START_TEST(dead_slots_are_discarded_at_a_claim)
{
	struct lend_warmer_options with = options();
	void *slot;

	with.target = 3;
	make(&with);
	refill("a");
	await_ready(3);
	/* The two that would come first. */
	site.slot[0] = site.slot[1] = site.slot[2] = DEAD;
	ck_assert_ptr_null(claim("a"));
	ck_assert_uint_eq(stats().dead, 3);
	refill("a");
	await_ready(3);
	slot = claim("a");
	ck_assert_ptr_nonnull(slot);
	destroy(slot, &site);
	end();
}
END_TEST

START_TEST(an_id_that_fails_is_left_alone)
{
	struct lend_warmer_options with = options();

	with.target = 4;
	with.threads = 1;
	with.backoff_ms = with.backoff_most_ms = 3600000;
	make(&with);
	site.fail_percent = 100;
	refill("a");
	while (stats().failed == 0)
		doze(200);
	for (int i = 0; i < 1000; i++)
		refill("a");
	await_ready(0);
	ck_assert_uint_eq(site.attempts, 1);
	ck_assert_uint_eq(stats().held_off, 1000);
	/* Others are not. */
	site.fail_percent = 0;
	refill("b");
	await_ready(4);
	end();
}
END_TEST

START_TEST(an_id_that_fails_comes_back)
{
	struct lend_warmer_options with = options();

	with.backoff_ms = 1;
	with.backoff_most_ms = 4;
	make(&with);
	site.fail_percent = 100;
	while (stats().failed < 5) {
		refill("a");
		doze(500);
	}
	site.fail_percent = 0;
	while (stats().pool.ready == 0) {
		refill("a");
		doze(500);
	}
	end();
}
END_TEST

/* Given up once; what comes in the end is torn down. */
START_TEST(a_prepare_that_hangs_is_given_up)
{
	struct lend_warmer_options with = options();

	with.threads = 1;
	with.deadline_ms = 1;
	with.backoff_ms = with.backoff_most_ms = 0;
	make(&with);
	site.hang_percent = 100;
	refill("a");
	while (sem_wait(&site.hanging))
		;
	while (stats().pool.in_flight)
		doze(200);
	ck_assert_uint_eq(stats().late, 1);
	ck_assert_uint_eq(stats().preparing, 1);
	/* Another thread prepares meanwhile. */
	site.hang_percent = 0;
	do {
		refill("a");
		doze(5000);
	} while (stats().pool.ready == 0);
	sem_post(&site.go_on);
	while (stats().preparing)
		doze(200);
	ck_assert_uint_eq(stats().pool.ready, 1);
	ck_assert_uint_ge(stats().destroyed, 1);
	end();
}
END_TEST

START_TEST(an_end_does_not_lose_a_prepare_that_hangs)
{
	struct lend_warmer_options with = options();

	with.target = 4;
	with.threads = 2;
	with.deadline_ms = _i ? 0 : 3600000;
	make(&with);
	site.hang_percent = 100;
	refill("a");
	while (sem_wait(&site.hanging))
		;
	while (sem_wait(&site.hanging))
		;
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 1), -EBUSY);
	ck_assert_uint_eq(stats().pool.in_flight, 0);
	ck_assert_uint_eq(stats().pool.ready, 0);
	ck_assert_int_eq(lend_warmer_refill(site.warmer, "a"), -ESHUTDOWN);
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 1), -EBUSY);
	sem_post(&site.go_on);
	sem_post(&site.go_on);
	end();
}
END_TEST

START_TEST(a_drain_tears_down)
{
	struct lend_warmer_options with = options();

	with.target = 2;
	make(&with);
	refill("a");
	refill("b");
	await_ready(4);
	ck_assert_int_eq(lend_warmer_drain(site.warmer, "a"), 0);
	await_ready(2);
	ck_assert_uint_eq(stats().destroyed, 2);
	ck_assert_int_eq(lend_warmer_drain(site.warmer, NULL), 0);
	await_ready(0);
	end();
}
END_TEST

START_TEST(bad_input_is_refused)
{
	struct lend_warmer_options with = options();
	lend_warmer *warmer;
	void *slot;

	make(&with);
	ck_assert_int_eq(lend_warmer_create(NULL, &with), -EINVAL);
	ck_assert_int_eq(lend_warmer_create(&warmer, NULL), -EINVAL);
	with.prepare = NULL;
	ck_assert_int_eq(lend_warmer_create(&warmer, &with), -EINVAL);
	with = options();
	with.threads = LEND_WARMER_THREADS_MAX + 1;
	ck_assert_int_eq(lend_warmer_create(&warmer, &with), -EINVAL);
	with = options();
	with.target = 0;
	ck_assert_int_eq(lend_warmer_create(&warmer, &with), -EINVAL);
	with = options();
	with.size--;
	ck_assert_int_eq(lend_warmer_create(&warmer, &with), -EINVAL);
	ck_assert_int_eq(lend_warmer_claim(NULL, "a", &slot), -EINVAL);
	ck_assert_int_eq(lend_warmer_claim(site.warmer, NULL, &slot), -EINVAL);
	ck_assert_int_eq(lend_warmer_claim(site.warmer, "a", NULL), -EINVAL);
	ck_assert_int_eq(lend_warmer_refill(site.warmer, NULL), -EINVAL);
	ck_assert_int_eq(lend_warmer_drain(NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_warmer_stats(site.warmer, NULL), -EINVAL);
	ck_assert_ptr_null(lend_warmer_pool(NULL));
	end();
}
END_TEST

/* Chaos. */

#define CHAOS_TARGET 4
#define CHAOS_IDS 3

struct chaos {
	pthread_t thread;
	unsigned claims;
};

static void *
claimant(void *arg)
{
	struct chaos *chaos = arg;
	char id[8];

	for (unsigned i = 0; i < chaos->claims; i++) {
		void *slot = NULL;

		snprintf(id, sizeof(id), "%u", roll(CHAOS_IDS));
		if (lend_warmer_claim(site.warmer, id, &slot) == 0) {
			doze(roll(500));
			destroy(slot, &site);
		}
		if (lend_warmer_refill(site.warmer, id))
			site.wrong++;
		if (roll(50) == 0 && lend_warmer_drain(site.warmer, id))
			site.wrong++;
		doze(roll(2000));
	}
	return NULL;
}

/* Never more than the plan, for all of the ids together. */
static void
watch(atomic_bool *over, unsigned *seen)
{
	while (!*over) {
		struct lend_warmer_stats now = stats();

		ck_assert_uint_le(now.pool.ready + now.pool.in_flight,
				  CHAOS_IDS * CHAOS_TARGET);
		if (now.preparing > *seen)
			*seen = (unsigned)now.preparing;
		doze(1000);
	}
}

static atomic_bool chaos_over, warmer_gone;

static void *
release_hung(void *arg)
{
	/* A prepare that sleeps may still come to hang. */
	while (!warmer_gone) {
		if (site.hung && roll(4) == 0)
			sem_post(&site.go_on);
		doze(5000);
	}
	return arg;
}

static void *
await_all(void *arg)
{
	struct chaos *chaos = arg;

	for (unsigned i = 0; i < 50; i++)
		pthread_join(chaos[i].thread, NULL);
	chaos_over = true;
	return NULL;
}

/*
 * Fifty claimants; prepares of 50 ms of which a third fails and some hang;
 * ids evicted and drained in the middle of fills; the end as well.
 */
START_TEST(chaos_loses_nothing)
{
	static struct chaos chaos[50];
	struct lend_warmer_options with = options();
	struct lend_warmer_stats last;
	pthread_t joiner, releaser;
	unsigned seen = 0;

	with.target = CHAOS_TARGET;
	with.threads = 4;
	with.deadline_ms = 150;
	with.backoff_ms = 20;
	with.backoff_most_ms = 200;
	make(&with);
	chaos_over = warmer_gone = false;
	site.sleep_us = 50000;
	site.fail_percent = 30;
	site.hang_percent = 5;
	for (int i = 0; i < 50; i++) {
		chaos[i].claims = scale(600);
		ck_assert_int_eq(pthread_create(&chaos[i].thread, NULL,
						claimant, &chaos[i]), 0);
	}
	ck_assert_int_eq(pthread_create(&joiner, NULL, await_all, chaos), 0);
	ck_assert_int_eq(pthread_create(&releaser, NULL, release_hung, NULL),
			 0);
	watch(&chaos_over, &seen);
	pthread_join(joiner, NULL);
	last = stats();
	ck_assert_uint_gt(last.prepared + last.failed, 0);
	/* Errors are bounded by the back-off, not by how many ask. */
	ck_assert_uint_gt(last.held_off, last.failed);
	ck_assert_uint_le(seen, 2 * with.threads);
	/* In the middle of fills. */
	while (lend_warmer_destroy(site.warmer, 20) == -EBUSY)
		ck_assert_uint_eq(stats().pool.in_flight, 0);
	site.warmer = NULL;
	warmer_gone = true;
	pthread_join(releaser, NULL);
	end();
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warmer");
	TCase *tcase = watched_case(suite, "warmer");

	tcase_add_test(tcase, a_refill_makes_slots_in_the_background);
	tcase_add_test(tcase, a_warmer_that_was_never_used_ends);
	tcase_add_test(tcase, no_more_prepares_than_planned);
	tcase_add_test(tcase, no_more_prepares_at_once_than_threads);
	tcase_add_test(tcase, dead_slots_are_discarded_at_a_claim);
	tcase_add_test(tcase, an_id_that_fails_is_left_alone);
	tcase_add_test(tcase, an_id_that_fails_comes_back);
	tcase_add_test(tcase, a_prepare_that_hangs_is_given_up);
	tcase_add_loop_test(tcase, an_end_does_not_lose_a_prepare_that_hangs,
			    0, 2);
	tcase_add_test(tcase, a_drain_tears_down);
	tcase_add_test(tcase, bad_input_is_refused);
	tcase_add_test(tcase, chaos_loses_nothing);
	return suite_run(suite);
}
