/* SPDX-License-Identifier: MIT */
/*
 * What makes room under a limit: the arena's idle storage, wherever it is,
 * and the buffer that is to grow.
 */
#include "lend/arena.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>

#include "support/crew.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/suite.h"

#define KB ((size_t)1024)
#define LIMIT (256 * KB)

struct other {
	struct crew crew;
	lend_arena *arena;
	struct lend_req req;
	int error;
};

/* Leaves an idle slot, and stays. */
static void
other_main(size_t index, void *ctx)
{
	struct other *other = ctx;
	struct lend_worker loan;

	(void)index;
	other->error = lend_worker_checkout(other->arena, &other->req, &loan);
	if (!other->error)
		other->error = lend_worker_return(other->arena, &loan);
	crew_step(&other->crew);
	crew_step(&other->crew);
}

/* Everything idle: another living thread's slot, and two team sets. */
static void
fill_with_idle(struct other *other)
{
	struct lend_team first, second;

	crew_start(&other->crew, 1, other_main, other);
	crew_step(&other->crew);
	ck_assert_int_eq(other->error, 0);
	first = take(other->arena, &(struct lend_req){ 0 });
	second = take(other->arena, &(struct lend_req){ 0 });
	ck_assert_int_eq(lend_team_panel(other->arena, &first, 64 * KB), 0);
	ck_assert_int_eq(lend_team_panel(other->arena, &second, 64 * KB), 0);
	give_back(other->arena, &first);
	give_back(other->arena, &second);
	ck_assert_uint_eq(outstanding(), LIMIT);
}

static void
end_other(struct other *other)
{
	crew_step(&other->crew);
	crew_join(&other->crew);
	stats_settled(other->arena);
	arena_end(other->arena);
}

/* "First tries the arena's own idle storage (a trim)": a worker's growth. */
START_TEST(a_checkout_gets_what_others_left_idle)
{
	struct other other = {
		.arena = arena_limited(LIMIT),
		.req = worker_req(64 * KB, 64 * KB, 0),
	};
	struct lend_req req = worker_req(LIMIT, 0, 0);
	struct lend_worker loan;

	fill_with_idle(&other);
	loan = checkout(other.arena, &req);
	ck_assert_uint_eq(stats_of(other.arena).trims, 1);
	ck_assert_uint_eq(stats_of(other.arena).leased_bytes, LIMIT);
	ck_assert_uint_eq(outstanding(), LIMIT);
	pattern_write(loan.a, LIMIT, 1);
	checkin(other.arena, &loan);
	end_other(&other);
}
END_TEST

/* The same for a take, a panel, a scatter vector. */
START_TEST(a_team_gets_what_others_left_idle)
{
	/* The set that it gets has a panel of 64 KiB: that stays. */
	const size_t elements = (LIMIT - 64 * KB) / sizeof(int64_t);

	for (int kind = 0; kind < 3; kind++) {
		struct other other = {
			.arena = arena_limited(LIMIT),
			.req = worker_req(64 * KB, 64 * KB, 0),
		};
		struct lend_req req = team_req(kind == 0 ? elements : 0, 0);
		struct lend_team lease;
		int error = 0;

		fill_with_idle(&other);
		lease = take(other.arena, &req);
		if (kind == 1)
			error = lend_team_panel(other.arena, &lease, LIMIT);
		if (kind == 2)
			error = lend_team_scatter_resize(other.arena, &lease,
							 elements);
		ck_assert_int_eq(error, 0);
		ck_assert_uint_eq(stats_of(other.arena).trims, 1);
		ck_assert_uint_eq(outstanding(), LIMIT);
		give_back(other.arena, &lease);
		end_other(&other);
	}
}
END_TEST

/* A scatter vector that grows keeps its elements: the old one stays. */
START_TEST(what_keeps_its_content_gets_it_too)
{
	const size_t elements = 64 * KB / sizeof(int64_t);
	struct other other = {
		.arena = arena_limited(LIMIT),
		.req = worker_req(128 * KB, 0, 0),
	};
	struct lend_req req = team_req(elements, 0);
	struct lend_team lease;

	crew_start(&other.crew, 1, other_main, &other);
	crew_step(&other.crew);
	lease = take(other.arena, &req);
	ck_assert_int_eq(lend_team_scatter_resize(other.arena, &lease,
						  elements), 0);
	pattern_write(lease.scatter, 64 * KB, 1);
	/* 64 KiB and 128 KiB beside each other: where the idle slot was. */
	ck_assert_int_eq(lend_team_scatter_resize(other.arena, &lease,
						  2 * elements), 0);
	ck_assert(pattern_holds(lease.scatter, 64 * KB, 1));
	ck_assert_uint_eq(stats_of(other.arena).trims, 1);
	ck_assert_uint_eq(outstanding(), 128 * KB);
	give_back(other.arena, &lease);
	end_other(&other);
}
END_TEST

/*
 * The idle storage of the slot that is just being lent is the arena's as
 * well: what a trim before the call would have released does not stand in
 * the way of the call.
 */
START_TEST(what_a_slot_had_idle_makes_room_too)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_req req = worker_req(0, LIMIT / 2, 0);
	struct lend_worker loan = checkout(arena, &req);

	checkin(arena, &loan);
	req = worker_req(LIMIT, 0, 0);
	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan), 0);
	checkin(arena, &loan);
	arena_end(arena);
}
END_TEST

/* The same for the set that a take gets. */
START_TEST(what_a_set_had_idle_makes_room_too)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_team lease = take(arena, &(struct lend_req){ 0 });
	struct lend_req req = team_req(LIMIT / 8, 0);

	ck_assert_int_eq(lend_team_panel(arena, &lease, LIMIT / 2), 0);
	give_back(arena, &lease);
	ck_assert_int_eq(lend_team_take(arena, &req, 1, 1, &lease), 0);
	give_back(arena, &lease);
	arena_end(arena);
}
END_TEST

/* What is out is not idle: it stays, and the growth is refused. */
START_TEST(what_is_lent_makes_no_room)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_req req = worker_req(LIMIT / 2, 0, 0);
	struct lend_worker loan = checkout(arena, &req);
	struct lend_team lease = take(arena, &(struct lend_req){ 0 });

	pattern_write(loan.a, LIMIT / 2, 1);
	ck_assert_int_eq(lend_team_panel(arena, &lease, LIMIT / 2 + 1),
			 -EDQUOT);
	ck_assert(pattern_holds(loan.a, LIMIT / 2, 1));
	ck_assert_int_eq(lend_team_panel(arena, &lease, LIMIT / 2), 0);
	give_back(arena, &lease);
	checkin(arena, &loan);
	arena_end(arena);
}
END_TEST

/*
 * Content need not survive growth, so a buffer may grow although there is no
 * room for the old one beside the new one.
 */
START_TEST(a_buffer_grows_in_the_place_of_the_old_one)
{
	lend_arena *arena = arena_limited(LIMIT);
	struct lend_req req = worker_req(0, 0, 0);
	struct lend_worker loan;
	struct lend_team lease;

	for (req.a_bytes = 4096; req.a_bytes <= LIMIT; req.a_bytes *= 2) {
		loan = checkout(arena, &req);
		ck_assert_uint_eq(stats_of(arena).retained_bytes,
				  req.a_bytes);
		pattern_write(loan.a, req.a_bytes, 1);
		checkin(arena, &loan);
	}
	ck_assert_uint_eq(stats_of(arena).trims, 0);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	lease = take(arena, &(struct lend_req){ 0 });
	for (size_t bytes = 4096; bytes <= LIMIT; bytes *= 2) {
		ck_assert_int_eq(lend_team_panel(arena, &lease, bytes), 0);
		ck_assert_uint_eq(outstanding(), bytes);
		pattern_write(lease.panel, bytes, 1);
	}
	give_back(arena, &lease);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("room under a limit");
	TCase *idle = watched_case(suite, "idle");
	TCase *place = watched_case(suite, "place");

	tcase_add_test(idle, a_checkout_gets_what_others_left_idle);
	tcase_add_test(idle, a_team_gets_what_others_left_idle);
	tcase_add_test(idle, what_keeps_its_content_gets_it_too);
	tcase_add_test(idle, what_a_slot_had_idle_makes_room_too);
	tcase_add_test(idle, what_a_set_had_idle_makes_room_too);
	tcase_add_test(idle, what_is_lent_makes_no_room);
	tcase_add_test(place, a_buffer_grows_in_the_place_of_the_old_one);
	return suite_run_also(suite, confs);
}
