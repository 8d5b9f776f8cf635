/* SPDX-License-Identifier: MIT */
#include "support/warmer_site.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "support/fault.h"
#include "support/random.h"

#define LAST (WARMER_SLOTS - 1)

struct warmer_site site;

void
doze(unsigned us)
{
	struct timespec time = { us / 1000000, us % 1000000 * 1000L };

	nanosleep(&time, NULL);
}

unsigned
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
		if (number < LAST)
			site.slot[number] = SLOT_ALIVE;
		*slot = &site.slot[number < LAST ? number : LAST];
	}
	site.preparing--;
	return result;
}

void
warmer_destroy_slot(void *slot, void *ctx)
{
	atomic_int *place = slot;

	if (ctx != &site ||
	    atomic_exchange(place, SLOT_DESTROYED) == SLOT_DESTROYED)
		site.wrong++;
}

static bool
alive(void *slot, void *ctx)
{
	atomic_int *place = slot;

	(void)ctx;
	return *place == SLOT_ALIVE;
}

struct lend_warmer_options
warmer_options(void)
{
	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;

	options.prepare = prepare;
	options.destroy = warmer_destroy_slot;
	options.alive = alive;
	options.ctx = &site;
	return options;
}

void
warmer_make(const struct lend_warmer_options *with)
{
	memset(&site, 0, sizeof(site));
	sem_init(&site.hanging, 0, 0);
	sem_init(&site.go_on, 0, 0);
	ck_assert_int_eq(lend_warmer_create(&site.warmer, with), 0);
}

void
warmer_end(void)
{
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 60000), 0);
	ck_assert_uint_eq(site.wrong, 0);
	ck_assert_uint_lt(site.made, WARMER_SLOTS);
	for (unsigned i = 0; i < site.made; i++)
		ck_assert_int_eq(site.slot[i], SLOT_DESTROYED);
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}

struct lend_warmer_stats
warmer_stats(void)
{
	struct lend_warmer_stats stats;

	ck_assert_int_eq(lend_warmer_stats(site.warmer, &stats), 0);
	return stats;
}

void
warmer_refill(const char *id)
{
	ck_assert_int_eq(lend_warmer_refill(site.warmer, id), 0);
}

void *
warmer_claim(const char *id)
{
	void *slot = NULL;
	int error = lend_warmer_claim(site.warmer, id, &slot);

	ck_assert_int_eq(error, slot ? 0 : -ENOENT);
	return slot;
}

void
warmer_await_ready(unsigned n)
{
	struct lend_warmer_stats now;

	do {
		doze(200);
		now = warmer_stats();
	} while (now.pool.ready != n || now.preparing || now.pool.in_flight);
}
