/* SPDX-License-Identifier: MIT */
/* Threads come and go, many of them. */
#include <check.h>
#include <pthread.h>
#include <stdbool.h>

#include "lend/lend.h"
#include "support/flat.h"
#include "support/loans.h"
#include "support/scale.h"
#include "support/suite.h"

static const struct lend_req request = {
	.a_bytes = 65536, .tile_bytes = 16384, .worker_scatter = 1024
};

/* What a slot holds after that request. */
#define SLOT_STORAGE ((size_t)65536 + 16384 + 8192)

/* A loan on a thread that then ends. */
struct visit {
	lend_arena *arena;
	struct lend_worker loan;
	bool leaves;		/* the loan is out at its end */
	pthread_barrier_t *together; /* met while it is out */
	int errors;
};

static void *
visit(void *arg)
{
	struct visit *visit = arg;

	visit->errors = lend_worker_checkout(visit->arena, &request,
					     &visit->loan) != 0;
	if (!visit->errors)
		use(&visit->loan, &request);
	pthread_barrier_wait(visit->together);
	if (!visit->errors && !visit->leaves)
		visit->errors = lend_worker_return(visit->arena,
						   &visit->loan) != 0;
	return NULL;
}

/*
 * What an arena retains is bounded by the peak number of threads at once, not
 * by how many there ever were: thousands of threads, WAVE at a time.
 */
#define WAVE 8

static void
run_wave(struct visit *visits)
{
	pthread_t thread[WAVE];

	for (int i = 0; i < WAVE; i++)
		thread[i] = flat_thread(visit, &visits[i]);
	for (int i = 0; i < WAVE; i++) {
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
		ck_assert_int_eq(visits[i].errors, 0);
	}
}

static void
run_waves(unsigned threads, bool leave)
{
	struct visit visits[WAVE] = { { .arena = arena_new() } };
	unsigned waves = scale(threads / WAVE), warm = waves / 10 + 1;
	pthread_barrier_t together;
	struct lend_stats stats;
	struct flat flat;

	pthread_barrier_init(&together, NULL, WAVE);
	for (int i = 0; i < WAVE; i++) {
		visits[i].arena = visits[0].arena;
		visits[i].leaves = leave;
		visits[i].together = &together;
	}
	for (unsigned i = 0; i < warm; i++)
		run_wave(visits);
	flat_begin(&flat);
	for (unsigned i = 0; i < waves; i++)
		run_wave(visits);
	flat_end(&flat);
	stats = stats_of(visits[0].arena);
	ck_assert_uint_eq(stats.slots_idle, WAVE);
	ck_assert_uint_eq(stats.retained_bytes, WAVE * SLOT_STORAGE);
	ck_assert_uint_eq(stats.adopted, (warm + waves - 1) * WAVE);
	ck_assert_uint_eq(stats.abandoned,
			  leave ? (warm + waves) * WAVE : 0);
	stats_settled(visits[0].arena);
	arena_end(visits[0].arena);
	pthread_barrier_destroy(&together);
}

START_TEST(storage_is_bounded_by_the_threads_at_once)
{
	run_waves(20000, false);
}
END_TEST

START_TEST(storage_is_bounded_though_loans_are_left_out)
{
	run_waves(6000, true);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("thread_many");
	TCase *wave = watched_case(suite, "wave");

	tcase_add_test(wave, storage_is_bounded_by_the_threads_at_once);
	tcase_add_test(wave, storage_is_bounded_though_loans_are_left_out);
	return suite_run(suite);
}
