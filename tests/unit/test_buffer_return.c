/* SPDX-License-Identifier: MIT */
/*
 * How a buffer loan ends: by any thread, once; and what is refused: "a pointer
 * that is not an outstanding buffer of a living arena is refused, not
 * believed".
 */
#include "lend/buffer.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "arena/buffer_class.h"
#include "support/audit.h"
#include "support/buffers.h"
#include "support/crew.h"
#include "support/instep.h"
#include "support/loans.h"
#include "support/pattern.h"
#include "support/scale.h"
#include "support/suite.h"

#define KIB ((size_t)1024)

/* That the address is refused with the error, and nothing has changed. */
static void
assert_refused(lend_arena *arena, void *address, int error)
{
	struct lend_stats before = stats_of(arena), after;
	struct fault_counts counts = fault_counts(), counts_after;
	size_t bytes = 12345;

	ck_assert_int_eq(lend_buffer_return(address), error);
	ck_assert_int_eq(lend_buffer_capacity(address, &bytes), error);
	ck_assert_uint_eq(bytes, 12345);
	after = stats_of(arena);
	stats_same(&before, &after);
	counts_after = fault_counts();
	counts_same(&counts, &counts_after);
	ck_assert_ptr_null(audit_arena(arena).wrong);
}

START_TEST(bad_requests_are_refused)
{
	lend_arena *arena = arena_new();
	struct lend_stats before = stats_of(arena), after;
	void *buffer = &before;

	ck_assert_int_eq(lend_buffer_borrow(NULL, 1, &buffer), -EINVAL);
	ck_assert_int_eq(lend_buffer_borrow(arena, 1, NULL), -EINVAL);
	ck_assert_int_eq(lend_buffer_borrow(arena, 0, &buffer), -EINVAL);
	ck_assert_int_eq(lend_buffer_borrow(arena, SIZE_MAX, &buffer),
			 -EOVERFLOW);
	ck_assert_int_eq(lend_buffer_borrow(arena, BUFFER_BYTES_MAX + 1,
					    &buffer), -EOVERFLOW);
	ck_assert_ptr_eq(buffer, &before);
	after = stats_of(arena);
	stats_same(&before, &after);
	buffer = borrowed(arena, 1);
	ck_assert_int_eq(lend_buffer_capacity(buffer, NULL), -EINVAL);
	given_back(buffer);
	arena_end(arena);
}
END_TEST

/* All there is in an address but the starts of buffers. */
START_TEST(wild_addresses_are_refused)
{
	lend_arena *arena = arena_new();
	char *buffer = borrowed(arena, 40 * KIB), local[1] = { 0 };
	char *heap = malloc(10), *page;

	page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(page != MAP_FAILED);
	assert_refused(arena, NULL, -EINVAL);
	assert_refused(arena, local, -EINVAL);
	assert_refused(arena, heap, -EINVAL);
	/* Nobody may look at what is there. */
	assert_refused(arena, page, -EINVAL);
	assert_refused(arena, arena, -EINVAL);
	for (int bit = 0; bit < 64; bit++) {
		assert_refused(arena, (void *)((uintptr_t)1 << bit), -EINVAL);
		assert_refused(arena, (void *)-((uintptr_t)1 << bit),
			       -EINVAL);
		assert_refused(arena, (void *)((uintptr_t)buffer ^
					       (uintptr_t)1 << bit), -EINVAL);
	}
	munmap(page, 4096);
	free(heap);
	pattern_write(buffer, 40 * KIB, 1);
	given_back(buffer);
	arena_end(arena);
}
END_TEST

START_TEST(interior_addresses_are_refused)
{
	lend_arena *arena = arena_new();
	char *buffer = borrowed(arena, 40 * KIB);

	for (size_t i = 1; i <= 40 * KIB; i += i < 10 ? 1 : 511)
		assert_refused(arena, buffer + i, -EINVAL);
	for (size_t i = 4096; i < 40 * KIB; i += 4096)
		assert_refused(arena, buffer + i, -EINVAL);
	assert_refused(arena, buffer - 4096, -EINVAL);
	given_back(buffer);
	arena_end(arena);
}
END_TEST

START_TEST(a_second_return_is_refused)
{
	lend_arena *arena = arena_new();
	char *buffer = borrowed(arena, 40 * KIB);

	given_back(buffer);
	assert_refused(arena, buffer, -EALREADY);
	assert_refused(arena, buffer, -EALREADY);
	/* Nor when it has been trimmed away. */
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	assert_refused(arena, buffer, -EINVAL);
	arena_end(arena);
}
END_TEST

/* The arena is gone, and its bookkeeping unmapped: none of it is read. */
START_TEST(buffers_of_a_dead_arena_are_refused)
{
	lend_arena *arena = arena_new(), *other = arena_new();
	char *buffer[20];

	for (int i = 0; i < 20; i++)
		buffer[i] = borrowed(arena, (size_t)(i + 1) * 4096);
	ck_assert_int_eq(lend_arena_destroy(arena), -EBUSY);
	for (int i = 0; i < 20; i++)
		given_back(buffer[i]);
	arena_end(arena);
	for (int i = 0; i < 20; i++)
		assert_refused(other, buffer[i], -EINVAL);
	arena_end(other);
}
END_TEST

struct errand {
	lend_arena *arena;
	void *buffer;
	int error;
};

static void
run_errand(size_t index, void *ctx)
{
	struct errand *errand = ctx;

	(void)index;
	pattern_write(errand->buffer, 8 * KIB, 3);
	errand->error = lend_buffer_return(errand->buffer);
}

START_TEST(another_thread_may_return_it)
{
	lend_arena *arena = arena_new();
	struct errand errand = { arena, borrowed(arena, 8 * KIB), 1 };

	crew_run(1, run_errand, &errand);
	ck_assert_int_eq(errand.error, 0);
	ck_assert_uint_eq(stats_of(arena).buffers_idle, 1);
	stats_settled(arena);
	assert_refused(arena, errand.buffer, -EALREADY);
	/* The thread has ended, so its cache is there for others. */
	ck_assert(listed(arena, 8 * KIB));
	ck_assert_ptr_eq(borrowed(arena, 8 * KIB), errand.buffer);
	given_back(errand.buffer);
	arena_end(arena);
}
END_TEST

/* The thread that borrowed it is gone: the loan is not. */
static void
borrow_and_end(size_t index, void *ctx)
{
	struct errand *errand = ctx;

	(void)index;
	errand->error = lend_buffer_borrow(errand->arena, 8 * KIB,
					   &errand->buffer);
}

START_TEST(a_loan_outlives_its_thread)
{
	lend_arena *arena = arena_new();
	struct errand errand = { .arena = arena };

	crew_run(1, borrow_and_end, &errand);
	ck_assert_int_eq(errand.error, 0);
	ck_assert_uint_eq(stats_of(arena).buffers_out, 1);
	ck_assert_uint_eq(stats_of(arena).abandoned, 0);
	pattern_write(errand.buffer, 8 * KIB, 4);
	ck_assert_int_eq(lend_arena_destroy(arena), -EBUSY);
	given_back(errand.buffer);
	arena_end(arena);
}
END_TEST

struct race {
	struct instep step;
	lend_arena *arena;
	void *buffer;
	unsigned rounds;
	unsigned won[2], lost[2];
};

static void
return_at_once(size_t index, void *ctx)
{
	struct race *race = ctx;

	instep_begin(index);
	for (unsigned round = 0; round < race->rounds; round++) {
		int error;

		if (index == 0 && lend_buffer_borrow(race->arena, 64 * KIB,
						     &race->buffer))
			race->buffer = NULL;
		instep_meet(&race->step);
		instep_delay(index, round);
		error = lend_buffer_return(race->buffer);
		race->won[index] += error == 0;
		race->lost[index] += error == -EALREADY;
		instep_meet(&race->step);
	}
}

/* "Of all concurrent returns exactly one succeeds." */
START_TEST(of_two_returns_at_once_one_succeeds)
{
	struct race race = {
		.arena = arena_new(), .rounds = scale(10000)
	};

	crew_run(2, return_at_once, &race);
	ck_assert_uint_eq(race.won[0] + race.won[1], race.rounds);
	ck_assert_uint_eq(race.lost[0] + race.lost[1], race.rounds);
	ck_assert_uint_eq(stats_of(race.arena).buffers_out, 0);
	stats_settled(race.arena);
	ck_assert_ptr_null(audit_arena(race.arena).wrong);
	arena_end(race.arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = {
		"membarrier:false", "buffer_cache:0", NULL
	};
	Suite *suite = suite_create("buffer returns");
	TCase *bad = watched_case(suite, "bad");
	TCase *once = watched_case(suite, "once");

	tcase_add_test(bad, bad_requests_are_refused);
	tcase_add_test(bad, wild_addresses_are_refused);
	tcase_add_test(bad, interior_addresses_are_refused);
	tcase_add_test(bad, a_second_return_is_refused);
	tcase_add_test(bad, buffers_of_a_dead_arena_are_refused);
	tcase_add_test(once, another_thread_may_return_it);
	tcase_add_test(once, a_loan_outlives_its_thread);
	tcase_add_test(once, of_two_returns_at_once_one_succeeds);
	return suite_run_also(suite, confs);
}
