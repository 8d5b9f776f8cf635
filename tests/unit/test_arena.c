/* SPDX-License-Identifier: MIT */
/*
 * Arenas: who they are, how they are made.  How they end is in
 * test_arena_end.c, that none gets another's bytes in test_arena_isolation.c.
 */
#include "lend/arena.h"

#include <check.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena/state.h"
#include "support/crew.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/scale.h"
#include "support/suite.h"

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

/* "A process-unique 64-bit key that is never reused"; the small index is. */
START_TEST(a_key_is_never_used_again)
{
	lend_arena *stays = arena_of(NULL);
	uint64_t last = lend_arena_key(stays);
	unsigned cycles = scale(10000);

	ck_assert_uint_gt(last, 0);
	for (unsigned i = 0; i < cycles; i++) {
		lend_arena *arena = arena_of(NULL);

		/* So none is equal to any before. */
		if (lend_arena_key(arena) <= last ||
		    arena->index == stays->index || arena->index > 16)
			ck_abort_msg("cycle %u: key %ju after %ju, index %u",
				     i, (uintmax_t)lend_arena_key(arena),
				     (uintmax_t)last, arena->index);
		last = lend_arena_key(arena);
		if (lend_arena_destroy(arena))
			ck_abort_msg("cycle %u: not destroyed", i);
	}
	ck_assert_uint_eq(lend_arena_key(NULL), 0);
	arena_end(stays);
}
END_TEST

/*
 * "Nothing that outlives an arena (a thread's cache) can be taken for
 * another's": the next arena has the place of the last one in the thread's
 * table, and the thread begins anew in it.
 */
START_TEST(a_stale_cache_entry_is_not_believed)
{
	lend_arena *arena = arena_of(NULL);
	uint32_t index = arena->index;

	for (int i = 0; i < 20; i++) {
		lend_once(arena);
		ck_assert_uint_eq(stats_of(arena).slots_idle, 1);
		arena_end(arena);
		ck_assert_uint_eq(outstanding(), 0);
		arena = arena_of(NULL);
		ck_assert_uint_eq(arena->index, index);
		ck_assert_uint_eq(stats_of(arena).slots_idle, 0);
	}
	arena_end(arena);
}
END_TEST

/* There is nothing that a new arena could have from elsewhere. */
START_TEST(a_new_arena_has_nothing)
{
	lend_arena *other = arena_of(NULL), *arena;
	struct lend_stats stats;

	lend_once(other);
	arena = arena_of(NULL);
	stats = stats_of(arena);
	ck_assert_uint_eq(stats.retained_bytes, 0);
	ck_assert_uint_eq(stats.leased_bytes, 0);
	ck_assert_uint_eq(stats.panel_bytes, 0);
	ck_assert_uint_eq(stats.slots_idle + stats.slots_out, 0);
	ck_assert_uint_eq(stats.sets_idle + stats.sets_out, 0);
	ck_assert_uint_eq(stats.growths + stats.reentrant, 0);
	ck_assert_uint_eq(stats.abandoned + stats.adopted + stats.trims, 0);
	ck_assert_uint_eq(stats.key, lend_arena_key(arena));
	ck_assert_uint_ne(stats.key, lend_arena_key(other));
	arena_end(arena);
	arena_end(other);
}
END_TEST

START_TEST(impossible_options_are_refused)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	static const size_t sizes[] = {
		0, 8, sizeof(options) - 1, sizeof(options) + 1,
		sizeof(options) + 8, SIZE_MAX,
	};
	lend_arena *arena = NULL;

	ck_assert_int_eq(lend_arena_create(NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_arena_create(NULL, &options), -EINVAL);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		options.size = sizes[i];
		ck_assert_int_eq(lend_arena_create(&arena, &options),
				 -EINVAL);
		ck_assert_ptr_null(arena);
	}
}
END_TEST

/* Copied, and cut to what is kept. */
START_TEST(the_name_is_copied_and_cut)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	char name[] = "0123456789012345678901234567890123456789";
	lend_arena *arena;

	options.name = name;
	arena = arena_of(&options);
	memset(name, 'x', 10);
	ck_assert_str_eq(arena->name, "0123456789012345678901234567890");
	arena_end(arena);
	options.name = NULL;
	arena = arena_of(&options);
	ck_assert_str_eq(arena->name, "");
	arena_end(arena);
}
END_TEST

/* "Reserved huge pages first, where there are some": else others serve. */
START_TEST(without_reserved_huge_pages_others_serve)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	struct lend_req req = worker_req(4 << 20, 4096, 0);
	struct lend_worker loan;
	lend_arena *arena;

	options.hugetlb = true;
	arena = arena_of(&options);
	loan = checkout(arena, &req);
	pattern_write(loan.tile, 4096, 1);
	ck_assert_uint_eq(stats_of(arena).leased_bytes, (4 << 20) + 4096);
	checkin(arena, &loan);
	arena_end(arena);
}
END_TEST

#define MANY 2000

/* All alive at once, each with its own. */
START_TEST(many_arenas_live_at_once)
{
	static lend_arena *arena[MANY];
	static struct lend_worker loan[MANY];
	struct lend_req req = worker_req(4096, 0, 0);
	unsigned n = scale(MANY);

	for (unsigned i = 0; i < n; i++) {
		arena[i] = arena_of(NULL);
		loan[i] = checkout(arena[i], &req);
		pattern_write(loan[i].a, 4096, i);
	}
	ck_assert_uint_eq(outstanding(), n * 4096);
	for (unsigned i = 0; i < n; i++) {
		ck_assert(pattern_holds(loan[i].a, 4096, i));
		checkin(arena[i], &loan[i]);
		ck_assert_uint_eq(stats_of(arena[i]).retained_bytes, 4096);
	}
	/* Every third one, then the rest: the others are not disturbed. */
	for (unsigned i = 0; i < n; i += 3)
		arena_end(arena[i]);
	for (unsigned i = 0; i < n; i++)
		if (i % 3) {
			struct lend_worker again = checkout(arena[i], &req);

			ck_assert_ptr_eq(again.a, loan[i].a);
			checkin(arena[i], &again);
			arena_end(arena[i]);
		}
}
END_TEST

#define OWNERS 8
#define ROUNDS 200

struct owners {
	uint64_t key[OWNERS][ROUNDS];
	unsigned rounds;
	atomic_int errors;
};

static int
own(uint64_t *key, uint64_t seed)
{
	struct lend_worker loan;
	struct lend_team lease;
	lend_arena *arena;
	int error = lend_arena_create(&arena, NULL);

	if (error)
		return error;
	*key = lend_arena_key(arena);
	error = lend_worker_checkout(arena, &some, &loan);
	error |= lend_team_take(arena, &some, 1, 1, &lease);
	error |= lend_team_panel(arena, &lease, 8192);
	pattern_write(loan.a, 8192, seed);
	pattern_write(lease.panel, 8192, ~seed);
	if (!pattern_holds(loan.a, 8192, seed) ||
	    !pattern_holds(lease.panel, 8192, ~seed))
		error = -EILSEQ;
	error |= lend_arena_destroy(arena) != -EBUSY;
	error |= lend_team_return(arena, &lease);
	error |= lend_worker_return(arena, &loan);
	return error | lend_arena_destroy(arena);
}

static void
owner_main(size_t index, void *ctx)
{
	struct owners *owners = ctx;

	for (unsigned i = 0; i < owners->rounds; i++)
		if (own(&owners->key[index][i],
			(uint64_t)index << 32 | i))
			atomic_fetch_add(&owners->errors, 1);
}

static int
compare_keys(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Threads that make and destroy arenas of their own, all at once. */
START_TEST(many_threads_make_and_destroy_their_own)
{
	static struct owners owners;
	size_t n = 0;
	uint64_t *keys = &owners.key[0][0];

	memset(&owners, 0, sizeof(owners));
	owners.rounds = scale(ROUNDS);
	crew_run(OWNERS, owner_main, &owners);
	ck_assert_int_eq(atomic_load(&owners.errors), 0);
	qsort(keys, OWNERS * ROUNDS, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < OWNERS * ROUNDS; i++) {
		if (keys[i] == 0)
			continue;
		n++;
		if (i > 0 && keys[i] == keys[i - 1])
			ck_abort_msg("key %ju twice", (uintmax_t)keys[i]);
	}
	ck_assert_uint_eq(n, OWNERS * owners.rounds);
	ck_assert_uint_eq(outstanding(), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("arena");
	TCase *identity = watched_case(suite, "identity");
	TCase *options = watched_case(suite, "options");
	TCase *many = watched_case(suite, "many");

	tcase_add_test(identity, a_key_is_never_used_again);
	tcase_add_test(identity, a_stale_cache_entry_is_not_believed);
	tcase_add_test(identity, a_new_arena_has_nothing);
	tcase_add_test(options, impossible_options_are_refused);
	tcase_add_test(options, the_name_is_copied_and_cut);
	tcase_add_test(options, without_reserved_huge_pages_others_serve);
	tcase_add_test(many, many_arenas_live_at_once);
	tcase_add_test(many, many_threads_make_and_destroy_their_own);
	return suite_run(suite);
}
