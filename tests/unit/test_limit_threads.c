/* SPDX-License-Identifier: MIT */
/*
 * The limit under 8 threads that all grow: never exceeded, not for a moment;
 * nothing of it is lost.
 */
#include "lend/arena.h"
#include "lend/buffer.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "mem/backend.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/instep.h"
#include "support/loans.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/workers.h"

#define HANDS 8
#define KB ((size_t)1024)
/* Room for some of what they want, not for all. */
#define LIMIT (256 * KB)

/*
 * A backend that gauges what is outstanding: from before an extent is made
 * until after it is gone, so that no moment is missed.
 */
static const struct backend *behind;
static struct gauge held;

static size_t
gauged_size(size_t bytes)
{
	return behind->extent_size(bytes);
}

static void *
gauged_alloc(size_t size)
{
	void *p;

	gauge_add(&held, size);
	p = behind->extent_alloc(size);
	if (!p)
		gauge_sub(&held, size);
	return p;
}

static void
gauged_free(void *p, size_t size)
{
	behind->extent_free(p, size);
	gauge_sub(&held, size);
}

static void *
gauged_pages_alloc(size_t size)
{
	return behind->pages_alloc(size);
}

static void
gauged_pages_free(void *p, size_t size)
{
	behind->pages_free(p, size);
}

static const struct backend gauged = {
	.name = "gauged",
	.extent_size = gauged_size,
	.extent_alloc = gauged_alloc,
	.extent_free = gauged_free,
	.pages_alloc = gauged_pages_alloc,
	.pages_free = gauged_pages_free,
};

static void
gauge_begin(void)
{
	behind = lend__backend;
	atomic_store(&held.sum, 0);
	atomic_store(&held.most, 0);
	lend__backend = &gauged;
}

static void
gauge_end(void)
{
	lend__backend = behind;
}

struct crowd {
	lend_arena *arena;
	bool starve;		/* let allocations fail besides */
	atomic_int at_work;
	atomic_int lent;	/* what succeeded */
	atomic_int refused;	/* what the limit forbade */
	atomic_int errors;	/* anything else */
	/* The sampler's. */
	unsigned wrong;
	size_t most;
};

static void
note(struct crowd *crowd, int error)
{
	if (error == 0)
		atomic_fetch_add(&crowd->lent, 1);
	else if (error == -EDQUOT)
		atomic_fetch_add(&crowd->refused, 1);
	else if (error != -ENOMEM || !crowd->starve)
		atomic_fetch_add(&crowd->errors, 1);
}

/* No nested loans: they would be outstanding, and not under the limit. */
static void
one_worker(struct crowd *crowd, uint64_t *random)
{
	struct lend_req req = worker_req(random_size(random, 128 * KB),
					 random_size(random, 32 * KB),
					 random_size(random, 1024));
	struct lend_worker loan;
	int error = lend_worker_checkout(crowd->arena, &req, &loan);

	note(crowd, error);
	if (error)
		return;
	if (random_below(random, 2))
		note(crowd, lend_worker_scatter_resize(crowd->arena, &loan,
				random_size(random, 4096)));
	if (random_below(random, 2))
		sched_yield();
	note(crowd, lend_worker_return(crowd->arena, &loan));
}

static void
one_team(struct crowd *crowd, uint64_t *random)
{
	struct lend_req req = team_req(random_size(random, 4096),
				       random_below(random, 100));
	struct lend_team lease;
	int error = lend_team_take(crowd->arena, &req, 2, 2, &lease);

	note(crowd, error);
	if (error)
		return;
	note(crowd, lend_team_panel(crowd->arena, &lease,
				    random_size(random, 128 * KB)));
	if (random_below(random, 2))
		sched_yield();
	if (random_below(random, 2))
		note(crowd, lend_team_scatter_resize(crowd->arena, &lease,
				random_size(random, 8192)));
	if (random_below(random, 2))
		note(crowd, lend_team_scatter_shrink(crowd->arena, &lease));
	note(crowd, lend_team_return(crowd->arena, &lease));
}

static void
one_buffer(struct crowd *crowd, uint64_t *random)
{
	void *buffer;
	int error = lend_buffer_borrow(crowd->arena,
				       1 + random_size(random, 128 * KB),
				       &buffer);

	note(crowd, error);
	if (error)
		return;
	if (random_below(random, 2))
		sched_yield();
	note(crowd, lend_buffer_return(buffer));
}

static void
sample(struct crowd *crowd)
{
	do {
		struct lend_stats stats = stats_of(crowd->arena);

		if (stats.retained_bytes > LIMIT ||
		    stats.leased_bytes > stats.retained_bytes ||
		    stats.panel_bytes > stats.retained_bytes)
			crowd->wrong++;
		if (stats.retained_bytes > crowd->most)
			crowd->most = stats.retained_bytes;
		sched_yield();
	} while (atomic_load(&crowd->at_work) > 0);
}

static void
crowd_main(size_t index, void *ctx)
{
	struct crowd *crowd = ctx;
	unsigned rounds = scale(1500);
	uint64_t random = index;

	if (index == HANDS) {
		sample(crowd);
		return;
	}
	for (unsigned i = 0; i < rounds; i++) {
		if (crowd->starve && random_below(&random, 20) == 0)
			fault_fail_nth(FAULT_EXTENT,
				       1 + random_below(&random, 4));
		switch (random_below(&random, 3)) {
		case 0: one_worker(crowd, &random); break;
		case 1: one_team(crowd, &random); break;
		default: one_buffer(crowd, &random);
		}
	}
	atomic_fetch_sub(&crowd->at_work, 1);
}

static void
run_crowd(bool starve)
{
	struct crowd crowd = { .starve = starve, .at_work = HANDS };
	struct lend_req whole = worker_req(LIMIT, 0, 0);
	struct lend_worker loan;

	gauge_begin();
	crowd.arena = arena_limited(LIMIT);
	crew_run(HANDS + 1, crowd_main, &crowd);
	fault_fail_nth(0, 0);
	ck_assert_int_eq(atomic_load(&crowd.errors), 0);
	ck_assert_uint_eq(crowd.wrong, 0);
	ck_assert_uint_le(crowd.most, LIMIT);
	ck_assert_uint_le(atomic_load(&held.most), LIMIT);
	/* It was near, and it was asked for more: else this proves nothing. */
	ck_assert_uint_ge(atomic_load(&held.most), LIMIT * 3 / 4);
	ck_assert_int_ge(atomic_load(&crowd.refused), 1);
	ck_assert_int_ge(atomic_load(&crowd.lent), HANDS);
	ck_assert_uint_ge(stats_of(crowd.arena).trims, 1);
	stats_settled(crowd.arena);
	/* Nothing is charged that is not there: all of it can be had. */
	ck_assert_int_eq(lend_arena_trim(crowd.arena), 0);
	loan = checkout(crowd.arena, &whole);
	ck_assert_uint_eq(stats_of(crowd.arena).retained_bytes, LIMIT);
	checkin(crowd.arena, &loan);
	arena_end(crowd.arena);
	gauge_end();
}

/* "It never exceeds the ceiling, not for a moment, under any concurrency." */
START_TEST(eight_threads_never_exceed_the_limit)
{
	run_crowd(false);
}
END_TEST

/* The same where memory is short besides. */
START_TEST(eight_threads_never_exceed_it_without_memory)
{
	run_crowd(true);
	ck_assert_uint_ge(fault_counts().failed, 1);
}
END_TEST

#define PAGE ((size_t)4096)

struct race {
	struct instep step;
	lend_arena *arena;
	unsigned rounds;
	unsigned won[2], lost[2];
	int error[2];
};

static void
race_main(size_t index, void *ctx)
{
	struct race *race = ctx;

	instep_begin(index);
	for (unsigned round = 0; round < race->rounds; round++) {
		struct lend_team lease;
		int error;

		race->error[index] |= lend_team_take(race->arena,
						     &(struct lend_req){ 0 },
						     1, 1, &lease);
		instep_meet(&race->step);
		instep_delay(index, round);
		error = lend_team_panel(race->arena, &lease, PAGE);
		race->won[index] += error == 0;
		race->lost[index] += error == -EDQUOT;
		/* Both are out until both have tried. */
		instep_meet(&race->step);
		race->error[index] |= lend_team_return(race->arena, &lease);
		race->error[index] |= lend_arena_trim(race->arena);
		instep_meet(&race->step);
	}
}

/* The last page, wanted by two at the same time: one gets it. */
START_TEST(of_two_growths_at_once_the_last_page_goes_to_one)
{
	struct race race = { .rounds = scale(4000) };

	gauge_begin();
	race.arena = arena_limited(PAGE);
	crew_run(2, race_main, &race);
	ck_assert_int_eq(race.error[0] | race.error[1], 0);
	ck_assert_uint_eq(atomic_load(&held.most), PAGE);
	ck_assert_uint_eq(race.won[0] + race.won[1], race.rounds);
	ck_assert_uint_eq(race.lost[0] + race.lost[1], race.rounds);
	stats_settled(race.arena);
	arena_end(race.arena);
	gauge_end();
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("limit of threads");
	TCase *crowd = watched_case(suite, "crowd");

	tcase_add_test(crowd, eight_threads_never_exceed_the_limit);
	tcase_add_test(crowd, eight_threads_never_exceed_it_without_memory);
	tcase_add_test(crowd,
		       of_two_growths_at_once_the_last_page_goes_to_one);
	return suite_run_also(suite, confs);
}
