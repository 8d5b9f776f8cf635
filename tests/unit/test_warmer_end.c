/* SPDX-License-Identifier: MIT */
/*
 * The end of a warmer while its threads are in the middle of something, and
 * while there is no memory: src/warm/warmer.c.
 */
#include <errno.h>
#include <pthread.h>

#include "base/os.h"
#include "support/fault.h"
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
/* The next thread that begins an operation parks; that tears a slot down. */
static atomic_bool park_next, park_teardown;

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

/* Nobody is in the pool with the lock: others let it go, we cannot. */
static void
look_at_lock(void)
{
	for (int i = 0; i < PATIENCE; i++) {
		if (pthread_mutex_trylock(&site.warmer->lock) == 0) {
			pthread_mutex_unlock(&site.warmer->lock);
			return;
		}
		os_yield();
	}
	site.wrong++;
}

static void
at_step(int step)
{
	look_at_lock();
	if (step != WARM_BEGUN)
		return;
	if ((park_at > 0 && --park_at == 0) ||
	    atomic_exchange(&park_next, false))
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

/* In the middle of something. */

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

static int
prepare_as_keeper_parks(const char *id, void **slot, void *ctx)
{
	park_next = true;
	return warmer_options().prepare(id, slot, ctx);
}

/* While its fill is being abandoned, too. */
START_TEST(a_late_prepare_is_counted_as_late_alone)
{
	struct lend_warmer_options with = options();

	with.prepare = prepare_as_keeper_parks;
	with.deadline_ms = 1;
	warmer_make(&with);
	site.hang_percent = 100;
	warmer_refill("a");
	await(&parked);
	ck_assert_uint_eq(warmer_stats().late, 1);
	ck_assert_uint_eq(warmer_stats().failed, 0);
	sem_post(&go_on);
	sem_post(&site.go_on);
	warmer_end();
}
END_TEST

/* Without memory. */

static void
begin(const char *id, size_t target, size_t owed)
{
	size_t spawn;

	ck_assert_int_eq(lend_warm_pool_begin_fill(
				 lend_warmer_pool(site.warmer), id, target,
				 &spawn, warmer_destroy_slot, &site), 0);
	ck_assert_uint_eq(spawn, owed);
}

static void
abandon(const char *id)
{
	ck_assert_int_eq(lend_warm_pool_abandon_fill(
				 lend_warmer_pool(site.warmer), id), 0);
}

/*
 * A thread prepares one slot of two, the test owes fills of "a" and "b".  The
 * next operation needs memory, as "a" has left the list too long ago; from now
 * there is none.
 */
static void
hang_without_memory(void)
{
	struct lend_warmer_options with = options();

	with.cap = 1;
	with.target = 2;
	/* A prepare that fails is not tried again. */
	with.backoff_ms = with.backoff_most_ms = 3600000;
	warmer_make(&with);
	site.hang_percent = 100;
	begin("a", 1, 1);
	begin("b", 1, 1);
	warmer_refill("c");
	await(&site.hanging);
	fault_fail_all(FAULT_PAGES);
}

static sem_t watching;

static void *
watch_who_is_parked(void *arg)
{
	struct lend_warmer_stats *seen = arg;

	/* The thread's first look at the pool takes memory. */
	if (lend_warmer_stats(site.warmer, seen))
		site.wrong++;
	sem_post(&watching);
	await(&parked);
	if (lend_warmer_stats(site.warmer, seen))
		site.wrong++;
	sem_post(&go_on);
	return NULL;
}

/*
 * As it abandons the fill of the prepare, then the one that nobody has taken,
 * and drains: each time it is stopped, and the lock is to be had.  (A prepare
 * that comes back wants it; users may not look then, but it shows it.)
 */
START_TEST(an_end_without_memory_holds_nobody_up)
{
	struct lend_warmer_stats seen;
	pthread_t watcher;

	hang_without_memory();
	fault_fail_all(0);
	sem_init(&watching, 0, 0);
	ck_assert_int_eq(pthread_create(&watcher, NULL, watch_who_is_parked,
					&seen), 0);
	await(&watching);
	fault_fail_all(FAULT_PAGES);
	park_at = _i;
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 0), -ENOMEM);
	ck_assert_int_eq(pthread_join(watcher, NULL), 0);
	ck_assert_uint_eq(seen.pool.in_flight, 4);
	ck_assert_uint_eq(seen.late, 1);
	fault_fail_all(0);
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 0), -EBUSY);
	ck_assert_uint_eq(warmer_stats().pool.in_flight, 2);
	ck_assert_uint_eq(warmer_stats().late, 1);
	abandon("a");
	abandon("b");
	ck_assert_uint_eq(warmer_stats().pool.in_flight, 0);
	sem_post(&site.go_on);
	warmer_end();
}
END_TEST

/* Who waits for memory does so no longer than until the end. */
START_TEST(who_waits_for_memory_is_not_waited_for)
{
	bool memory_comes = _i;

	hang_without_memory();
	sem_post(&site.go_on);
	/* Its offer, and then what it tries again and again. */
	while (fault_counts().failed < 10)
		doze(200);
	if (memory_comes) {
		fault_fail_all(0);
		while (warmer_stats().failed == 0)
			doze(200);
		ck_assert_uint_eq(warmer_stats().pool.in_flight, 2);
	}
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 600000), 0);
	fault_fail_all(0);
	site.warmer = NULL;
	warmer_end();
}
END_TEST

/* Two slots of "c", and again an id that has left too long ago. */
START_TEST(an_end_needs_no_memory)
{
	struct lend_warmer_options with = options();

	with.target = 2;
	warmer_make(&with);
	begin("a", 1, 1);
	begin("b", 1, 1);
	warmer_refill("c");
	while (warmer_stats().prepared < 2)
		doze(200);
	begin("d", 1, 1);
	begin("c", 2, 0);
	begin("e", 1, 1);
	ck_assert_uint_eq(warmer_stats().pool.ready, 2);
	fault_fail_all(FAULT_PAGES);
	ck_assert_int_eq(lend_warmer_drain(site.warmer, NULL), -ENOMEM);
	ck_assert_int_eq(lend_warmer_destroy(site.warmer, 0), 0);
	fault_fail_all(0);
	site.warmer = NULL;
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
	tcase_add_test(tcase, a_late_prepare_is_counted_as_late_alone);
	tcase_add_loop_test(tcase, an_end_without_memory_holds_nobody_up, 1,
			    4);
	tcase_add_loop_test(tcase, who_waits_for_memory_is_not_waited_for, 0,
			    2);
	tcase_add_test(tcase, an_end_needs_no_memory);
	return suite_run(suite);
}
