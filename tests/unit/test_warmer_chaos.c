/* SPDX-License-Identifier: MIT */
/* Everything at once that may happen to a warmer: src/warm/warmer.c. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "support/loans.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/warmer_site.h"

#define CHAOS_TARGET 4
#define CHAOS_CLAIMS 600
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
			warmer_destroy_slot(slot, &site);
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
		struct lend_warmer_stats now = warmer_stats();

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
	struct lend_warmer_options with = warmer_options();
	struct lend_warmer_stats last;
	pthread_t joiner, releaser;
	unsigned seen = 0;

	with.target = CHAOS_TARGET;
	with.threads = 4;
	with.deadline_ms = 150;
	with.backoff_ms = 20;
	with.backoff_most_ms = 200;
	warmer_make(&with);
	chaos_over = warmer_gone = false;
	site.sleep_us = 50000;
	site.fail_percent = 30;
	site.hang_percent = 5;
	for (int i = 0; i < 50; i++) {
		chaos[i].claims = scale(CHAOS_CLAIMS);
		ck_assert_int_eq(pthread_create(&chaos[i].thread, NULL,
						claimant, &chaos[i]), 0);
	}
	ck_assert_int_eq(pthread_create(&joiner, NULL, await_all, chaos), 0);
	ck_assert_int_eq(pthread_create(&releaser, NULL, release_hung, NULL),
			 0);
	watch(&chaos_over, &seen);
	pthread_join(joiner, NULL);
	last = warmer_stats();
	ck_assert_uint_gt(last.prepared + last.failed, 0);
	/*
	 * Errors are bounded by the back-off, not by how many ask.  Of fewer
	 * claims hardly any fails.
	 */
	if (chaos[0].claims == CHAOS_CLAIMS)
		ck_assert_uint_gt(last.held_off, last.failed);
	ck_assert_uint_le(seen, 2 * with.threads);
	/* In the middle of fills. */
	while (lend_warmer_destroy(site.warmer, 20) == -EBUSY)
		ck_assert_uint_eq(warmer_stats().pool.in_flight, 0);
	site.warmer = NULL;
	warmer_gone = true;
	pthread_join(releaser, NULL);
	warmer_end();
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warmer_chaos");
	TCase *tcase = watched_case(suite, "warmer_chaos");

	tcase_add_test(tcase, chaos_loses_nothing);
	return suite_run(suite);
}
