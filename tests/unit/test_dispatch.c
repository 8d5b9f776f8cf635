/* SPDX-License-Identifier: MIT */
/*
 * Who gets the idle workers: the policy, without threads.
 */
#include <check.h>
#include <string.h>

#include "exec/dispatch.h"
#include "support/suite.h"

struct desk {
	struct dispatch dispatch;
	struct worker workers[70];
	uint64_t map[2];
};

static void
desk_open(struct desk *desk)
{
	memset(desk, 0, sizeof(*desk));
	for (size_t i = 0; i < 70; i++)
		pthread_cond_init(&desk->workers[i].wake, NULL);
	desk->dispatch.width = 70;
	desk->dispatch.workers = desk->workers;
	desk->dispatch.idle_map = desk->map;
	ck_assert_uint_eq(dispatch_map_words(70), 2);
	dispatch_reset(&desk->dispatch);
	ck_assert(dispatch_sound(&desk->dispatch));
}

static void
desk_idle(struct desk *desk, size_t number)
{
	dispatch_idle(&desk->dispatch, &desk->workers[number]);
	ck_assert(dispatch_sound(&desk->dispatch));
}

START_TEST(dispatch_gives_a_gang_its_workers_at_once)
{
	struct desk desk;
	struct work gang = { .wanted = 2 };

	desk_open(&desk);
	desk_idle(&desk, 69);
	dispatch_gang(&desk.dispatch, &gang);
	ck_assert(dispatch_sound(&desk.dispatch));
	ck_assert_uint_eq(gang.running, 0);
	ck_assert_ptr_null(desk.workers[69].work);
	desk_idle(&desk, 3);
	ck_assert_uint_eq(gang.running, 2);
	ck_assert_uint_eq(gang.wanted, 0);
	/* The lowest number first. */
	ck_assert_uint_eq(desk.workers[3].index, 0);
	ck_assert_uint_eq(desk.workers[69].index, 1);
	ck_assert_uint_eq(desk.dispatch.idle, 0);
}
END_TEST

START_TEST(dispatch_saves_workers_for_the_head)
{
	struct desk desk;
	struct work large = { .wanted = 3 }, small = { .wanted = 1 };
	struct work offer = { .wanted = 2, .index = 1 };

	desk_open(&desk);
	dispatch_offer(&desk.dispatch, &offer);
	desk_idle(&desk, 0);
	ck_assert_ptr_eq(desk.workers[0].work, &offer);
	ck_assert_uint_eq(desk.workers[0].index, 1);
	dispatch_gang(&desk.dispatch, &large);
	dispatch_gang(&desk.dispatch, &small);
	desk_idle(&desk, 1);
	desk_idle(&desk, 2);
	ck_assert_uint_eq(desk.dispatch.idle, 2);
	desk_idle(&desk, 0);
	ck_assert_uint_eq(large.running, 3);
	ck_assert_uint_eq(small.running, 0);
	desk_idle(&desk, 2);
	ck_assert_ptr_eq(desk.workers[2].work, &small);
	/* No gang waits any more: the offer has its turn. */
	desk_idle(&desk, 1);
	ck_assert_ptr_eq(desk.workers[1].work, &offer);
	ck_assert_uint_eq(offer.wanted, 0);
	desk_idle(&desk, 0);
	ck_assert_ptr_null(desk.workers[0].work);
}
END_TEST

START_TEST(dispatch_gives_nothing_of_a_withdrawn_offer)
{
	struct desk desk;
	struct work offer = { .wanted = 2, .index = 1 };

	desk_open(&desk);
	dispatch_offer(&desk.dispatch, &offer);
	desk_idle(&desk, 0);
	dispatch_withdraw(&desk.dispatch, &offer);
	ck_assert(dispatch_sound(&desk.dispatch));
	desk_idle(&desk, 1);
	ck_assert_ptr_null(desk.workers[1].work);
	ck_assert_uint_eq(offer.index, 2);
	ck_assert_uint_eq(offer.running, 1);
	/* Once more, as its caller does when all were given: no harm. */
	dispatch_withdraw(&desk.dispatch, &offer);
	ck_assert(dispatch_sound(&desk.dispatch));
}
END_TEST

/* A pool of two, both workers idle. */
static void
desk_of_two(struct desk *desk)
{
	desk_open(desk);
	desk->dispatch.width = 2;
	desk_idle(desk, 0);
	desk_idle(desk, 1);
}

START_TEST(dispatch_seats_a_teams_caller)
{
	struct desk desk;
	struct work team = { .wanted = 2 }, gang = { .wanted = 1 };
	struct work offer = { .wanted = 1, .index = 1 };

	desk_of_two(&desk);
	ck_assert(dispatch_team(&desk.dispatch, &team));
	ck_assert(dispatch_sound(&desk.dispatch));
	ck_assert(team.seated);
	ck_assert_uint_eq(team.running, 1);
	ck_assert_ptr_eq(desk.workers[0].work, &team);
	ck_assert_uint_eq(desk.workers[0].index, 1);
	/* The other one sleeps on: there is no seat for it. */
	dispatch_offer(&desk.dispatch, &offer);
	ck_assert_ptr_null(desk.workers[1].work);
	dispatch_gang(&desk.dispatch, &gang);
	ck_assert_ptr_null(desk.workers[1].work);
	ck_assert(dispatch_sound(&desk.dispatch));
	dispatch_leave(&desk.dispatch, &team);
	ck_assert(dispatch_sound(&desk.dispatch));
	ck_assert(!team.seated);
	ck_assert_ptr_eq(desk.workers[1].work, &gang);
	ck_assert_uint_eq(offer.wanted, 1);
	desk_idle(&desk, 0);
	ck_assert_ptr_eq(desk.workers[0].work, &offer);
}
END_TEST

START_TEST(dispatch_seats_nobody_before_others)
{
	struct desk desk;
	struct work team = { .wanted = 2 }, next = { .wanted = 2 };
	struct work small = { .wanted = 1 };

	desk_of_two(&desk);
	ck_assert(dispatch_team(&desk.dispatch, &team));
	/* No seats. */
	ck_assert(!dispatch_team(&desk.dispatch, &next));
	ck_assert(!dispatch_team(&desk.dispatch, &small));
	dispatch_gang(&desk.dispatch, &next);
	dispatch_leave(&desk.dispatch, &team);
	/* One now, but a gang waits for two. */
	ck_assert(!dispatch_team(&desk.dispatch, &small));
	ck_assert(!small.seated);
	ck_assert_uint_eq(small.wanted, 1);
	ck_assert_uint_eq(small.index, 0);
	desk_idle(&desk, 0);
	ck_assert_uint_eq(next.running, 2);
	/* No worker: a team of one needs none, but a seat. */
	ck_assert(!dispatch_team(&desk.dispatch, &small));
	desk_idle(&desk, 1);
	ck_assert(dispatch_team(&desk.dispatch, &small));
	ck_assert_uint_eq(small.running, 0);
	ck_assert(dispatch_sound(&desk.dispatch));
}
END_TEST

static void
add_dispatch(TCase *tcase)
{
	tcase_add_test(tcase, dispatch_gives_a_gang_its_workers_at_once);
	tcase_add_test(tcase, dispatch_saves_workers_for_the_head);
	tcase_add_test(tcase, dispatch_gives_nothing_of_a_withdrawn_offer);
	tcase_add_test(tcase, dispatch_seats_a_teams_caller);
	tcase_add_test(tcase, dispatch_seats_nobody_before_others);
}

int
main(void)
{
	Suite *suite = suite_create("dispatch");

	add_dispatch(suite_case(suite, "dispatch"));
	return suite_run(suite);
}
