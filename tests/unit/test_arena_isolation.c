/* SPDX-License-Identifier: MIT */
/*
 * "A second owner never receives storage that still holds a first owner's
 * bytes, also not after trim or destroy."  One arena stains its storage and
 * gives it back in one of several ways; others then look for the stain.  With
 * each of the backends.
 */
#include "lend/arena.h"

#include <check.h>
#include <stdatomic.h>
#include <stdint.h>

#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

/* What no memory holds by chance. */
#define STAIN UINT64_C(0x5a17ed00c0ffee11)

static const size_t sizes[] = { 4096, 16384, 65536, 1 << 20, 4 << 20 };

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void
stain_worker(struct lend_worker *loan, size_t size)
{
	pattern_stain(loan->a, size, STAIN);
	pattern_stain(loan->tile, size, STAIN);
	pattern_stain(loan->scatter, loan->scatter_capacity * 8, STAIN);
}

static struct lend_worker
stained_worker(lend_arena *arena, size_t size)
{
	struct lend_req req = worker_req(size, size, size / 8);
	struct lend_worker loan = checkout(arena, &req);

	stain_worker(&loan, size);
	return loan;
}

static struct lend_team
stained_team(lend_arena *arena, size_t size)
{
	struct lend_req req = team_req(size / 8, 1);
	struct lend_team lease = take(arena, &req);

	ck_assert_int_eq(lend_team_panel(arena, &lease, size), 0);
	pattern_stain(lease.panel, size, STAIN);
	pattern_stain(lease.scatter, lease.scatter_capacity * 8, STAIN);
	return lease;
}

/* Gives back what it stained, while the arena lives on. */
typedef void way_fn(lend_arena *arena, size_t size);

static void
by_trim(lend_arena *arena, size_t size)
{
	struct lend_worker loan = stained_worker(arena, size);
	struct lend_team lease = stained_team(arena, size);

	give_back(arena, &lease);
	checkin(arena, &loan);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
}

static void
by_growth(lend_arena *arena, size_t size)
{
	struct lend_worker loan = stained_worker(arena, size);
	struct lend_team lease = stained_team(arena, size);
	struct lend_req more = worker_req(2 * size, 2 * size, size);

	ck_assert_int_eq(lend_team_panel(arena, &lease, 2 * size), 0);
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, size / 2),
			 0);
	give_back(arena, &lease);
	checkin(arena, &loan);
	loan = checkout(arena, &more);
	checkin(arena, &loan);
}

static void
by_nested_return(lend_arena *arena, size_t size)
{
	struct lend_req none = worker_req(0, 0, 0);
	struct lend_worker loan = checkout(arena, &none), nested;

	nested = stained_worker(arena, size);
	checkin(arena, &nested);
	checkin(arena, &loan);
}

static void
by_shrinking(lend_arena *arena, size_t size)
{
	struct lend_team lease = stained_team(arena, size);

	ck_assert_int_eq(lend_team_scatter_shrink(arena, &lease), 0);
	give_back(arena, &lease);
}

/* Left behind idle: its destroy gives it back. */
static void
by_destroy(lend_arena *arena, size_t size)
{
	struct lend_worker loan = stained_worker(arena, size);
	struct lend_team lease = stained_team(arena, size);

	give_back(arena, &lease);
	checkin(arena, &loan);
}

static way_fn *const ways[] = {
	by_trim, by_growth, by_nested_return, by_shrinking, by_destroy,
};

#define WAYS (sizeof(ways) / sizeof(ways[0]))
#define AT_ONCE 6

/* How often the stain is in what a new arena gets, many buffers at once. */
static size_t
search(size_t size)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_req req = worker_req(size, size, size / 8);
	struct lend_req team = team_req(size / 8, 1);
	struct lend_worker loan[AT_ONCE];
	struct lend_team lease[AT_ONCE];
	size_t found = 0;

	for (int i = 0; i < AT_ONCE; i++) {
		loan[i] = checkout(arena, &req);
		lease[i] = take(arena, &team);
		ck_assert_int_eq(lend_team_panel(arena, &lease[i], size), 0);
		found += pattern_count(loan[i].a, size, STAIN);
		found += pattern_count(loan[i].tile, size, STAIN);
		found += pattern_count(loan[i].scatter, size, STAIN);
		found += pattern_count(lease[i].panel, size, STAIN);
		found += pattern_count(lease[i].scatter, size, STAIN);
	}
	for (int i = AT_ONCE - 1; i >= 0; i--) {
		give_back(arena, &lease[i]);
		checkin(arena, &loan[i]);
	}
	arena_end(arena);
	return found;
}

/* One way of giving back, all sizes. */
START_TEST(what_one_gives_back_no_other_reads)
{
	unsigned times = scale(2);

	for (size_t s = 0; s < SIZES; s++) {
		for (unsigned i = 0; i < times; i++) {
			lend_arena *arena = arena_of(NULL);

			ways[_i](arena, sizes[s]);
			if (ways[_i] == by_destroy)
				arena_end(arena);
			ck_assert_uint_eq(search(sizes[s]), 0);
			/* Smaller ones: part of what was given back. */
			ck_assert_uint_eq(search(sizes[s] / 4), 0);
			if (ways[_i] != by_destroy)
				arena_end(arena);
		}
	}
}
END_TEST

#define OWNERS 4

struct neighbours {
	atomic_int errors;
	atomic_size_t found;
};

/* Makes an arena, looks for others' stains, leaves its own, destroys it. */
static int
own(struct neighbours *neighbours, size_t index, uint64_t *random)
{
	size_t size = 4096u << random_below(random, 6), found = 0;
	struct lend_req req = worker_req(size, size, size / 8);
	struct lend_worker loan;
	lend_arena *arena;
	int error = lend_arena_create(&arena, NULL);

	error = error ? error : lend_worker_checkout(arena, &req, &loan);
	if (error)
		return error;
	for (size_t i = 0; i < OWNERS; i++) {
		found += pattern_count(loan.a, size, STAIN + i);
		found += pattern_count(loan.tile, size, STAIN + i);
		found += pattern_count(loan.scatter, size, STAIN + i);
	}
	atomic_fetch_add(&neighbours->found, found);
	pattern_stain(loan.a, size, STAIN + index);
	pattern_stain(loan.tile, size, STAIN + index);
	pattern_stain(loan.scatter, size, STAIN + index);
	error = lend_worker_return(arena, &loan);
	if (random_below(random, 2))
		error |= lend_arena_trim(arena);
	return error | lend_arena_destroy(arena);
}

static void
owner_main(size_t index, void *ctx)
{
	struct neighbours *neighbours = ctx;
	unsigned rounds = scale(500);
	uint64_t random = index;

	for (unsigned i = 0; i < rounds; i++)
		if (own(neighbours, index, &random))
			atomic_fetch_add(&neighbours->errors, 1);
}

/* Owners that come and go at the same time. */
START_TEST(owners_at_once_read_nothing_of_each_other)
{
	struct neighbours neighbours = { 0 };

	crew_run(OWNERS, owner_main, &neighbours);
	ck_assert_int_eq(atomic_load(&neighbours.errors), 0);
	ck_assert_uint_eq(atomic_load(&neighbours.found), 0);
}
END_TEST

/* That a stain would be found: within its own arena it is. */
START_TEST(the_search_finds_what_is_there)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_worker loan = stained_worker(arena, 65536);

	ck_assert_uint_eq(pattern_count(loan.a, 65536, STAIN), 65536 / 8);
	ck_assert_uint_eq(pattern_count(loan.scatter, 65536, STAIN),
			  65536 / 8);
	checkin(arena, &loan);
	arena_end(arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "backend:mmap", NULL };
	Suite *suite = suite_create("isolation of arenas");
	TCase *stain = watched_case(suite, "stain");

	tcase_add_test(stain, the_search_finds_what_is_there);
	tcase_add_loop_test(stain, what_one_gives_back_no_other_reads, 0,
			    WAYS);
	tcase_add_test(stain, owners_at_once_read_nothing_of_each_other);
	return suite_run_also(suite, confs);
}
