/* SPDX-License-Identifier: MIT */
/*
 * Team loans without memory: "if preparing fails, the set is returned or
 * released whole, accounts settled".  What is demanded after each failure is
 * in support/trial.h.
 */
#include <check.h>
#include <string.h>

#include "lend/lend.h"
#include "support/fault.h"
#include "support/trial.h"

static const struct lend_req little = { .team_scatter = 100, .barriers = 2 };
/* More in every component, whatever the sizes round to. */
static const struct lend_req large = { .team_scatter = 5000, .barriers = 200 };

#define LITTLE 100
#define LARGE 5000
#define LITTLE_PANEL 5000
#define LARGE_PANEL 50000

static int
take_large(struct trial *trial)
{
	return lend_team_take(trial->arena, &large, 3, 2, &trial->lease);
}

static void
lease_untouched(struct trial *trial)
{
	expect(trial, untouched(&trial->lease, sizeof(trial->lease)));
}

static void
return_lease(struct trial *trial)
{
	expect(trial, lend_team_return(trial->arena, &trial->lease) == 0);
}

static void
return_large_lease(struct trial *trial)
{
	struct lend_team *lease = &trial->lease;

	expect(trial, lease->scatter_capacity >= large.team_scatter);
	expect(trial, lease->barriers == large.barriers);
	for (size_t i = 0; i < large.barriers; i++)
		expect(trial, lend_barrier_parties(
			lend_team_barrier(lease, i)) == 3);
	fill(lease->scatter, large.team_scatter);
	return_lease(trial);
}

static void
take_little(struct trial *trial)
{
	expect(trial, lend_team_take(trial->arena, &little, 2, 2,
				     &trial->lease) == 0);
}

/* An idle set with a panel and scatter.  Its lease is where it was. */
static void
warm_team(struct trial *trial)
{
	struct lend_team lease;

	expect(trial, lend_team_take(trial->arena, &little, 2, 2,
				     &lease) == 0);
	expect(trial, lend_team_panel(trial->arena, &lease,
				      LITTLE_PANEL) == 0);
	trial->outer.a = lease.panel;
	trial->outer.scatter = lease.scatter;
	expect(trial, lend_team_return(trial->arena, &lease) == 0);
}

/* The idle set is whole: it serves again, with what it had. */
static void
team_still_warm(struct trial *trial)
{
	struct lend_team again;
	struct lend_stats was, is;

	lease_untouched(trial);
	(void)lend_arena_stats(trial->arena, &was);
	expect(trial, lend_team_take(trial->arena, &little, 4, 2,
				     &again) == 0);
	expect(trial, again.panel == trial->outer.a);
	expect(trial, again.scatter == trial->outer.scatter);
	expect(trial, lend_team_return(trial->arena, &again) == 0);
	(void)lend_arena_stats(trial->arena, &is);
	expect(trial, is.growths == was.growths);
}

START_TEST(take_without_memory)
{
	/* A set, its scatter vector, its barriers. */
	static const struct operation new = {
		.name = "take of a new set", .least = 3, .may = MAY_SET,
		.run = take_large, .kept = lease_untouched,
		.after = return_large_lease
	};
	static const struct operation growing = {
		.name = "take that grows a set", .least = 2,
		.before = warm_team, .run = take_large,
		.kept = team_still_warm, .after = return_large_lease
	};

	starve(&new);
	starve(&growing);
}
END_TEST

/*
 * "A set that comes back for another shape gets barriers for the new one,
 * without allocating where its barrier storage suffices."
 */
START_TEST(reshaped_take_needs_no_memory)
{
	struct lend_req req = { .team_scatter = 10, .barriers = 64 };
	struct lend_team lease;
	lend_arena *arena;

	ck_assert_int_eq(lend_arena_create(&arena, NULL), 0);
	ck_assert_int_eq(lend_team_take(arena, &req, 1, 8, &lease), 0);
	ck_assert_int_eq(lend_team_return(arena, &lease), 0);
	fault_fail_all(FAULT_ANY);
	for (size_t parties = 1; parties <= 8; parties++) {
		req.barriers = 8 * parties;
		ck_assert_int_eq(lend_team_take(arena, &req, parties, 2,
						&lease), 0);
		ck_assert_uint_eq(lease.barriers, req.barriers);
		ck_assert_ptr_null(lend_team_barrier(&lease, req.barriers));
		for (size_t i = 0; i < req.barriers; i++)
			ck_assert_uint_eq(lend_barrier_parties(
				lend_team_barrier(&lease, i)), parties);
		ck_assert_int_eq(lend_team_return(arena, &lease), 0);
	}
	fault_fail_all(0);
	ck_assert_int_eq(lend_arena_destroy(arena), 0);
}
END_TEST

static int
panel_large(struct trial *trial)
{
	return lend_team_panel(trial->arena, &trial->lease, LARGE_PANEL);
}

static void
no_panel(struct trial *trial)
{
	expect(trial, trial->lease.panel == NULL);
	expect(trial, trial->lease.panel_capacity == 0);
}

static void
panel_is_large(struct trial *trial)
{
	expect(trial, trial->lease.panel_capacity >= LARGE_PANEL);
	memset(trial->lease.panel, 9, LARGE_PANEL);
	return_lease(trial);
}

static void
take_with_panel(struct trial *trial)
{
	take_little(trial);
	expect(trial, lend_team_panel(trial->arena, &trial->lease,
				      LITTLE_PANEL) == 0);
	memset(trial->lease.panel, 8, LITTLE_PANEL);
}

static void
panel_is_whole(struct trial *trial)
{
	const unsigned char *panel = trial->lease.panel;

	expect(trial, trial->lease.panel_capacity >= LITTLE_PANEL);
	expect(trial, panel[0] == 8 && panel[LITTLE_PANEL - 1] == 8);
}

START_TEST(panel_without_memory)
{
	static const struct operation first = {
		.name = "first panel", .least = 1, .before = take_little,
		.run = panel_large, .kept = no_panel, .after = panel_is_large
	};
	static const struct operation growing = {
		.name = "growing panel", .least = 1,
		.before = take_with_panel, .run = panel_large,
		.kept = panel_is_whole, .after = panel_is_large
	};

	starve(&first);
	starve(&growing);
}
END_TEST

static void
take_with_scatter(struct trial *trial)
{
	take_little(trial);
	expect(trial, lend_team_scatter_resize(trial->arena, &trial->lease,
					       LITTLE) == 0);
	fill(trial->lease.scatter, LITTLE);
}

static int
resize_lease(struct trial *trial)
{
	return lend_team_scatter_resize(trial->arena, &trial->lease, LARGE);
}

static void
scatter_is_whole(struct trial *trial)
{
	expect(trial, trial->lease.scatter_length == LITTLE);
	expect(trial, filled(trial->lease.scatter, LITTLE));
}

static void
scatter_is_resized(struct trial *trial)
{
	expect(trial, trial->lease.scatter_length == LARGE);
	expect(trial, trial->lease.scatter_capacity >= LARGE);
	expect(trial, filled(trial->lease.scatter, LITTLE));
	fill(trial->lease.scatter, LARGE);
	return_lease(trial);
}

/* Of the vector's storage most is to be given back. */
static void
take_with_spare_scatter(struct trial *trial)
{
	take_with_scatter(trial);
	expect(trial, lend_team_scatter_resize(trial->arena, &trial->lease,
					       10 * LARGE) == 0);
	expect(trial, lend_team_scatter_resize(trial->arena, &trial->lease,
					       LITTLE) == 0);
}

static int
shrink_lease(struct trial *trial)
{
	return lend_team_scatter_shrink(trial->arena, &trial->lease);
}

static void
scatter_is_long(struct trial *trial)
{
	scatter_is_whole(trial);
	expect(trial, trial->lease.scatter_capacity >= 10 * LARGE);
}

static void
scatter_is_short(struct trial *trial)
{
	scatter_is_whole(trial);
	expect(trial, trial->lease.scatter_capacity < LARGE);
	return_lease(trial);
}

START_TEST(team_resize_without_memory)
{
	static const struct operation resize = {
		.name = "team resize", .least = 1,
		.before = take_with_scatter, .run = resize_lease,
		.kept = scatter_is_whole, .after = scatter_is_resized
	};
	static const struct operation shrink = {
		.name = "team shrink", .least = 1,
		.before = take_with_spare_scatter, .run = shrink_lease,
		.kept = scatter_is_long, .after = scatter_is_short
	};

	starve(&resize);
	starve(&shrink);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("memory of team loans");
	TCase *team = starved_case(suite, "team");

	tcase_add_test(team, take_without_memory);
	tcase_add_test(team, reshaped_take_needs_no_memory);
	tcase_add_test(team, panel_without_memory);
	tcase_add_test(team, team_resize_without_memory);
	return starved_run(suite);
}
