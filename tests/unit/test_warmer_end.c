/* SPDX-License-Identifier: MIT */
/*
 * The end of a warmer while its threads are in the middle of something:
 * src/warm/warmer.c.
 */
#include <errno.h>
#include <pthread.h>

#include "base/os.h"
#include "support/loans.h"
#include "support/suite.h"
#include "support/warm_hook.h"
#include "support/warmer_site.h"
#include "warm/root.h"
#include "warm/warmer.h"

/* Steps aside so often: for what does not wait, ample time to be done. */
#define PATIENCE 50000

/* Threads that are stopped until they are told to go on; who ends: apart. */
static sem_t parked, go_on, end_goes_on;
static _Thread_local bool ends;

/* The thread parks at the beginning of its n-th operation from now. */
static _Thread_local int park_at;
/* The next thread that tears a slot down parks. */
static atomic_bool park_teardown;

static void
await(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

static void
be_parked(void)
{
	sem_post(&parked);
	await(ends ? &end_goes_on : &go_on);
}

static void
at_step(int step)
{
	if (step == WARM_BEGUN && park_at > 0 && --park_at == 0)
		be_parked();
}

static void
destroy(void *slot, void *ctx)
{
	if (atomic_exchange(&park_teardown, false))
		be_parked();
	warmer_destroy_slot(slot, ctx);
}

static struct lend_warmer_options
options(void)
{
	struct lend_warmer_options with = warmer_options();

	sem_init(&parked, 0, 0);
	sem_init(&go_on, 0, 0);
	sem_init(&end_goes_on, 0, 0);
	warm_hook = at_step;
	with.threads = 1;
	with.deadline_ms = 0;
	with.destroy = destroy;
	return with;
}

static int
prepare_and_park(const char *id, void **slot, void *ctx)
{
	int error = warmer_options().prepare(id, slot, ctx);

	park_at = 1;
	return error;
}

/* A thread is stopped as it offers what it has prepared. */
static void
park_offer(void)
{
	struct lend_warmer_options with = options();

	with.prepare = prepare_and_park;
	warmer_make(&with);
	warmer_refill("a");
	await(&parked);
}

/* The same, while another one is still in its prepare. */
static void
park_offer_beside_hung(void)
{
	struct lend_warmer_options with = options();

	with.prepare = prepare_and_park;
	with.threads = 2;
	warmer_make(&with);
	site.hang_percent = 100;
	warmer_refill("a");
	await(&site.hanging);
	site.hang_percent = 0;
	warmer_refill("b");
	await(&parked);
}

/* A thread is stopped as it tears down what it has prepared too late. */
static void
park_late(void)
{
	struct lend_warmer_options with = options();

	with.deadline_ms = 1;
	warmer_make(&with);
	site.hang_percent = 100;
	warmer_refill("a");
	await(&site.hanging);
	while (warmer_stats().late == 0)
		doze(200);
	park_teardown = true;
	sem_post(&site.go_on);
	await(&parked);
}

static const struct {
	void (*park)(void);
	int result;
} middles[] = {
	{ park_offer, 0 }, { park_offer_beside_hung, -EBUSY }, { park_late, 0 }
};

static struct {
	pthread_t thread;
	int park_at;
	int result;
	atomic_bool over;
} end;

static void *
end_main(void *arg)
{
	ends = true;
	park_at = end.park_at;
	end.result = lend_warmer_destroy(site.warmer, 0);
	end.over = true;
	return arg;
}

/* Without patience, on a thread of its own; it parks at its n-th operation. */
static void
start_end(int n)
{
	end.over = false;
	end.park_at = n;
	ck_assert_int_eq(pthread_create(&end.thread, NULL, end_main, NULL), 0);
}

/* It waits for who is parked. */
static void
end_must_wait(int result)
{
	for (int i = 0; i < PATIENCE && !end.over; i++)
		os_yield();
	ck_assert(!end.over);
	sem_post(&go_on);
	ck_assert_int_eq(pthread_join(end.thread, NULL), 0);
	ck_assert_int_eq(end.result, result);
	if (!result) {
		site.warmer = NULL;
		return;
	}
	ck_assert_uint_eq(warmer_stats().pool.in_flight, 0);
	ck_assert_uint_eq(warmer_stats().pool.ready, 0);
	ck_assert_uint_eq(warmer_stats().destroyed, 1);
}

static bool
is_ending(void)
{
	bool ending;

	pthread_mutex_lock(&site.warmer->lock);
	ending = site.warmer->ending;
	pthread_mutex_unlock(&site.warmer->lock);
	return ending;
}

/* Only who is in a prepare is not waited for. */
START_TEST(an_end_waits_for_who_has_prepared)
{
	middles[_i].park();
	start_end(0);
	while (!is_ending())
		doze(200);
	end_must_wait(middles[_i].result);
	sem_post(&site.go_on);
	warmer_end();
}
END_TEST

/* Those of "a" and of "b" come back when they are told. */
static sem_t told[2];

static int
prepare_when_told(const char *id, void **slot, void *ctx)
{
	sem_post(&site.hanging);
	await(&told[*id - 'a']);
	return prepare_and_park(id, slot, ctx);
}

/* Which of the two is late. */
static int
find_late(void)
{
	const struct hand *hand = site.warmer->hand;
	int late;

	pthread_mutex_lock(&site.warmer->lock);
	late = hand[hand[0].late ? 0 : 1].task->id[0] - 'a';
	pthread_mutex_unlock(&site.warmer->lock);
	return late;
}

/* One comes back while the fill of another one is given up. */
START_TEST(an_end_waits_for_who_comes_back_meanwhile)
{
	struct lend_warmer_options with = options();
	int late;

	sem_init(&told[0], 0, 0);
	sem_init(&told[1], 0, 0);
	with.prepare = prepare_when_told;
	with.threads = 2;
	warmer_make(&with);
	warmer_refill("a");
	warmer_refill("b");
	await(&site.hanging);
	await(&site.hanging);
	start_end(1);
	await(&parked);
	late = find_late();
	sem_post(&told[!late]);
	await(&parked);
	sem_post(&end_goes_on);
	end_must_wait(-EBUSY);
	sem_post(&told[late]);
	warmer_end();
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warmer_end");
	TCase *tcase = watched_case(suite, "warmer_end");

	tcase_add_loop_test(tcase, an_end_waits_for_who_has_prepared, 0,
			    sizeof(middles) / sizeof(middles[0]));
	tcase_add_test(tcase, an_end_waits_for_who_comes_back_meanwhile);
	return suite_run(suite);
}
