/* SPDX-License-Identifier: MIT */
/* Trace records of many threads at once: none lost, none given out twice. */
#include "lend/arena.h"

#include <check.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/crew.h"
#include "support/loans.h"
#include "support/records.h"
#include "support/scale.h"
#include "support/suite.h"

/* The kernel's, asked without the library. */
static pid_t
thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

#define HANDS 8

struct crowd {
	lend_arena *arena;
	pid_t thread[HANDS];
	unsigned grown[HANDS];	/* page buffers, by each */
	atomic_int at_work;
	atomic_int errors;
};

/* Loans of four sizes in turn: the first of each grows the slot. */
static void
crowd_main(size_t index, void *ctx)
{
	struct crowd *crowd = ctx;
	unsigned rounds = scale(200);
	struct lend_worker loan;
	struct lend_team lease;

	crowd->thread[index] = thread_id();
	for (unsigned i = 0; i < rounds; i++) {
		struct lend_req req = worker_req(4096u << i % 4, 0, i);
		int error = lend_worker_checkout(crowd->arena, &req, &loan);

		/* Nobody trims, and a new slot starts with nothing. */
		crowd->grown[index] += i < 4;
		error = error ? error :
			lend_worker_return(crowd->arena, &loan);
		if (error)
			atomic_fetch_add(&crowd->errors, 1);
	}
	/* A new set each, as none is returned before all are out. */
	if (lend_team_take(crowd->arena, &(struct lend_req){ 0 }, 1, 1,
			   &lease) ||
	    lend_team_panel(crowd->arena, &lease, 4096))
		atomic_fetch_add(&crowd->errors, 1);
	crowd->grown[index]++;
	atomic_fetch_sub(&crowd->at_work, 1);
	while (atomic_load(&crowd->at_work) > 0)
		sched_yield();
	if (lend_team_return(crowd->arena, &lease))
		atomic_fetch_add(&crowd->errors, 1);
}

/* Each hand's own records, in its own order. */
static void
assert_hand(const struct crowd *crowd, size_t hand, size_t n)
{
	size_t seen = 0, capacity = 2048;

	for (size_t i = 0; i < n; i++) {
		const struct lend_trace_record *record = taken_record(i);

		if (record->thread != crowd->thread[hand])
			continue;
		seen++;
		if (record->buffer == LEND_BUFFER_PANEL) {
			ck_assert_uint_eq(seen, crowd->grown[hand]);
			continue;
		}
		capacity *= 2;
		ck_assert_int_eq(record->buffer, LEND_BUFFER_A);
		ck_assert_uint_eq(record->capacity, capacity);
	}
	ck_assert_uint_eq(seen, crowd->grown[hand]);
}

/* "Which thread grew it": 8 at once, none of their records lost. */
START_TEST(eight_threads_leave_a_record_for_every_growth)
{
	struct crowd crowd = { .arena = arena_traced(), .at_work = HANDS };
	size_t sum = 0;

	crew_run(HANDS, crowd_main, &crowd);
	ck_assert_int_eq(atomic_load(&crowd.errors), 0);
	for (size_t i = 0; i < HANDS; i++)
		sum += crowd.grown[i];
	ck_assert_uint_eq(taken(crowd.arena), sum);
	for (size_t i = 0; i < HANDS; i++)
		assert_hand(&crowd, i, sum);
	arena_end(crowd.arena);
}
END_TEST

#define TAKERS 3

struct drain {
	lend_arena *arena;
	atomic_int at_work;
	atomic_int errors;
	atomic_size_t grown;
	atomic_size_t handed;
};

static void
count_one(const struct lend_trace_record *record, void *ctx)
{
	struct drain *drain = ctx;

	if (record->capacity == 4096 && record->buffer == LEND_BUFFER_PANEL)
		atomic_fetch_add(&drain->handed, 1);
	else
		atomic_fetch_add(&drain->errors, 1);
}

static void
drain_main(size_t index, void *ctx)
{
	struct drain *drain = ctx;
	unsigned rounds = scale(500);
	struct lend_team lease;

	if (index < TAKERS) {
		do {
			if (lend_trace_take(drain->arena, count_one,
					    drain) < 0)
				atomic_fetch_add(&drain->errors, 1);
			sched_yield();
		} while (atomic_load(&drain->at_work) > 0);
		return;
	}
	for (unsigned i = 0; i < rounds; i++) {
		int error = lend_team_take(drain->arena,
					   &(struct lend_req){ 0 }, 1, 1,
					   &lease);

		if (!error) {
			if (lease.panel == NULL)
				atomic_fetch_add(&drain->grown, 1);
			error = lend_team_panel(drain->arena, &lease, 4096);
			error |= lend_team_return(drain->arena, &lease);
		}
		error |= lend_arena_trim(drain->arena);
		if (error)
			atomic_fetch_add(&drain->errors, 1);
	}
	atomic_fetch_sub(&drain->at_work, 1);
}

/* Records that are taken meanwhile, by several: each goes to one of them. */
START_TEST(a_record_goes_to_one_taker)
{
	struct drain drain = { .arena = arena_traced(), .at_work = 4 };

	crew_run(TAKERS + 4, drain_main, &drain);
	ck_assert_int_ge(lend_trace_take(drain.arena, count_one, &drain), 0);
	ck_assert_int_eq(atomic_load(&drain.errors), 0);
	ck_assert_uint_ge(atomic_load(&drain.grown), 1);
	ck_assert_uint_eq(atomic_load(&drain.handed),
			  atomic_load(&drain.grown));
	arena_end(drain.arena);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("trace of threads");
	TCase *crowd = watched_case(suite, "crowd");

	tcase_add_test(crowd, eight_threads_leave_a_record_for_every_growth);
	tcase_add_test(crowd, a_record_goes_to_one_taker);
	return suite_run(suite);
}
