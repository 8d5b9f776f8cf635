/* SPDX-License-Identifier: MIT */
/*
 * How an arena ends: never with a loan out, else wholly, whichever threads
 * worked with it, and while they are ending themselves.
 */
#include "lend/arena.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <urcu/urcu-mb.h>

#include "arena/directory.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/scale.h"
#include "support/suite.h"
#include "sync/reclaim.h"

static const struct lend_req some = {
	.a_bytes = 10000, .tile_bytes = 5000, .worker_scatter = 300,
	.team_scatter = 512, .barriers = 3,
};

static void
lend_once(lend_arena *arena)
{
	struct lend_worker loan = checkout(arena, &some);
	struct lend_team lease = take(arena, &some);

	ck_assert_int_eq(lend_team_panel(arena, &lease, 8192), 0);
	give_back(arena, &lease);
	checkin(arena, &loan);
}

/* "With a loan out: refused with a clear error, nothing freed." */
static void
assert_busy(lend_arena *arena)
{
	struct lend_stats before = stats_of(arena), after;
	struct fault_counts counts = fault_counts(), counts_after;

	ck_assert_int_eq(lend_arena_destroy(arena), -EBUSY);
	after = stats_of(arena);
	stats_same(&before, &after);
	counts_after = fault_counts();
	counts_same(&counts, &counts_after);
	lend_once(arena);
}

START_TEST(destroy_is_refused_with_a_worker_loan_out)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_worker loan = checkout(arena, &some), nested;

	pattern_write(loan.a, 8192, 1);
	assert_busy(arena);
	ck_assert(pattern_holds(loan.a, 8192, 1));
	ck_assert_int_eq(lend_worker_scatter_resize(arena, &loan, 5000), 0);
	/* A nested one, alone: the outer one may go first. */
	nested = checkout(arena, &some);
	checkin(arena, &loan);
	pattern_write(nested.a, 8192, 2);
	assert_busy(arena);
	ck_assert(pattern_holds(nested.a, 8192, 2));
	checkin(arena, &nested);
	arena_end(arena);
	ck_assert_uint_eq(outstanding(), 0);
}
END_TEST

START_TEST(destroy_is_refused_with_a_team_loan_out)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease = take(arena, &some), second;

	ck_assert_int_eq(lend_team_panel(arena, &lease, 8192), 0);
	pattern_write(lease.panel, 8192, 1);
	assert_busy(arena);
	ck_assert(pattern_holds(lease.panel, 8192, 1));
	second = take(arena, &some);
	give_back(arena, &lease);
	assert_busy(arena);
	give_back(arena, &second);
	/* One without any storage is a loan as well. */
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	lease = take(arena, &(struct lend_req){ 0 });
	assert_busy(arena);
	give_back(arena, &lease);
	arena_end(arena);
	ck_assert_uint_eq(outstanding(), 0);
}
END_TEST

struct visit {
	struct crew crew;
	lend_arena *arena, *next;
	int error[CREW_MAX];
};

static int
work(lend_arena *arena)
{
	struct lend_worker loan;
	int error = lend_worker_checkout(arena, &some, &loan);

	if (error)
		return error;
	pattern_write(loan.a, 8192, 1);
	return lend_worker_return(arena, &loan);
}

static void
hold_main(size_t index, void *ctx)
{
	struct visit *visit = ctx;
	struct lend_worker loan;

	visit->error[index] = lend_worker_checkout(visit->arena, &some, &loan);
	crew_step(&visit->crew);
	crew_step(&visit->crew);
	if (!visit->error[index])
		visit->error[index] = lend_worker_return(visit->arena, &loan);
}

/* Whichever thread has it. */
START_TEST(destroy_is_refused_whoever_has_the_loan)
{
	struct visit visit = { .arena = arena_of(NULL) };

	crew_start(&visit.crew, 1, hold_main, &visit);
	crew_step(&visit.crew);
	assert_busy(visit.arena);
	crew_step(&visit.crew);
	crew_join(&visit.crew);
	ck_assert_int_eq(visit.error[0], 0);
	arena_end(visit.arena);
}
END_TEST

static void
visit_main(size_t index, void *ctx)
{
	struct visit *visit = ctx;

	visit->error[index] = work(visit->arena);
	crew_step(&visit->crew);
	/* The first arena is destroyed, the second one made. */
	crew_step(&visit->crew);
	visit->error[index] |= work(visit->next);
	crew_step(&visit->crew);
}

/*
 * "Everything of that arena goes, whichever thread's slot it was.  Threads
 * that worked with it need do nothing": they go on with the next one.
 */
START_TEST(everything_goes_whosever_slot_it_was)
{
	struct visit visit = { .arena = arena_of(NULL) };
	size_t before;

	/* The directory has its pages, the main thread its table. */
	lend_once(visit.arena);
	arena_end(visit.arena);
	before = fault_counts().pages_bytes;
	visit.arena = arena_of(NULL);
	lend_once(visit.arena);
	crew_start(&visit.crew, 6, visit_main, &visit);
	crew_step(&visit.crew);
	ck_assert_uint_eq(stats_of(visit.arena).slots_idle, 7);
	arena_end(visit.arena);
	ck_assert_uint_eq(outstanding(), 0);
	visit.next = arena_of(NULL);
	crew_step(&visit.crew);
	crew_step(&visit.crew);
	crew_join(&visit.crew);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(visit.error[i], 0);
	ck_assert_uint_eq(stats_of(visit.next).slots_idle, 6);
	stats_settled(visit.next);
	arena_end(visit.next);
	ck_assert_uint_eq(fault_counts().pages_bytes, before);
}
END_TEST

START_TEST(destroy_of_null_does_nothing)
{
	ck_assert_int_eq(lend_arena_destroy(NULL), 0);
}
END_TEST

/* Inside a read section the grace period would never end. */
START_TEST(destroy_inside_a_read_section_is_refused)
{
	lend_arena *arena = arena_of(NULL);
	int inner, outer;

	lend_once(arena);
	urcu_mb_register_thread();
	urcu_mb_read_lock();
	urcu_mb_read_lock();
	inner = lend_arena_destroy(arena);
	urcu_mb_read_unlock();
	outer = lend_arena_destroy(arena);
	urcu_mb_read_unlock();
	urcu_mb_unregister_thread();
	ck_assert_int_eq(inner, -EDEADLK);
	ck_assert_int_eq(outer, -EDEADLK);
	lend_once(arena);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

struct parting {
	lend_arena *arena;
	sem_t done;
	atomic_int errors;
};

static void
parting_main(size_t index, void *ctx)
{
	struct parting *parting = ctx;

	(void)index;
	if (work(parting->arena))
		atomic_fetch_add(&parting->errors, 1);
	sem_post(&parting->done);
}

/* The last return is known, the threads are just ending: destroy may come. */
START_TEST(threads_may_be_ending_while_it_is_destroyed)
{
	struct parting parting = { .arena = NULL };
	unsigned rounds = scale(300);
	struct crew crew;

	sem_init(&parting.done, 0, 0);
	for (unsigned i = 0; i < rounds; i++) {
		parting.arena = arena_of(NULL);
		crew_start(&crew, 4, parting_main, &parting);
		for (int k = 0; k < 4; k++)
			while (sem_wait(&parting.done))
				;
		arena_end(parting.arena);
		ck_assert_uint_eq(outstanding(), 0);
		crew_join(&crew);
	}
	ck_assert_int_eq(atomic_load(&parting.errors), 0);
	sem_destroy(&parting.done);
}
END_TEST

struct section {
	struct crew crew;
	lend_arena *arena;
	uint64_t key;
	unsigned wrong;
};

/* As a thread that ends does: finds the arena, and looks into it. */
static void
section_main(size_t index, void *ctx)
{
	struct section *section = ctx;
	unsigned looks = scale(5000);
	lend_arena *found;

	(void)index;
	reclaim_read_begin();
	found = directory_at(section->arena->index);
	section->key = found ? found->key : 0;
	crew_step(&section->crew);
	/* Meanwhile it is being destroyed. */
	for (unsigned i = 0; found && i < looks; i++) {
		section->wrong += *(volatile uint64_t *)&found->key !=
				  section->key;
		sched_yield();
	}
	reclaim_read_end();
}

/* Whoever has found the arena before may look into it until he is done. */
START_TEST(destroy_waits_for_those_who_look_into_the_arena)
{
	struct section section = { .arena = arena_of(NULL) };
	uint64_t key = lend_arena_key(section.arena);

	lend_once(section.arena);
	crew_start(&section.crew, 1, section_main, &section);
	crew_step(&section.crew);
	arena_end(section.arena);
	crew_join(&section.crew);
	ck_assert_uint_eq(section.key, key);
	ck_assert_uint_eq(section.wrong, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("end of arenas");
	TCase *out = watched_case(suite, "out");
	TCase *end = watched_case(suite, "end");

	tcase_add_test(out, destroy_is_refused_with_a_worker_loan_out);
	tcase_add_test(out, destroy_is_refused_with_a_team_loan_out);
	tcase_add_test(out, destroy_is_refused_whoever_has_the_loan);
	tcase_add_test(end, everything_goes_whosever_slot_it_was);
	tcase_add_test(end, destroy_of_null_does_nothing);
	tcase_add_test(end, destroy_inside_a_read_section_is_refused);
	tcase_add_test(end, threads_may_be_ending_while_it_is_destroyed);
	tcase_add_test(end, destroy_waits_for_those_who_look_into_the_arena);
	return suite_run(suite);
}
