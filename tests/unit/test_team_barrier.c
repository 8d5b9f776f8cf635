/* SPDX-License-Identifier: MIT */
/* The barriers that come with a team loan. */
#include "lend/team.h"

#include <check.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/atomic.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/scale.h"
#include "support/suite.h"
#include "sync/barrier.h"

/* Barriers, and the shape that they are for. */
struct shape {
	size_t barriers, pm, pn;
};

static const struct shape shapes[] = {
	{ 4, 2, 3 }, { 1, 8, 1 }, { 0, 1, 1 }, { 64, 3, 2 }, { 63, 5, 5 },
	{ 7, 1, 9 }, { 64, 1000000, 1 }, { 2, 2, 2 }, { 0, 6, 6 },
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static struct lend_team
take_shape(lend_arena *arena, const struct shape *shape)
{
	struct lend_req req = team_req(100, shape->barriers);
	struct lend_team lease;

	ck_assert_int_eq(lend_team_take(arena, &req, shape->pm, shape->pn,
					&lease), 0);
	return lease;
}

static void
assert_shape(const struct lend_team *lease, const struct shape *shape)
{
	ck_assert_uint_eq(lease->barriers, shape->barriers);
	ck_assert_uint_eq(lease->pm, shape->pm);
	ck_assert_uint_eq(lease->pn, shape->pn);
	for (size_t i = 0; i < shape->barriers; i++) {
		const char *first = (const char *)lend_team_barrier(lease, 0);
		const char *barrier = (const char *)lend_team_barrier(lease,
								      i);

		ck_assert_ptr_nonnull(barrier);
		/* Each of its own line, one after the other. */
		ck_assert_ptr_eq(barrier, first + i * LEND_BARRIER_BYTES);
		ck_assert_uint_eq((uintptr_t)barrier % LEND_BARRIER_BYTES, 0);
		ck_assert_uint_eq(lend_barrier_parties(
				  lend_team_barrier(lease, i)), shape->pm);
	}
	ck_assert_ptr_null(lend_team_barrier(lease, shape->barriers));
	ck_assert_ptr_null(lend_team_barrier(lease, shape->barriers + 1));
	ck_assert_ptr_null(lend_team_barrier(lease, SIZE_MAX));
}

/*
 * "Exactly req.barriers barriers of pm parties each"; "a set that comes back
 * for another shape gets barriers for the new one".
 */
START_TEST(barriers_are_for_the_shape_that_was_asked_for)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease;

	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < SHAPES; i++) {
			lease = take_shape(arena, &shapes[i]);
			assert_shape(&lease, &shapes[i]);
			give_back(arena, &lease);
			stats_settled(arena);
		}
	}
	ck_assert_uint_eq(stats_of(arena).sets_idle, 1);
	ck_assert_ptr_null(lend_team_barrier(NULL, 0));
	arena_end(arena);
}
END_TEST

/* "Without allocating where its barrier storage suffices." */
START_TEST(reshaping_allocates_nothing_where_there_is_room)
{
	lend_arena *arena = arena_of(NULL);
	struct shape largest = { 64, 1, 1 };
	struct lend_team lease = take_shape(arena, &largest);
	struct fault_counts before, after;
	uint64_t growths;

	give_back(arena, &lease);
	growths = stats_of(arena).growths;
	before = fault_counts();
	for (size_t i = 0; i < SHAPES; i++) {
		lease = take_shape(arena, &shapes[i]);
		give_back(arena, &lease);
	}
	after = fault_counts();
	counts_same(&before, &after);
	ck_assert_uint_eq(stats_of(arena).growths, growths);
	/* Where there is none it does: 4096 bytes are 64 barriers. */
	largest.barriers = 4 * 64;
	lease = take_shape(arena, &largest);
	assert_shape(&lease, &largest);
	give_back(arena, &lease);
	ck_assert_uint_gt(fault_counts().extent_allocs, after.extent_allocs);
	arena_end(arena);
}
END_TEST

#define ROWS 4
#define COLUMNS 3

/* pm x pn threads; thread (i, j) meets the others of column j at barrier j. */
struct team {
	struct lend_team lease;
	unsigned rounds;
	/* Plain: the barrier alone orders them. */
	unsigned seen[COLUMNS][ROWS];
	atomic_uint firsts[COLUMNS];	/* how often one of them was told so */
	atomic_uint wrong;
};

static void
team_main(size_t index, void *ctx)
{
	struct team *team = ctx;
	size_t i = index % team->lease.pm, j = index / team->lease.pm;
	struct lend_barrier *barrier = lend_team_barrier(&team->lease, j);

	for (unsigned round = 1; round <= team->rounds; round++) {
		team->seen[j][i] = round;
		if (lend_barrier_wait(barrier))
			atomic_fetch_add(&team->firsts[j], 1);
		for (size_t k = 0; k < team->lease.pm; k++)
			if (team->seen[j][k] != round)
				atomic_fetch_add(&team->wrong, 1);
		if (lend_barrier_wait(barrier))
			atomic_fetch_add(&team->firsts[j], 1);
	}
}

/* What each wrote before is seen by all; exactly one is told that it was. */
static void
run_team(const struct lend_team *lease)
{
	struct team team = { .lease = *lease, .rounds = scale(300) };

	crew_run(lease->pm * lease->pn, team_main, &team);
	ck_assert_uint_eq(atomic_load(&team.wrong), 0);
	for (size_t j = 0; j < lease->pn; j++)
		ck_assert_uint_eq(atomic_load(&team.firsts[j]),
				  2 * team.rounds);
}

static const struct shape teams[] = {
	{ COLUMNS, ROWS, COLUMNS }, { 2, 1, 2 }, { 3, 2, 3 }, { 1, 4, 1 },
};

#define TEAMS (sizeof(teams) / sizeof(teams[0]))

/* A real team, on the same set again and again in other shapes. */
START_TEST(barriers_hold_a_team_after_every_reshaping)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease;

	for (size_t i = 0; i < TEAMS; i++) {
		lease = take_shape(arena, &teams[i]);
		run_team(&lease);
		give_back(arena, &lease);
	}
	ck_assert_uint_eq(stats_of(arena).sets_idle, 1);
	arena_end(arena);
}
END_TEST

/*
 * A loan may end when some have arrived and others never will: a team of
 * which a thread failed.  The next team starts afresh, of whatever shape.
 */
START_TEST(a_barrier_that_was_left_half_met_starts_afresh)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease;

	for (size_t i = 0; i < TEAMS; i++) {
		lease = take_shape(arena, &teams[0]);
		for (size_t j = 0; j < lease.barriers; j++) {
			struct lend_barrier *barrier =
				lend_team_barrier(&lease, j);

			/* As one that arrived, and slept, leaves it. */
			fetch_add_relaxed(&barrier->arrived, 1);
			store_relaxed(&barrier->phase,
				      load_relaxed(&barrier->phase) | 1);
		}
		give_back(arena, &lease);
		lease = take_shape(arena, &teams[i]);
		run_team(&lease);
		give_back(arena, &lease);
	}
	ck_assert_uint_eq(stats_of(arena).sets_idle, 1);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("team barriers");
	TCase *shape = watched_case(suite, "shape");
	TCase *team = watched_case(suite, "team");

	tcase_add_test(shape, barriers_are_for_the_shape_that_was_asked_for);
	tcase_add_test(shape, reshaping_allocates_nothing_where_there_is_room);
	tcase_add_test(team, barriers_hold_a_team_after_every_reshaping);
	tcase_add_test(team, a_barrier_that_was_left_half_met_starts_afresh);
	return suite_run(suite);
}
