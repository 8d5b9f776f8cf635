/* SPDX-License-Identifier: MIT */
/*
 * Trim: what is idle goes, what is out stays.  All of it under both
 * protocols of the worker slots.
 */
#include "lend/arena.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "base/os.h"
#include "mem/init.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define HANDS 4

static const struct lend_req small = {
	.a_bytes = 20000, .tile_bytes = 5000, .worker_scatter = 300,
	.team_scatter = 512, .barriers = 3,
};

/* Threads with a slot each, idle or out, which wait for the main thread. */
struct hands {
	struct crew crew;
	lend_arena *arena;
	struct lend_req req;
	struct lend_worker loan[HANDS];
	int error[HANDS];
	atomic_int damaged;
};

static void
fill(const struct lend_worker *loan, const struct lend_req *req,
     uint64_t seed)
{
	pattern_write(loan->a, req->a_bytes & ~(size_t)7, seed);
	pattern_write(loan->tile, req->tile_bytes & ~(size_t)7, seed + 1);
	pattern_write(loan->scatter, req->worker_scatter * 8, seed + 2);
}

static bool
is_full(const struct lend_worker *loan, const struct lend_req *req,
	uint64_t seed)
{
	return pattern_holds(loan->a, req->a_bytes & ~(size_t)7, seed) &&
	       pattern_holds(loan->tile, req->tile_bytes & ~(size_t)7,
			     seed + 1) &&
	       pattern_holds(loan->scatter, req->worker_scatter * 8,
			     seed + 2);
}

/* Checks out, writes, returns; waits; does so once more. */
static void
idle_hand(size_t index, void *ctx)
{
	struct hands *hands = ctx;
	struct lend_worker *loan = &hands->loan[index];

	for (int turn = 0; turn < 2; turn++) {
		hands->error[index] |= lend_worker_checkout(hands->arena,
							    &hands->req,
							    loan);
		if (hands->error[index] == 0) {
			fill(loan, &hands->req, index);
			if (!is_full(loan, &hands->req, index))
				atomic_fetch_add(&hands->damaged, 1);
			hands->error[index] |=
				lend_worker_return(hands->arena, loan);
		}
		crew_step(&hands->crew);
		crew_step(&hands->crew);
	}
}

static void
assert_hands(const struct hands *hands)
{
	for (int i = 0; i < HANDS; i++)
		ck_assert_int_eq(hands->error[i], 0);
	ck_assert_int_eq(atomic_load(&hands->damaged), 0);
}

/* Three idle sets with panels. */
static void
leave_sets(lend_arena *arena, size_t panel)
{
	struct lend_team lease[3];

	for (int i = 0; i < 3; i++) {
		lease[i] = take(arena, &small);
		ck_assert_int_eq(lend_team_panel(arena, &lease[i], panel), 0);
		pattern_write(lease[i].panel, panel, 1);
	}
	for (int i = 0; i < 3; i++)
		give_back(arena, &lease[i]);
}

/*
 * "Releases all idle storage of the arena, on all threads' slots and all idle
 * team sets"; "a slot that was trimmed is simply re-grown on its thread's
 * next checkout".
 */
START_TEST(all_that_is_idle_goes_and_comes_back)
{
	struct hands hands = { .arena = arena_of(NULL), .req = small };
	struct lend_stats stats;

	leave_sets(hands.arena, 8192);
	crew_start(&hands.crew, HANDS, idle_hand, &hands);
	for (int turn = 0; turn < 2; turn++) {
		crew_step(&hands.crew);
		stats = stats_of(hands.arena);
		ck_assert_uint_eq(stats.slots_idle, HANDS);
		ck_assert_uint_eq(stats.sets_idle, 3);
		ck_assert_uint_ge(stats.retained_bytes,
				  HANDS * (32768 + 8192 + 2400));
		stats_settled(hands.arena);
		ck_assert_int_eq(lend_arena_trim(hands.arena), 0);
		stats = stats_of(hands.arena);
		ck_assert_uint_eq(stats.retained_bytes, 0);
		ck_assert_uint_eq(stats.panel_bytes, 0);
		ck_assert_uint_eq(outstanding(), 0);
		/* Slots and sets stay, without storage. */
		ck_assert_uint_eq(stats.slots_idle, HANDS);
		ck_assert_uint_eq(stats.sets_idle, 3);
		leave_sets(hands.arena, 8192);
		crew_step(&hands.crew);
	}
	crew_join(&hands.crew);
	assert_hands(&hands);
	ck_assert_uint_eq(stats_of(hands.arena).trims, 2);
	ck_assert_uint_eq(stats_of(hands.arena).sets_idle, 3);
	arena_end(hands.arena);
}
END_TEST

#define LARGE ((size_t)4 << 20)

/* "To the operating system: resident memory falls, not only the counter." */
START_TEST(resident_memory_falls)
{
	struct hands hands = { .arena = arena_of(NULL) };
	size_t before, after, bytes;

	if (process_resident() == 0)
		return;	/* this system does not say */
	hands.req = worker_req(LARGE, LARGE, LARGE / 8);
	leave_sets(hands.arena, LARGE);
	crew_start(&hands.crew, HANDS, idle_hand, &hands);
	crew_step(&hands.crew);
	bytes = (HANDS * 3 + 3) * LARGE;
	ck_assert_uint_ge(stats_of(hands.arena).retained_bytes, bytes);
	before = process_resident();
	ck_assert_uint_ge(before, bytes);
	ck_assert_int_eq(lend_arena_trim(hands.arena), 0);
	after = process_resident();
	ck_assert_uint_le(after, before - bytes + bytes / 16);
	for (int i = 0; i < 3; i++)
		crew_step(&hands.crew);
	crew_join(&hands.crew);
	assert_hands(&hands);
	arena_end(hands.arena);
}
END_TEST

/* Checks out and writes; waits while the main thread trims; goes on. */
static void
busy_hand(size_t index, void *ctx)
{
	struct hands *hands = ctx;
	struct lend_worker *loan = &hands->loan[index], nested;

	hands->error[index] |= lend_worker_checkout(hands->arena, &hands->req,
						    loan);
	hands->error[index] |= lend_worker_checkout(hands->arena, &hands->req,
						    &nested);
	fill(loan, &hands->req, index);
	fill(&nested, &hands->req, ~(uint64_t)index);
	crew_step(&hands->crew);
	crew_step(&hands->crew);
	if (!is_full(loan, &hands->req, index) ||
	    !is_full(&nested, &hands->req, ~(uint64_t)index))
		atomic_fetch_add(&hands->damaged, 1);
	loan->scatter_length = hands->req.worker_scatter;
	hands->error[index] |= lend_worker_scatter_resize(hands->arena, loan,
							  5000);
	if (!is_full(loan, &hands->req, index))
		atomic_fetch_add(&hands->damaged, 1);
	hands->error[index] |= lend_worker_return(hands->arena, &nested);
	hands->error[index] |= lend_worker_return(hands->arena, loan);
}

/* "Loans that are out are untouched, and usable during and after." */
START_TEST(what_is_out_is_untouched)
{
	struct hands hands = { .arena = arena_of(NULL), .req = small };
	struct lend_stats before, after;
	struct lend_team lease;
	size_t idle;

	/* Idle storage besides, which goes. */
	leave_sets(hands.arena, 8192);
	lease = take(hands.arena, &small);
	ck_assert_int_eq(lend_team_panel(hands.arena, &lease, 8192), 0);
	pattern_write(lease.panel, 8192, 11);
	pattern_write(lease.scatter, 512 * 8, 12);
	crew_start(&hands.crew, HANDS, busy_hand, &hands);
	crew_step(&hands.crew);
	before = stats_of(hands.arena);
	idle = before.retained_bytes - before.leased_bytes;
	ck_assert_uint_gt(idle, 2 * 8192);
	ck_assert_int_eq(lend_arena_trim(hands.arena), 0);
	after = stats_of(hands.arena);
	ck_assert_uint_eq(after.leased_bytes, before.leased_bytes);
	ck_assert_uint_eq(after.retained_bytes, after.leased_bytes);
	ck_assert_uint_eq(after.panel_bytes, 8192);
	ck_assert_uint_eq(after.slots_out, HANDS);
	ck_assert_uint_eq(after.sets_out, 1);
	crew_step(&hands.crew);
	crew_join(&hands.crew);
	assert_hands(&hands);
	ck_assert(pattern_holds(lease.panel, 8192, 11));
	ck_assert(pattern_holds(lease.scatter, 512 * 8, 12));
	ck_assert_int_eq(lend_team_panel(hands.arena, &lease, 20000), 0);
	give_back(hands.arena, &lease);
	stats_settled(hands.arena);
	/* And now that it is back, it goes. */
	ck_assert_int_eq(lend_arena_trim(hands.arena), 0);
	ck_assert_uint_eq(outstanding(), 0);
	stats_settled(hands.arena);
	arena_end(hands.arena);
}
END_TEST

/* A trimmed slot begins anew: it has what is asked for now, not before. */
START_TEST(a_trimmed_slot_forgets_how_large_it_was)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_req large = worker_req(1 << 20, 1 << 20, 10000);
	struct lend_req less = worker_req(100, 0, 0);
	struct lend_worker loan = checkout(arena, &large);

	checkin(arena, &loan);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	loan = checkout(arena, &less);
	ck_assert_ptr_nonnull(loan.a);
	ck_assert_ptr_null(loan.tile);
	ck_assert_ptr_null(loan.scatter);
	ck_assert_uint_eq(stats_of(arena).leased_bytes, 4096);
	ck_assert_uint_eq(outstanding(), 4096);
	checkin(arena, &loan);
	arena_end(arena);
}
END_TEST

static void
lone_hand(size_t index, void *ctx)
{
	struct hands *hands = ctx;

	hands->error[index] =
		lend_worker_checkout(hands->arena, &hands->req,
				     &hands->loan[index]) ||
		lend_worker_return(hands->arena, &hands->loan[index]);
}

/* Slots of threads that have ended are idle too. */
START_TEST(slots_of_ended_threads_are_trimmed)
{
	struct hands hands = { .arena = arena_of(NULL), .req = small };

	crew_run(HANDS, lone_hand, &hands);
	ck_assert_uint_gt(outstanding(), 0);
	ck_assert_int_eq(lend_arena_trim(hands.arena), 0);
	ck_assert_uint_eq(outstanding(), 0);
	stats_settled(hands.arena);
	crew_run(HANDS, lone_hand, &hands);
	assert_hands(&hands);
	stats_settled(hands.arena);
	arena_end(hands.arena);
}
END_TEST

START_TEST(nothing_to_trim_is_no_error)
{
	lend_arena *arena = arena_of(NULL);

	ck_assert_int_eq(lend_arena_trim(NULL), -EINVAL);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	ck_assert_uint_eq(stats_of(arena).trims, 2);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* Another arena's idle storage is none of its business. */
START_TEST(another_arena_keeps_its_storage)
{
	lend_arena *arena = arena_of(NULL), *other = arena_of(NULL);
	struct lend_worker loan = checkout(other, &small);

	checkin(other, &loan);
	leave_sets(other, 4096);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	stats_settled(other);
	ck_assert_uint_gt(stats_of(other).retained_bytes, 3 * 4096 + 20000);
	arena_end(arena);
	arena_end(other);
}
END_TEST

#define LENDERS 4
#define LEADERS 2
#define TRIMMERS 2

/* Everybody at once. */
struct storm {
	lend_arena *arena;
	atomic_int at_work;	/* lenders and leaders */
	atomic_int errors;
	atomic_int damaged;
};

static void
note(struct storm *storm, int error, bool whole)
{
	if (error)
		atomic_fetch_add(&storm->errors, 1);
	if (!whole)
		atomic_fetch_add(&storm->damaged, 1);
}

static void
storm_worker(struct storm *storm, uint64_t seed, uint64_t *random)
{
	struct lend_req req = worker_req(random_size(random, 32768),
					 random_size(random, 8192),
					 random_size(random, 512));
	struct lend_worker loan;
	int error = lend_worker_checkout(storm->arena, &req, &loan);

	note(storm, error, true);
	if (error)
		return;
	fill(&loan, &req, seed);
	if (random_below(random, 8) == 0) {
		loan.scatter_length = req.worker_scatter;
		note(storm, lend_worker_scatter_resize(storm->arena, &loan,
						       1000), true);
	}
	if (random_below(random, 8) == 0)
		storm_worker(storm, ~seed, random);
	if (random_below(random, 2))
		sched_yield();
	note(storm, 0, is_full(&loan, &req, seed));
	note(storm, lend_worker_return(storm->arena, &loan), true);
}

static void
storm_team(struct storm *storm, uint64_t seed, uint64_t *random)
{
	struct lend_req req = team_req(random_size(random, 512),
				       random_below(random, 4));
	size_t panel = random_size(random, 32768) & ~(size_t)7;
	struct lend_team lease;
	int error = lend_team_take(storm->arena, &req, 2, 2, &lease);

	note(storm, error, true);
	if (error)
		return;
	pattern_write(lease.scatter, req.team_scatter * 8, seed);
	note(storm, lend_team_panel(storm->arena, &lease, panel), true);
	pattern_write(lease.panel, panel, ~seed);
	if (random_below(random, 2))
		sched_yield();
	note(storm, 0, pattern_holds(lease.panel, panel, ~seed) &&
	     pattern_holds(lease.scatter, req.team_scatter * 8, seed));
	note(storm, lend_team_return(storm->arena, &lease), true);
}

static void
storm_main(size_t index, void *ctx)
{
	struct storm *storm = ctx;
	unsigned rounds = scale(1500);
	uint64_t random = index;

	if (index >= LENDERS + LEADERS) {
		while (atomic_load(&storm->at_work) > 0) {
			note(storm, lend_arena_trim(storm->arena), true);
			sched_yield();
		}
		return;
	}
	for (unsigned i = 0; i < rounds; i++) {
		uint64_t seed = (uint64_t)index << 32 | i;

		if (index < LENDERS)
			storm_worker(storm, seed, &random);
		else
			storm_team(storm, seed, &random);
	}
	atomic_fetch_sub(&storm->at_work, 1);
}

/* "Trim may run at any time, from any thread, also several at once." */
START_TEST(several_trim_while_others_work)
{
	struct storm storm = {
		.arena = arena_of(NULL),
		.at_work = LENDERS + LEADERS,
	};
	struct lend_stats stats;

	crew_run(LENDERS + LEADERS + TRIMMERS, storm_main, &storm);
	ck_assert_int_eq(atomic_load(&storm.errors), 0);
	ck_assert_int_eq(atomic_load(&storm.damaged), 0);
	stats_settled(storm.arena);
	stats = stats_of(storm.arena);
	ck_assert_uint_ge(stats.trims, 1);
	ck_assert_uint_le(stats.slots_idle, LENDERS);
	/* Of those who take and those who trim each may hold one. */
	ck_assert_uint_le(stats.sets_idle, LEADERS + TRIMMERS);
	ck_assert_int_eq(lend_arena_trim(storm.arena), 0);
	ck_assert_uint_eq(outstanding(), 0);
	stats_settled(storm.arena);
	arena_end(storm.arena);
}
END_TEST

/* That the process runs under the protocol that it was started for. */
START_TEST(the_protocol_is_the_one_asked_for)
{
	lend_arena *arena = arena_of(NULL);

	ck_assert_int_eq(stats_of(arena).protocol,
			 lend__conf.membarrier && os_membarrier_register() ?
			 LEND_PROTOCOL_FAST : LEND_PROTOCOL_EXCHANGE);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("trim");
	TCase *idle = watched_case(suite, "idle");
	TCase *out = watched_case(suite, "out");
	TCase *storm = watched_case(suite, "storm");

	tcase_add_test(idle, the_protocol_is_the_one_asked_for);
	tcase_add_test(idle, all_that_is_idle_goes_and_comes_back);
	tcase_add_test(idle, resident_memory_falls);
	tcase_add_test(idle, a_trimmed_slot_forgets_how_large_it_was);
	tcase_add_test(idle, slots_of_ended_threads_are_trimmed);
	tcase_add_test(idle, nothing_to_trim_is_no_error);
	tcase_add_test(idle, another_arena_keeps_its_storage);
	tcase_add_test(out, what_is_out_is_untouched);
	tcase_add_test(storm, several_trim_while_others_work);
	return suite_run_also(suite, confs);
}
