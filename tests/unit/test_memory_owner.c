/* SPDX-License-Identifier: MIT */
/*
 * What owns loans, without memory: arenas, threads' tables, workspaces,
 * pools; and that what releases needs no memory.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "lend/lend.h"
#include "support/audit.h"
#include "support/fault.h"
#include "support/process.h"
#include "support/trial.h"

static const struct lend_req little = {
	.a_bytes = 5000, .tile_bytes = 3000, .worker_scatter = 100,
	.b_bytes = 7000, .team_scatter = 100, .barriers = 2
};
static const struct lend_req large = {
	.a_bytes = 50000, .tile_bytes = 30000, .worker_scatter = 5000,
	.b_bytes = 70000, .team_scatter = 5000, .barriers = 200
};

/* Arenas. */

static int
create_other(struct trial *trial)
{
	return lend_arena_create(&trial->other, NULL);
}

static void
no_other(struct trial *trial)
{
	expect(trial, trial->other == NULL);
}

static void
destroy_other(struct trial *trial)
{
	expect(trial, lend_arena_key(trial->other) != 0);
	expect(trial, lend_arena_destroy(trial->other) == 0);
}

START_TEST(create_without_memory)
{
	static const struct operation create = {
		.name = "arena create", .least = 1, .run = create_other,
		.kept = no_other, .after = destroy_other
	};

	starve(&create);
}
END_TEST

/* The first arena of a process makes the directory besides. */
static int
first_create(void *arg)
{
	lend_arena *arena = NULL;
	size_t allocations = 0;
	int error;

	(void)arg;
	if (audit_directory_pages())
		return 6;
	do {
		fault_fail_nth(FAULT_ANY, allocations + 1);
		error = lend_arena_create(&arena, NULL);
		if (error && arena)
			return 1;
		/* What stays after a failure is the directory's alone. */
		if (error && fault_counts().pages_bytes !=
		    audit_directory_pages())
			return 2;
	} while (error && ++allocations < 10);
	if (!fault_pending() || allocations < 2 || error)
		return 3;
	fault_fail_nth(0, 0);
	if (lend_arena_destroy(arena))
		return 4;
	return fault_counts().pages_bytes == audit_directory_pages() ? 0 : 5;
}

/* The first test, so that even without Check's forks no arena was before. */
START_TEST(first_create_without_memory)
{
	ck_assert_int_eq(process_child(first_create, NULL), 0);
}
END_TEST

/*
 * As many arenas as the directory's first two chunks have places for, which
 * is more than a thread's first table has.
 */
#define MANY 384

static lend_arena *many[MANY];

static void
create_many(void)
{
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(lend_arena_create(&many[i], NULL), 0);
}

static void
destroy_many(void)
{
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(lend_arena_destroy(many[i]), 0);
}

/* The thread's table serves the arenas with small indices. */
static void
lend_of_small_index(struct trial *trial)
{
	expect(trial, lend_worker_checkout(many[0], &little,
					   &trial->outer) == 0);
	memset(trial->outer.a, 7, little.a_bytes);
	expect(trial, lend_worker_checkout(many[1], &little,
					   &trial->loan) == 0);
	expect(trial, lend_worker_return(many[1], &trial->loan) == 0);
}

static int
checkout_of_large_index(struct trial *trial)
{
	return lend_worker_checkout(trial->arena, &large, &trial->loan);
}

/* It serves them still. */
static void
small_indices_are_found(struct trial *trial)
{
	const unsigned char *a = trial->outer.a;
	struct lend_stats was, is;
	struct lend_worker again;

	expect(trial, a[0] == 7 && a[little.a_bytes - 1] == 7);
	(void)lend_arena_stats(many[1], &was);
	expect(trial, lend_worker_checkout(many[1], &little, &again) == 0);
	expect(trial, lend_worker_return(many[1], &again) == 0);
	(void)lend_arena_stats(many[1], &is);
	expect(trial, is.growths == was.growths);
	expect(trial, is.slots_idle == was.slots_idle);
}

static void
return_all_indices(struct trial *trial)
{
	small_indices_are_found(trial);
	memset(trial->loan.a, 1, large.a_bytes);
	expect(trial, lend_worker_return(trial->arena, &trial->loan) == 0);
	expect(trial, lend_worker_return(many[0], &trial->outer) == 0);
	expect(trial, lend_arena_trim(many[0]) == 0);
	expect(trial, lend_arena_trim(many[1]) == 0);
}

/* Leaves the bookkeeping of these two arenas behind: made before. */
static void *
lend_of_each(void *arg)
{
	struct lend_worker loan;

	for (int i = 0; i < 2; i++)
		if (lend_worker_checkout(many[i], &little, &loan) ||
		    lend_worker_return(many[i], &loan) ||
		    lend_arena_trim(many[i]))
			return arg;
	return NULL;
}

/* The directory has no memory for one more: there is no second chance. */
static void
fail_one_more(void)
{
	size_t pages = fault_counts().pages_bytes;
	lend_arena *arena = NULL;

	fault_fail_nth(FAULT_PAGES, 2);
	ck_assert_int_eq(lend_arena_create(&arena, NULL), -ENOMEM);
	ck_assert(!fault_pending());
	ck_assert_ptr_null(arena);
	ck_assert_uint_eq(fault_counts().pages_bytes, pages);
}

START_TEST(many_arenas_without_memory)
{
	/* The table, a slot, a descriptor, three extents. */
	static const struct operation checkout = {
		.name = "checkout beyond the table", .least = 6,
		.may = MAY_SLOT, .before = lend_of_small_index,
		.run = checkout_of_large_index,
		.kept = small_indices_are_found, .after = return_all_indices
	};
	pthread_t thread;
	void *failed;

	create_many();
	fail_one_more();
	ck_assert_int_eq(pthread_create(&thread, NULL, lend_of_each, many),
			 0);
	ck_assert_int_eq(pthread_join(thread, &failed), 0);
	ck_assert_ptr_null(failed);
	starve(&checkout);
	destroy_many();
}
END_TEST

/* Workspaces. */

static int
create_workspace(struct trial *trial)
{
	return lend_workspace_create(&trial->ws, &little, NULL);
}

static void
no_workspace(struct trial *trial)
{
	expect(trial, trial->ws == NULL);
	expect(trial, fault_counts().extent_bytes == 0);
}

static void
destroy_workspace(struct trial *trial)
{
	expect(trial, lend_workspace_destroy(trial->ws) == 0);
}

static void
make_workspace(struct trial *trial)
{
	expect(trial, create_workspace(trial) == 0);
}

static int
reserve_large(struct trial *trial)
{
	return lend_workspace_reserve(trial->ws, &large);
}

/* "The bound is then what it was." */
static void
bound_is_little(struct trial *trial)
{
	const struct lend_req *req = lend_workspace_req(trial->ws);
	struct lend_stats stats;
	size_t bytes;

	expect(trial, lend_req_bytes(&little, &bytes) == 0);
	expect(trial, lend_workspace_have(trial->ws) == bytes);
	expect(trial, lend_req_covered_by(req, &little));
	expect(trial, lend_req_covered_by(&little, req));
	expect(trial, lend_workspace_slots(trial->ws) == 1);
	expect(trial, lend_workspace_admit(trial->ws, &little) == 0);
	expect(trial, lend_workspace_admit(trial->ws, &large) != 0);
	expect(trial, lend_arena_stats(lend_workspace_arena(trial->ws),
				       &stats) == 0);
	expect(trial, stats.slots_out == 0 && stats.sets_out == 0);
	expect(trial, stats.leased_bytes == 0);
}

static void
bound_is_large(struct trial *trial)
{
	expect(trial, lend_workspace_admit(trial->ws, &large) == 0);
	destroy_workspace(trial);
}

#define WORKERS 3

static void
make_workspace_and_pool(struct trial *trial)
{
	make_workspace(trial);
	expect(trial, lend_pool_create(&trial->pool, WORKERS) == 0);
	expect(trial, lend_exec_on_pool(&trial->exec, trial->pool,
				     WORKERS) == 0);
}

static int
prepare(struct trial *trial)
{
	return lend_workspace_prepare_for(trial->ws, &trial->exec);
}

static void
all_are_warm(struct trial *trial)
{
	struct lend_stats stats;

	expect(trial, lend_workspace_slots(trial->ws) == WORKERS);
	expect(trial, lend_arena_stats(lend_workspace_arena(trial->ws),
				       &stats) == 0);
	expect(trial, stats.slots_idle == 1 + WORKERS);
	expect(trial, lend_pool_destroy(trial->pool) == 0);
	destroy_workspace(trial);
}

START_TEST(workspace_without_memory)
{
	/* Two objects, a table, a slot with four, a set with four. */
	static const struct operation create = {
		.name = "workspace create", .least = 12,
		.run = create_workspace, .kept = no_workspace,
		.after = destroy_workspace
	};
	static const struct operation reserve = {
		.name = "workspace reserve", .least = 6,
		.before = make_workspace, .run = reserve_large,
		.kept = bound_is_little, .after = bound_is_large
	};
	/* For each worker a table and three extents. */
	static const struct operation prepares = {
		.name = "workspace prepare", .least = WORKERS * 4,
		.before = make_workspace_and_pool, .run = prepare,
		.kept = bound_is_little, .after = all_are_warm
	};

	starve(&create);
	starve(&reserve);
	starve(&prepares);
}
END_TEST

/* Pools. */

static int
create_pool(struct trial *trial)
{
	return lend_pool_create(&trial->pool, 100);
}

static void
no_pool(struct trial *trial)
{
	expect(trial, trial->pool == NULL);
}

static void
destroy_pool(struct trial *trial)
{
	expect(trial, lend_pool_width(trial->pool) == 100);
	expect(trial, lend_pool_destroy(trial->pool) == 0);
}

START_TEST(pool_without_memory)
{
	static const struct operation create = {
		.name = "pool create", .least = 1, .run = create_pool,
		.kept = no_pool, .after = destroy_pool
	};

	starve(&create);
}
END_TEST

/* Releasing. */

struct leaving {
	lend_arena *arena;
	struct lend_team lease;
	int error;
};

/* Ends with two worker loans out. */
static void *
leave_loans(void *arg)
{
	struct leaving *leaving = arg;
	struct lend_worker loan;

	for (int i = 0; i < 2 && !leaving->error; i++)
		leaving->error = lend_worker_checkout(leaving->arena, &large,
						      &loan);
	if (!leaving->error)
		leaving->error = lend_team_take(leaving->arena, &large, 2, 2,
						&leaving->lease);
	fault_fail_all(FAULT_ANY);
	return NULL;
}

/* What gives memory back never needs any, so it cannot fail for lack of it. */
START_TEST(releasing_needs_no_memory)
{
	struct leaving leaving = { 0 };
	struct lend_worker loan, nested;
	struct lend_stats stats;
	size_t failed = fault_counts().failed;
	pthread_t thread;

	ck_assert_int_eq(lend_arena_create(&leaving.arena, NULL), 0);
	ck_assert_int_eq(lend_worker_checkout(leaving.arena, &large, &loan),
			 0);
	ck_assert_int_eq(lend_worker_checkout(leaving.arena, &large,
					      &nested), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, leave_loans,
					&leaving), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	/* From here on every allocation fails. */
	ck_assert_int_eq(leaving.error, 0);
	ck_assert_int_eq(lend_arena_stats(leaving.arena, &stats), 0);
	ck_assert_uint_eq(stats.abandoned, 2);
	ck_assert_int_eq(lend_worker_return(leaving.arena, &nested), 0);
	ck_assert_int_eq(lend_worker_return(leaving.arena, &loan), 0);
	ck_assert_int_eq(lend_team_return(leaving.arena, &leaving.lease), 0);
	ck_assert_int_eq(lend_arena_trim(leaving.arena), 0);
	ck_assert_int_eq(lend_arena_stats(leaving.arena, &stats), 0);
	ck_assert_uint_eq(stats.retained_bytes, 0);
	ck_assert_uint_eq(fault_counts().extent_bytes, 0);
	ck_assert_int_eq(lend_arena_destroy(leaving.arena), 0);
	ck_assert_uint_eq(fault_counts().failed, failed);
	fault_fail_all(0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("memory of owners");
	TCase *owners = starved_case(suite, "owners");

	tcase_add_test(owners, first_create_without_memory);
	tcase_add_test(owners, create_without_memory);
	tcase_add_test(owners, many_arenas_without_memory);
	tcase_add_test(owners, workspace_without_memory);
	tcase_add_test(owners, pool_without_memory);
	tcase_add_test(owners, releasing_needs_no_memory);
	return starved_run(suite);
}
