/* SPDX-License-Identifier: MIT */
/*
 * Threads and the arenas that come and go under them: a thread's table of
 * slots, its growth, and entries that have outlived their arena.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "arena/state.h"
#include "lend/lend.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/scale.h"
#include "support/stall.h"
#include "support/suite.h"

static const struct lend_req request = {
	.a_bytes = 4096, .worker_scatter = 512
};

#define SLOT_STORAGE ((size_t)2 * 4096)

/* One thread that works with the first arena, and perhaps with the second. */
struct scene {
	lend_arena *first, *second;
	struct crew crew;
	bool goes_on;		/* works with the second one, too */
	bool leaves;		/* and leaves a loan of it out at its end */
	struct lend_worker loan[2];
	int stale;		/* of a return of loan[0] to the second */
	int errors;
};

static void *
work_once(void *arg)
{
	struct scene *scene = arg;

	scene->errors += lend_worker_checkout(scene->first, &request,
					      &scene->loan[0]) != 0;
	use(&scene->loan[0], &request);
	scene->errors += lend_worker_return(scene->first,
					    &scene->loan[0]) != 0;
	return NULL;
}

static void
live_through(size_t self, void *ctx)
{
	struct scene *scene = ctx;

	(void)self;
	work_once(scene);
	crew_step(&scene->crew);
	/* The main thread changes the arenas. */
	crew_step(&scene->crew);
	if (!scene->goes_on)
		return;
	scene->stale = lend_worker_return(scene->second, &scene->loan[0]);
	scene->errors += lend_worker_checkout(scene->second, &request,
					      &scene->loan[1]) != 0;
	use(&scene->loan[1], &request);
	if (!scene->leaves)
		scene->errors += lend_worker_return(scene->second,
						    &scene->loan[1]) != 0;
}

/* Makes an arena in the place of one that is gone, with the same index. */
static lend_arena *
replaced(lend_arena *arena)
{
	uint32_t index = arena->index;
	uint64_t key = lend_arena_key(arena);

	arena_end(arena);
	arena = arena_new();
	ck_assert_uint_eq(arena->index, index);
	ck_assert_uint_gt(lend_arena_key(arena), key);
	return arena;
}

static void
scene_begin(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	scene->first = arena_new();
	crew_start(&scene->crew, 1, live_through, scene);
	crew_step(&scene->crew);
	scene->second = replaced(scene->first);
}

static void
scene_end(struct scene *scene)
{
	crew_step(&scene->crew);
	crew_join(&scene->crew);
	ck_assert_int_eq(scene->errors, 0);
}

/*
 * A thread's entry that has outlived its arena is recognised by the key: in
 * an arena at the same index the thread gets a fresh slot.
 */
START_TEST(a_stale_entry_is_recognised_by_its_key)
{
	static struct scene scene;
	struct lend_stats stats;

	scene_begin(&scene);
	scene.goes_on = true;
	scene_end(&scene);
	ck_assert_int_eq(scene.stale, -EXDEV);
	stats = stats_of(scene.second);
	ck_assert_uint_eq(stats.slots_idle, 1);
	ck_assert_uint_eq(stats.growths, 2);
	ck_assert_uint_eq(stats.adopted, 0);
	ck_assert_uint_eq(stats.abandoned, 0);
	ck_assert_uint_eq(stats.retained_bytes, SLOT_STORAGE);
	stats_settled(scene.second);
	arena_end(scene.second);
}
END_TEST

/* Also at the thread's end: what it settles is its own. */
START_TEST(a_loan_of_the_arena_in_place_is_settled)
{
	static struct scene scene;

	scene_begin(&scene);
	scene.goes_on = true;
	scene.leaves = true;
	scene_end(&scene);
	ck_assert_uint_eq(stats_of(scene.second).abandoned, 1);
	stats_settled(scene.second);
	arena_end(scene.second);
}
END_TEST

/*
 * A thread that only knew the arena before has nothing in the one in its
 * place: its end leaves the main thread's loan there alone, although both
 * slots are at the same index of the same arena.
 */
START_TEST(a_stale_entry_is_not_settled)
{
	static struct scene scene;
	struct lend_worker loan;
	struct lend_stats stats;

	scene_begin(&scene);
	loan = checkout(scene.second, &request);
	pattern_write(loan.a, request.a_bytes, 1);
	scene_end(&scene);
	stats = stats_of(scene.second);
	ck_assert_uint_eq(stats.abandoned, 0);
	ck_assert_uint_eq(stats.slots_out, 1);
	ck_assert_uint_eq(stats.slots_idle, 0);
	ck_assert(pattern_holds(loan.a, request.a_bytes, 1));
	/* Nor has it left there a slot for others to adopt. */
	scene.first = scene.second;
	in_thread(work_once, &scene);
	ck_assert_int_eq(scene.errors, 0);
	stats = stats_of(scene.second);
	ck_assert_uint_eq(stats.adopted, 0);
	ck_assert_uint_eq(stats.slots_idle, 1);
	returned(scene.second, &loan);
	arena_end(scene.second);
}
END_TEST

/* Arenas that come one after another reuse an index, and so table entries. */
START_TEST(a_thread_sees_many_arenas_at_one_index)
{
	struct lend_worker loan;
	lend_arena *arena = arena_new();
	size_t pages = 0;

	for (unsigned i = 0; i < scale(3000); i++) {
		loan = checkout(arena, &request);
		ck_assert_uint_eq(stats_of(arena).slots_out, 1);
		returned(arena, &loan);
		if (i == 0)
			pages = fault_counts().pages_bytes;
		arena = replaced(arena);
	}
	loan = checkout(arena, &request);
	returned(arena, &loan);
	/* Neither the directory nor the thread's table has grown. */
	ck_assert_uint_eq(fault_counts().pages_bytes, pages);
	arena_end(arena);
}
END_TEST

#define PARTIES 4
#define AT_ONCE 24

/*
 * Destroy while the threads that worked with the arenas are just ending, and
 * look for them one after another.
 */
struct ending {
	lend_arena *arena[AT_ONCE];
	struct crew crew;
	int errors[PARTIES];
};

static void
work_and_end(size_t self, void *ctx)
{
	struct ending *ending = ctx;
	struct lend_worker loan;

	for (int i = 0; i < AT_ONCE; i++)
		ending->errors[self] +=
			lend_worker_checkout(ending->arena[i], &request,
					     &loan) ||
			lend_worker_return(ending->arena[i], &loan);
	crew_step(&ending->crew);
}

START_TEST(destroy_while_threads_end)
{
	static struct ending ending;
	lend_arena *stays = arena_new();
	struct lend_worker loan = checkout(stays, &request);

	for (unsigned i = 0; i < scale(300); i++) {
		memset(&ending, 0, sizeof(ending));
		for (int j = 0; j < AT_ONCE; j++)
			ending.arena[j] = arena_new();
		crew_start(&ending.crew, PARTIES, work_and_end, &ending);
		crew_step(&ending.crew);
		for (int j = 0; j < AT_ONCE; j++)
			arena_end(ending.arena[j]);
		/* One in their place, while they may still be about. */
		ending.arena[0] = arena_new();
		crew_join(&ending.crew);
		for (int j = 0; j < PARTIES; j++)
			ck_assert_int_eq(ending.errors[j], 0);
		ck_assert_uint_eq(stats_of(ending.arena[0]).slots_idle, 0);
		arena_end(ending.arena[0]);
	}
	ck_assert_uint_eq(outstanding(), SLOT_STORAGE);
	returned(stays, &loan);
	arena_end(stays);
}
END_TEST

/*
 * The same, with the thread held in the middle of settling: while it frees
 * what a nested loan of one arena has left, another one is destroyed.
 */
struct settling {
	lend_arena *kept, *gone;
	int errors;
};

static void *
leave_one_of_two(void *arg)
{
	struct settling *settling = arg;
	struct lend_worker loan;

	settling->errors =
		lend_worker_checkout(settling->kept, &request, &loan) ||
		lend_worker_checkout(settling->gone, &request, &loan) ||
		lend_worker_return(settling->gone, &loan) ||
		lend_worker_checkout(settling->kept, &request, &loan);
	stall_next();
	return NULL;
}

START_TEST(destroy_waits_for_a_thread_that_is_settling)
{
	struct settling settling = { .errors = 1 };
	pthread_t thread;

	stall_begin();
	settling.kept = arena_new();
	settling.gone = arena_new();
	ck_assert_int_eq(pthread_create(&thread, NULL, leave_one_of_two,
					&settling), 0);
	stall_await();
	arena_end(settling.gone);
	stall_done();
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(settling.errors, 0);
	ck_assert_uint_eq(stats_of(settling.kept).abandoned, 2);
	arena_end(settling.kept);
	ck_assert(!stall_end());
}
END_TEST

/* More arenas than the table of a thread has at first, and twice as many. */
#define ARENAS 600

struct table {
	lend_arena *arena[ARENAS];
	struct lend_worker loan[ARENAS];
	bool backwards;		/* the last arena first: one large growth */
	/* What went wrong. */
	int checkouts, stats, holds, again, returns;
};

static size_t
at(const struct table *table, size_t i)
{
	return table->backwards ? ARENAS - 1 - i : i;
}

static void
hold_all(struct table *table)
{
	for (size_t i = 0; i < ARENAS; i++) {
		struct lend_worker *loan = &table->loan[at(table, i)];

		table->checkouts +=
			lend_worker_checkout(table->arena[at(table, i)],
					     &request, loan) != 0;
		pattern_write(loan->a, request.a_bytes, i);
	}
	for (size_t i = 0; i < ARENAS; i++) {
		struct lend_stats stats = stats_of(table->arena[i]);

		table->stats += stats.slots_out != 1 || stats.reentrant ||
				stats.leased_bytes != SLOT_STORAGE;
	}
}

static void *
work_with_all(void *arg)
{
	struct table *table = arg;
	struct lend_worker again;

	hold_all(table);
	for (size_t i = 0; i < ARENAS; i++) {
		lend_arena *arena = table->arena[at(table, i)];
		struct lend_worker *loan = &table->loan[at(table, i)];

		table->holds += !pattern_holds(loan->a, request.a_bytes, i);
		table->returns += lend_worker_return(arena, loan) != 0;
		/* The slot is found again, however the table has grown. */
		table->again += lend_worker_checkout(arena, &request,
						     &again) ||
				again.a != loan->a ||
				lend_worker_return(arena, &again);
	}
	return NULL;
}

/* Tables grow past 256 arenas, keep their entries, and go with the thread. */
START_TEST(tables_grow_with_the_arenas)
{
	static struct table table;
	struct lend_stats stats;
	size_t pages = 0;

	memset(&table, 0, sizeof(table));
	table.backwards = _i;
	for (size_t i = 0; i < ARENAS; i++)
		table.arena[i] = arena_new();
	for (int round = 0; round < 3; round++) {
		in_thread(work_with_all, &table);
		ck_assert_int_eq(table.checkouts, 0);
		ck_assert_int_eq(table.stats, 0);
		ck_assert_int_eq(table.holds, 0);
		ck_assert_int_eq(table.returns, 0);
		ck_assert_int_eq(table.again, 0);
		/* Nothing remains of the table: the next round adds none. */
		if (round)
			ck_assert_uint_eq(fault_counts().pages_bytes, pages);
		pages = fault_counts().pages_bytes;
	}
	ck_assert_uint_eq(outstanding(), ARENAS * SLOT_STORAGE);
	for (size_t i = 0; i < ARENAS; i++) {
		stats = stats_of(table.arena[i]);
		ck_assert_uint_eq(stats.slots_idle, 1);
		ck_assert_uint_eq(stats.slots_out, 0);
		ck_assert_uint_eq(stats.adopted, 2);
		ck_assert_uint_eq(stats.abandoned, 0);
		arena_end(table.arena[i]);
	}
}
END_TEST

/* A thread that leaves hundreds of loans out has all of them settled. */
static void *
leave_all(void *arg)
{
	hold_all(arg);
	return NULL;
}

START_TEST(loans_of_many_arenas_are_settled)
{
	static struct table table;

	memset(&table, 0, sizeof(table));
	for (size_t i = 0; i < ARENAS; i++)
		table.arena[i] = arena_new();
	in_thread(leave_all, &table);
	ck_assert_int_eq(table.checkouts, 0);
	for (size_t i = 0; i < ARENAS; i++) {
		struct lend_stats stats = stats_of(table.arena[i]);

		ck_assert_uint_eq(stats.abandoned, 1);
		ck_assert_uint_eq(stats.slots_out, 0);
		arena_end(table.arena[i]);
	}
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("thread_arenas");
	TCase *stale = watched_case(suite, "stale");
	TCase *table = watched_case(suite, "table");

	tcase_add_test(stale, a_stale_entry_is_recognised_by_its_key);
	tcase_add_test(stale, a_loan_of_the_arena_in_place_is_settled);
	tcase_add_test(stale, a_stale_entry_is_not_settled);
	tcase_add_test(stale, a_thread_sees_many_arenas_at_one_index);
	tcase_add_test(stale, destroy_while_threads_end);
	tcase_add_test(stale, destroy_waits_for_a_thread_that_is_settling);
	tcase_add_loop_test(table, tables_grow_with_the_arenas, 0, 2);
	tcase_add_test(table, loans_of_many_arenas_are_settled);
	return suite_run_also(suite, confs);
}
