/* SPDX-License-Identifier: MIT */
/*
 * Team loans: who gets which set, the panel, the scatter vector.  Barriers
 * are in test_team_barrier.c, returns and refusals in test_team_return.c.
 */
#include "lend/team.h"

#include <check.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/os.h"
#include "mem/backend.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/workers.h"

#define ELEMENTS 512

static const struct lend_req some = {
	.team_scatter = ELEMENTS,
	.barriers = 3,
};

static bool
overlap(const void *p, size_t p_bytes, const void *q, size_t q_bytes)
{
	const char *a = p, *b = q;

	return a < b + q_bytes && b < a + p_bytes;
}

static bool
leases_overlap(const struct lend_team *a, const struct lend_team *b)
{
	return overlap(a->panel, a->panel_capacity, b->panel,
		       b->panel_capacity) ||
	       overlap(a->scatter, a->scatter_capacity * sizeof(int64_t),
		       b->scatter, b->scatter_capacity * sizeof(int64_t)) ||
	       overlap(lend_team_barrier(a, 0),
		       a->barriers * LEND_BARRIER_BYTES,
		       lend_team_barrier(b, 0),
		       b->barriers * LEND_BARRIER_BYTES);
}

/* "Two calls never share a set": all that are out have storage of their own. */
START_TEST(loans_that_are_out_share_nothing)
{
	struct lend_team lease[5];
	lend_arena *arena = arena_of(NULL);

	for (int i = 0; i < 5; i++) {
		lease[i] = take(arena, &some);
		ck_assert_int_eq(lend_team_panel(arena, &lease[i], 4096), 0);
		for (int j = 0; j < i; j++)
			ck_assert(!leases_overlap(&lease[i], &lease[j]));
	}
	for (int i = 0; i < 5; i++)
		give_back(arena, &lease[i]);
	arena_end(arena);
}
END_TEST

struct crowd {
	lend_arena *arena;
	struct gauge calls;	/* loans out, and calls in progress */
	atomic_int errors;
	atomic_int damaged;
};

/* One loan: its storage is written, and must still be so afterwards. */
static void
crowd_loan(struct crowd *crowd, uint64_t seed, uint64_t *random)
{
	struct lend_req req = team_req(random_size(random, 1024),
				       random_below(random, 5));
	size_t panel = 4096u << random_below(random, 4);
	struct lend_team lease;

	gauge_add(&crowd->calls, 1);
	if (lend_team_take(crowd->arena, &req, 2, 1, &lease) ||
	    lend_team_panel(crowd->arena, &lease, panel)) {
		atomic_fetch_add(&crowd->errors, 1);
		return;
	}
	pattern_write(lease.panel, panel, seed);
	pattern_write(lease.scatter, req.team_scatter * 8, ~seed);
	if (random_below(random, 4) == 0)
		sched_yield();
	if (!pattern_holds(lease.panel, panel, seed) ||
	    !pattern_holds(lease.scatter, req.team_scatter * 8, ~seed))
		atomic_fetch_add(&crowd->damaged, 1);
	if (lend_team_return(crowd->arena, &lease))
		atomic_fetch_add(&crowd->errors, 1);
	gauge_sub(&crowd->calls, 1);
}

static void
crowd_main(size_t index, void *ctx)
{
	struct crowd *crowd = ctx;
	uint64_t random = index;
	unsigned rounds = scale(2000);

	for (unsigned i = 0; i < rounds; i++)
		crowd_loan(crowd, (uint64_t)index << 32 | i, &random);
}

/*
 * "One team set exclusively", "never more sets than the peak number of team
 * loans out at once", a call inside take counting as one: under 8 threads.
 */
START_TEST(eight_threads_share_no_set_and_make_no_more_than_they_hold)
{
	struct crowd crowd = { .arena = arena_of(NULL) };
	struct lend_stats stats;

	crew_run(8, crowd_main, &crowd);
	ck_assert_int_eq(atomic_load(&crowd.errors), 0);
	ck_assert_int_eq(atomic_load(&crowd.damaged), 0);
	stats = stats_of(crowd.arena);
	ck_assert_uint_eq(stats.sets_out, 0);
	ck_assert_uint_ge(stats.sets_idle, 1);
	ck_assert_uint_le(stats.sets_idle, atomic_load(&crowd.calls.most));
	stats_settled(crowd.arena);
	arena_end(crowd.arena);
}
END_TEST

#define HELD 12

/* The same, alone: exactly the peak, at every moment. */
START_TEST(sets_are_as_many_as_were_out_at_once)
{
	struct lend_team lease[HELD];
	lend_arena *arena = arena_of(NULL);
	struct lend_stats stats;
	size_t out = 0, peak = 0;
	uint64_t random = 1;

	for (unsigned i = 0; i < 2000; i++) {
		if (out < HELD && random_below(&random, 2)) {
			lease[out++] = take(arena, &some);
		} else if (out) {
			size_t k = random_below(&random, (unsigned)out);

			give_back(arena, &lease[k]);
			lease[k] = lease[--out];
		}
		if (random_below(&random, 50) == 0)
			ck_assert_int_eq(lend_arena_trim(arena), 0);
		peak = out > peak ? out : peak;
		stats = stats_of(arena);
		ck_assert_uint_eq(stats.sets_out, out);
		ck_assert_uint_eq(stats.sets_idle + stats.sets_out, peak);
	}
	ck_assert_uint_ge(peak, 6);
	while (out)
		give_back(arena, &lease[--out]);
	arena_end(arena);
}
END_TEST

/* Three sets, told apart by where their scatter vectors are. */
static void
take_three(lend_arena *arena, struct lend_team lease[3])
{
	for (int i = 0; i < 3; i++)
		lease[i] = take(arena, &some);
}

/* "The most recently returned one if any is idle." */
START_TEST(the_most_recently_returned_set_comes_first)
{
	struct lend_team lease[3], next;
	lend_arena *arena = arena_of(NULL);
	static const int order[3] = { 1, 0, 2 };

	take_three(arena, lease);
	for (int i = 0; i < 3; i++)
		give_back(arena, &lease[order[i]]);
	for (int i = 2; i >= 0; i--) {
		next = take(arena, &some);
		ck_assert_ptr_eq(next.scatter, lease[order[i]].scatter);
		lease[order[i]] = next;
	}
	/* And again what has just been returned, not the oldest one. */
	give_back(arena, &lease[0]);
	next = take(arena, &some);
	ck_assert_ptr_eq(next.scatter, lease[0].scatter);
	give_back(arena, &next);
	give_back(arena, &lease[1]);
	give_back(arena, &lease[2]);
	ck_assert_uint_eq(stats_of(arena).sets_idle, 3);
	arena_end(arena);
}
END_TEST

struct errand {
	lend_arena *arena;
	struct lend_team *lease;
	int error;
};

static void
return_elsewhere(size_t index, void *ctx)
{
	struct errand *errand = ctx;

	(void)index;
	errand->error = lend_team_return(errand->arena, errand->lease);
}

static void
take_elsewhere(size_t index, void *ctx)
{
	struct errand *errand = ctx;

	(void)index;
	errand->error = lend_team_take(errand->arena, &some, 1, 1,
				       errand->lease);
}

/* The same whichever threads return and take, one after the other. */
START_TEST(the_most_recent_set_comes_first_across_threads)
{
	struct lend_team lease[3], next;
	lend_arena *arena = arena_of(NULL);
	struct errand errand = { .arena = arena };

	take_three(arena, lease);
	give_back(arena, &lease[0]);
	errand.lease = &lease[2];
	crew_run(1, return_elsewhere, &errand);
	ck_assert_int_eq(errand.error, 0);
	/* Returned there, taken here. */
	next = take(arena, &some);
	ck_assert_ptr_eq(next.scatter, lease[2].scatter);
	give_back(arena, &lease[1]);
	/* Returned here, taken there; returned here in the end. */
	errand.lease = &lease[2];
	crew_run(1, take_elsewhere, &errand);
	ck_assert_int_eq(errand.error, 0);
	ck_assert_ptr_eq(lease[2].scatter, lease[1].scatter);
	give_back(arena, &lease[2]);
	give_back(arena, &next);
	ck_assert_uint_eq(stats_of(arena).sets_idle, 3);
	arena_end(arena);
}
END_TEST

/* The accounts name the panel, and what the backend has given besides. */
static void
assert_panel(lend_arena *arena, const struct lend_team *lease, size_t bytes)
{
	struct lend_stats stats = stats_of(arena);

	ck_assert_uint_eq(lease->panel_capacity, bytes);
	ck_assert_uint_eq(stats.panel_bytes, bytes);
	ck_assert_uint_eq(stats.retained_bytes, outstanding());
	ck_assert_uint_eq(stats.leased_bytes, outstanding());
	ck_assert_uint_eq((uintptr_t)lease->panel % LEND_PAGE, 0);
}

/*
 * "The B panel (not sized by take)"; panel() "sizes the panel and returns it,
 * page-aligned; the growth is in the accounts at once".
 */
START_TEST(the_panel_is_sized_by_its_own_call)
{
	struct lend_req req = some;
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease;
	void *start;

	req.b_bytes = 1 << 20;
	lease = take(arena, &req);
	ck_assert_ptr_null(lease.panel);
	assert_panel(arena, &lease, 0);
	ck_assert_int_eq(lend_team_panel(arena, &lease, 1), 0);
	assert_panel(arena, &lease, 4096);
	ck_assert_int_eq(lend_team_panel(arena, &lease, 4097), 0);
	assert_panel(arena, &lease, 8192);
	/* What fits stays where it is. */
	start = lease.panel;
	pattern_write(start, 8192, 7);
	ck_assert_int_eq(lend_team_panel(arena, &lease, 8192), 0);
	ck_assert_int_eq(lend_team_panel(arena, &lease, 0), 0);
	ck_assert_ptr_eq(lease.panel, start);
	assert_panel(arena, &lease, 8192);
	ck_assert(pattern_holds(start, 8192, 7));
	/* To the next power of two. */
	ck_assert_int_eq(lend_team_panel(arena, &lease, 5 * 8192), 0);
	assert_panel(arena, &lease, 65536);
	pattern_write(lease.panel, 65536, 8);
	give_back(arena, &lease);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

/* "Grow-only": a set comes back with its panel as it is. */
START_TEST(the_panel_stays_with_its_set)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease = take(arena, &some), again;

	ck_assert_int_eq(lend_team_panel(arena, &lease, 100000), 0);
	give_back(arena, &lease);
	again = take(arena, &some);
	ck_assert_ptr_eq(again.panel, lease.panel);
	assert_panel(arena, &again, 131072);
	give_back(arena, &again);
	ck_assert_uint_eq(stats_of(arena).panel_bytes, 131072);
	arena_end(arena);
}
END_TEST

/* "A component with no storage is a null pointer." */
START_TEST(without_a_size_there_is_no_storage)
{
	static const struct lend_req nothing;
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease = take(arena, &nothing);

	ck_assert_ptr_null(lease.panel);
	ck_assert_ptr_null(lease.scatter);
	ck_assert_uint_eq(lease.scatter_capacity, 0);
	ck_assert_uint_eq(lease.barriers, 0);
	ck_assert_ptr_null(lend_team_barrier(&lease, 0));
	ck_assert_int_eq(lend_team_panel(arena, &lease, 0), 0);
	ck_assert_ptr_null(lease.panel);
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 0), 0);
	ck_assert_int_eq(lend_team_scatter_shrink(arena, &lease), 0);
	ck_assert_ptr_null(lease.scatter);
	ck_assert_uint_eq(stats_of(arena).sets_out, 1);
	ck_assert_uint_eq(outstanding(), 0);
	give_back(arena, &lease);
	ck_assert_uint_eq(stats_of(arena).sets_idle, 1);
	arena_end(arena);
}
END_TEST

/* What grew from `before` elements for `need` of them: the more of the two. */
static size_t
grown(size_t before, size_t need)
{
	size_t bytes = (need > 2 * before ? need : 2 * before) *
		       sizeof(int64_t);

	return lend__backend->extent_size(bytes) / sizeof(int64_t);
}

static void
number(struct lend_team *lease)
{
	for (size_t i = 0; i < lease->scatter_length; i++)
		lease->scatter[i] = (int64_t)(i * i + 1);
}

static size_t
numbered(const struct lend_team *lease)
{
	size_t i = 0;

	while (i < lease->scatter_length &&
	       lease->scatter[i] == (int64_t)(i * i + 1))
		i++;
	return i;
}

/*
 * "A scatter vector of length 0 with at least team_scatter capacity", that
 * "may be resized during the loan, up or down"; what is below both lengths
 * stays, and the account follows at the return.
 */
START_TEST(the_scatter_vector_is_resized_up_and_down)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_req req = team_req(8 * ELEMENTS, 3);
	struct lend_team lease = take(arena, &req);
	size_t first = lease.scatter_capacity, before;

	ck_assert_uint_eq(lease.scatter_length, 0);
	ck_assert_uint_eq(first, grown(0, 8 * ELEMENTS));
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, first), 0);
	ck_assert_uint_eq(lease.scatter_length, first);
	number(&lease);
	before = stats_of(arena).retained_bytes;
	/* It doubles, though one more would do. */
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, first + 1),
			 0);
	ck_assert_uint_eq(lease.scatter_length, first + 1);
	ck_assert_uint_eq(lease.scatter_capacity, grown(first, first + 1));
	lease.scatter_length = first;
	ck_assert_uint_eq(numbered(&lease), first);
	/* Down, and what is left stays; the capacity too. */
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 10), 0);
	ck_assert_uint_eq(lease.scatter_length, 10);
	ck_assert_uint_eq(lease.scatter_capacity, grown(first, first + 1));
	ck_assert_uint_eq(numbered(&lease), 10);
	/* It takes the need, where that is more than twice. */
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 10 * first),
			 0);
	ck_assert_uint_eq(lease.scatter_capacity,
			  grown(grown(first, first + 1), 10 * first));
	lease.scatter_length = 10;
	ck_assert_uint_eq(numbered(&lease), 10);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, before);
	give_back(arena, &lease);
	ck_assert_uint_gt(stats_of(arena).retained_bytes, before);
	stats_settled(arena);
	/* It comes back with its capacity, and with length 0. */
	lease = take(arena, &some);
	ck_assert_uint_eq(lease.scatter_length, 0);
	ck_assert_uint_ge(lease.scatter_capacity, 10 * first);
	give_back(arena, &lease);
	arena_end(arena);
}
END_TEST

/* "Settles what changed since the take, in both directions." */
START_TEST(shrinking_gives_capacity_back_at_the_return)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_req req = team_req(100000, 2);
	struct lend_team lease = take(arena, &req);
	size_t before = stats_of(arena).retained_bytes;

	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 700), 0);
	number(&lease);
	ck_assert_int_eq(lend_team_scatter_shrink(arena, &lease), 0);
	ck_assert_uint_eq(lease.scatter_length, 700);
	ck_assert_uint_eq(lease.scatter_capacity, grown(0, 700));
	ck_assert_uint_eq(numbered(&lease), 700);
	/* The memory is gone, the account knows at the return. */
	ck_assert_uint_lt(outstanding(), before);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, before);
	give_back(arena, &lease);
	ck_assert_uint_lt(stats_of(arena).retained_bytes, before);
	stats_settled(arena);
	/* To nothing at all. */
	req = team_req(0, 2);
	lease = take(arena, &req);
	ck_assert_int_eq(lend_team_scatter_shrink(arena, &lease), 0);
	ck_assert_ptr_null(lease.scatter);
	ck_assert_uint_eq(lease.scatter_capacity, 0);
	give_back(arena, &lease);
	ck_assert_uint_eq(stats_of(arena).retained_bytes,
			  lend__backend->extent_size(2 * LEND_BARRIER_BYTES));
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("team");
	TCase *sets = watched_case(suite, "sets");
	TCase *storage = watched_case(suite, "storage");

	tcase_add_test(sets, loans_that_are_out_share_nothing);
	tcase_add_test(sets,
		eight_threads_share_no_set_and_make_no_more_than_they_hold);
	tcase_add_test(sets, sets_are_as_many_as_were_out_at_once);
	tcase_add_test(sets, the_most_recently_returned_set_comes_first);
	tcase_add_test(sets, the_most_recent_set_comes_first_across_threads);
	tcase_add_test(storage, the_panel_is_sized_by_its_own_call);
	tcase_add_test(storage, the_panel_stays_with_its_set);
	tcase_add_test(storage, without_a_size_there_is_no_storage);
	tcase_add_test(storage, the_scatter_vector_is_resized_up_and_down);
	tcase_add_test(storage, shrinking_gives_capacity_back_at_the_return);
	return suite_run(suite);
}
