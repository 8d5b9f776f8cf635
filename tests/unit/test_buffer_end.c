/* SPDX-License-Identifier: MIT */
/*
 * What becomes of idle buffers: trim, the limit, threads that end, destroy.
 */
#include "lend/buffer.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "arena/thread.h"
#include "mem/init.h"
#include "support/audit.h"
#include "support/buffers.h"
#include "support/crew.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/process.h"
#include "support/suite.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define HANDS 6

/* Releases the idle ones; those that are out are usable all along. */
START_TEST(a_trim_leaves_what_is_out)
{
	lend_arena *arena = arena_new();
	char *kept = borrowed(arena, 100 * KIB), *idle[10];

	pattern_write(kept, 100 * KIB, 1);
	for (size_t i = 0; i < 10; i++)
		idle[i] = borrowed(arena, (i + 1) * 100 * KIB);
	for (int i = 0; i < 10; i++)
		given_back(idle[i]);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	ck_assert_uint_eq(outstanding(), capacity_of(kept));
	ck_assert_uint_eq(stats_of(arena).retained_bytes, capacity_of(kept));
	ck_assert_uint_eq(stats_of(arena).leased_bytes, capacity_of(kept));
	ck_assert_uint_eq(stats_of(arena).buffers_out, 1);
	ck_assert_uint_eq(stats_of(arena).buffers_idle, 0);
	ck_assert(pattern_holds(kept, 100 * KIB, 1));
	ck_assert_ptr_null(audit_arena(arena).wrong);
	given_back(kept);
	ck_assert_ptr_eq(borrowed(arena, 100 * KIB), kept);
	given_back(kept);
	arena_end(arena);
}
END_TEST

/* "Resident memory falls, not only the counter." */
START_TEST(a_trim_gives_memory_to_the_system)
{
	lend_arena *arena = arena_new();
	char *buffer = borrowed(arena, 16 * MIB);
	size_t before;

	memset(buffer, 1, 16 * MIB);
	before = process_resident();
	given_back(buffer);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	if (before)
		ck_assert_uint_le(process_resident() + 12 * MIB, before);
	arena_end(arena);
}
END_TEST

struct hands {
	struct crew crew;
	lend_arena *arena;
	void *buffer[HANDS];
	int error;
	uint64_t growths;
};

static void
borrow_one(struct hands *hands, size_t index, size_t bytes)
{
	if (lend_buffer_borrow(hands->arena, bytes, &hands->buffer[index]))
		hands->error = 1;
}

static void
return_one(struct hands *hands, size_t index)
{
	if (lend_buffer_return(hands->buffer[index]))
		hands->error = 1;
}

/* Lends, goes idle, waits twice, lends again. */
static void
lend_and_wait(size_t index, void *ctx)
{
	struct hands *hands = ctx;

	borrow_one(hands, index, 64 * KIB);
	crew_step(&hands->crew);
	crew_step(&hands->crew);
	return_one(hands, index);
	crew_step(&hands->crew);
	crew_step(&hands->crew);
	borrow_one(hands, index, 64 * KIB);
	memset(hands->buffer[index], 1, 64 * KIB);
	return_one(hands, index);
	crew_step(&hands->crew);
	crew_step(&hands->crew);
}

/* "On all threads' slots": what waits in a living thread's cache as well. */
START_TEST(a_trim_reaches_all_caches)
{
	struct hands hands = { .arena = arena_new() };

	crew_start(&hands.crew, HANDS, lend_and_wait, &hands);
	crew_step(&hands.crew);
	ck_assert_uint_eq(stats_of(hands.arena).buffers_out, HANDS);
	crew_step(&hands.crew);
	crew_step(&hands.crew);
	ck_assert_uint_eq(stats_of(hands.arena).buffers_idle, HANDS);
	ck_assert_int_eq(listed(hands.arena, 64 * KIB),
			 lend__conf.buffer_cache == 0);
	ck_assert_int_eq(lend_arena_trim(hands.arena), 0);
	ck_assert_uint_eq(outstanding(), 0);
	stats_settled(hands.arena);
	crew_step(&hands.crew);
	crew_step(&hands.crew);
	/* They have cached again, in the caches that they had. */
	ck_assert_ptr_null(audit_arena(hands.arena).wrong);
	ck_assert_int_eq(lend_arena_trim(hands.arena), 0);
	ck_assert_uint_eq(outstanding(), 0);
	crew_step(&hands.crew);
	crew_join(&hands.crew);
	ck_assert_int_eq(hands.error, 0);
	arena_end(hands.arena);
}
END_TEST

/* A growth beyond it "first tries the arena's own idle storage". */
START_TEST(a_limit_takes_what_is_idle_first)
{
	lend_arena *arena = arena_limited(256 * KIB);
	char *first = borrowed(arena, 128 * KIB), *second;
	void *none = NULL;

	ck_assert_int_eq(lend_buffer_borrow(arena, 160 * KIB, &none),
			 -EDQUOT);
	ck_assert_ptr_null(none);
	given_back(first);
	/* Only in its place. */
	second = borrowed(arena, 160 * KIB);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, 160 * KIB);
	ck_assert_uint_ge(stats_of(arena).trims, 1);
	first = borrowed(arena, 96 * KIB);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, 256 * KIB);
	ck_assert_int_eq(lend_buffer_borrow(arena, 1, &none), -EDQUOT);
	ck_assert_ptr_null(audit_arena(arena).wrong);
	given_back(first);
	given_back(second);
	ck_assert_int_eq(lend_buffer_borrow(arena, 257 * KIB, &none),
			 -EDQUOT);
	stats_settled(arena);
	ck_assert_ptr_null(audit_arena(arena).wrong);
	arena_end(arena);
}
END_TEST

/* And others' idle storage, of any kind; and those get what buffers hold. */
START_TEST(a_limit_is_shared_by_all_kinds)
{
	lend_arena *arena = arena_limited(128 * KIB);
	struct lend_worker loan = lent(arena, 64 * KIB, 0, 0);
	char *buffer;

	returned(arena, &loan);
	buffer = borrowed(arena, 128 * KIB);
	ck_assert_uint_eq(stats_of(arena).retained_bytes, 128 * KIB);
	given_back(buffer);
	loan = lent(arena, 128 * KIB, 0, 0);
	ck_assert_uint_eq(stats_of(arena).buffer_bytes, 0);
	returned(arena, &loan);
	arena_end(arena);
}
END_TEST

static void
lend_and_end(size_t index, void *ctx)
{
	struct hands *hands = ctx;

	borrow_one(hands, index, 64 * KIB);
	return_one(hands, index);
}

/* What ended threads had in their caches is there for those that follow. */
START_TEST(threads_that_end_leave_their_buffers)
{
	struct hands hands = { .arena = arena_new() };

	for (int i = 0; i < 50; i++)
		crew_run(HANDS, lend_and_end, &hands);
	ck_assert_int_eq(hands.error, 0);
	/* Each had one at a time. */
	ck_assert_uint_le(stats_of(hands.arena).buffers_idle, HANDS);
	ck_assert_uint_le(stats_of(hands.arena).growths, HANDS);
	ck_assert(listed(hands.arena, 64 * KIB));
	ck_assert_ptr_null(audit_arena(hands.arena).wrong);
	stats_settled(hands.arena);
	arena_end(hands.arena);
}
END_TEST

static pthread_key_t late_key;

/* Runs when the library's own destructor has run already. */
static void
come_late(void *arg)
{
	struct hands *hands = arg;
	void *again = NULL;

	return_one(hands, 0);
	if (lend_buffer_borrow(hands->arena, 64 * KIB, &again) ||
	    again != hands->buffer[0] || lend_buffer_return(again))
		hands->error = 1;
}

static void
end_late(size_t index, void *ctx)
{
	struct hands *hands = ctx;

	lend_and_end(1, ctx);
	borrow_one(hands, index, 64 * KIB);
	if (pthread_setspecific(late_key, hands))
		hands->error = 1;
}

/* A thread that is over has no cache: its slot is for another one. */
START_TEST(what_comes_late_goes_to_the_lists)
{
	struct hands hands = { .arena = arena_new() };

	/* After the library's, so that its destructor is called later. */
	ck_assert_int_eq(pthread_key_create(&late_key, come_late), 0);
	crew_run(1, end_late, &hands);
	ck_assert_int_eq(hands.error, 0);
	ck_assert_uint_eq(stats_of(hands.arena).buffers_idle, 1);
	ck_assert(listed(hands.arena, 64 * KIB));
	ck_assert_ptr_null(audit_arena(hands.arena).wrong);
	pthread_key_delete(late_key);
	arena_end(hands.arena);
}
END_TEST

/* "Whichever thread's": in caches of living threads, on lists. */
static void
lend_and_stay(size_t index, void *ctx)
{
	struct hands *hands = ctx;

	borrow_one(hands, index, 64 * KIB);
	return_one(hands, index);
	crew_step(&hands->crew);
	crew_step(&hands->crew);
	/* Of a new arena, perhaps where the other one was. */
	borrow_one(hands, index, 64 * KIB);
	memset(hands->buffer[index], 2, 64 * KIB);
	return_one(hands, index);
}

START_TEST(destroy_reaches_all_caches)
{
	struct hands hands = { .arena = arena_new() };

	crew_start(&hands.crew, HANDS, lend_and_stay, &hands);
	crew_step(&hands.crew);
	arena_end(hands.arena);
	ck_assert_uint_eq(outstanding(), 0);
	hands.arena = arena_new();
	crew_step(&hands.crew);
	crew_join(&hands.crew);
	ck_assert_int_eq(hands.error, 0);
	ck_assert_uint_ge(stats_of(hands.arena).growths, 1);
	ck_assert_ptr_null(audit_arena(hands.arena).wrong);
	arena_end(hands.arena);
}
END_TEST

struct heir {
	struct crew crew;
	lend_arena *arena;
	void *first, *second;
	int error;
};

/* Adopts the slot that was given up, and uses its cache. */
static void
inherit(size_t index, void *ctx)
{
	struct heir *heir = ctx;
	void *buffer = NULL;

	(void)index;
	heir->error |= lend_buffer_borrow(heir->arena, 64 * KIB, &buffer);
	heir->error |= lend_buffer_return(buffer);
	crew_step(&heir->crew);
	crew_step(&heir->crew);
	heir->error |= lend_buffer_borrow(heir->arena, 64 * KIB, &heir->first);
	heir->error |= lend_buffer_borrow(heir->arena, 64 * KIB,
					  &heir->second);
	heir->error |= lend_buffer_return(heir->first);
	heir->error |= lend_buffer_return(heir->second);
}

/* A thread that gives its slot up has done with the slot's cache as well. */
START_TEST(a_cache_goes_with_its_slot)
{
	struct heir heir = { .arena = arena_new() };
	void *kept, *other;

	kept = borrowed(heir.arena, 64 * KIB);
	other = borrowed(heir.arena, 64 * KIB);
	given_back(other);
	thread_detach(heir.arena);
	crew_start(&heir.crew, 1, inherit, &heir);
	crew_step(&heir.crew);
	given_back(kept);
	crew_step(&heir.crew);
	crew_join(&heir.crew);
	ck_assert_int_eq(heir.error, 0);
	/* Without room in caches all are on the lists, for anybody. */
	if (lend__conf.buffer_cache) {
		ck_assert_ptr_eq(heir.first, other);
		ck_assert_ptr_ne(heir.second, kept);
	}
	ck_assert_ptr_null(audit_arena(heir.arena).wrong);
	arena_end(heir.arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = {
		"membarrier:false", "buffer_cache:0", NULL
	};
	Suite *suite = suite_create("buffer ends");
	TCase *idle = watched_case(suite, "idle");
	TCase *end = watched_case(suite, "end");

	tcase_add_test(idle, a_trim_leaves_what_is_out);
	tcase_add_test(idle, a_trim_gives_memory_to_the_system);
	tcase_add_test(idle, a_trim_reaches_all_caches);
	tcase_add_test(idle, a_limit_takes_what_is_idle_first);
	tcase_add_test(idle, a_limit_is_shared_by_all_kinds);
	tcase_add_test(end, threads_that_end_leave_their_buffers);
	tcase_add_test(end, what_comes_late_goes_to_the_lists);
	tcase_add_test(end, a_cache_goes_with_its_slot);
	tcase_add_test(end, destroy_reaches_all_caches);
	return suite_run_also(suite, confs);
}
