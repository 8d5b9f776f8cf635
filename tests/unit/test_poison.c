/* SPDX-License-Identifier: MIT */
/*
 * A user's use of a buffer after its return is reported by AddressSanitizer
 * and by valgrind; a use before it is not.  Where neither watches, there is
 * nothing to report, and nothing is tested.
 */
#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lend/lend.h"
#include "mem/poison.h"
#include "support/loans.h"
#include "support/suite.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define UNDER_ASAN
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define UNDER_ASAN
#endif

#ifdef HAVE_VALGRIND_H
#include <valgrind/memcheck.h>
#else
#define RUNNING_ON_VALGRIND 0
#define VALGRIND_GET_VBITS(p, bits, n) ((void)(p), (void)(bits), 0u)
#endif

#ifdef UNDER_ASAN
#include <sanitizer/asan_interface.h>
#else
#define __asan_address_is_poisoned(p) ((void)(p), 0)
#endif

#define BYTES 20000
#define ELEMENTS 512

static const struct lend_req some = {
	.a_bytes = BYTES, .tile_bytes = BYTES, .worker_scatter = ELEMENTS,
	.team_scatter = ELEMENTS, .barriers = 2,
};

/* Whether the byte may be touched, as the tool that watches sees it. */
static bool
may_touch(const volatile void *p)
{
	unsigned char bits;

	/* 3: the byte is not addressable. */
	if (RUNNING_ON_VALGRIND)
		return VALGRIND_GET_VBITS(p, &bits, 1) != 3;
	return !__asan_address_is_poisoned(p);
}

/* Whether all, or none, of the first, a middle and the last byte may be. */
static bool
may_touch_all(const void *p, size_t size)
{
	const char *byte = p;

	return may_touch(byte) && may_touch(byte + size / 2) &&
	       may_touch(byte + size - 1);
}

static bool
may_touch_none(const void *p, size_t size)
{
	const char *byte = p;

	return !may_touch(byte) && !may_touch(byte + size / 2) &&
	       !may_touch(byte + size - 1);
}

static void
write_worker(struct lend_worker *loan)
{
	memset(loan->a, 1, BYTES);
	memset(loan->tile, 2, BYTES);
	memset(loan->scatter, 3, ELEMENTS * sizeof(int64_t));
}

static void
assert_worker(const struct lend_worker *loan, bool lent)
{
	bool (*const all)(const void *, size_t) = lent ? may_touch_all
						       : may_touch_none;

	ck_assert(all(loan->a, BYTES));
	ck_assert(all(loan->tile, BYTES));
	ck_assert(all(loan->scatter, ELEMENTS * sizeof(int64_t)));
}

/* What is lent may be used, what has been returned may not, each time. */
START_TEST(a_worker_buffer_is_guarded_after_its_return)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_worker loan;

	for (int i = 0; i < 3; i++) {
		loan = checkout(arena, &some);
		assert_worker(&loan, true);
		write_worker(&loan);
		checkin(arena, &loan);
		assert_worker(&loan, false);
	}
	arena_end(arena);
}
END_TEST

START_TEST(team_storage_is_guarded_after_its_return)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_team lease;

	for (int i = 0; i < 3; i++) {
		lease = take(arena, &some);
		ck_assert_int_eq(lend_team_panel(arena, &lease, BYTES), 0);
		ck_assert(may_touch_all(lease.panel, BYTES));
		ck_assert(may_touch_all(lease.scatter, ELEMENTS * 8));
		ck_assert(may_touch_all(lend_team_barrier(&lease, 0),
					2 * LEND_BARRIER_BYTES));
		memset(lease.panel, 1, BYTES);
		memset(lease.scatter, 2, ELEMENTS * 8);
		give_back(arena, &lease);
		ck_assert(may_touch_none(lease.panel, BYTES));
		ck_assert(may_touch_none(lease.scatter, ELEMENTS * 8));
		ck_assert(may_touch_none(lend_team_barrier(&lease, 0),
					 2 * LEND_BARRIER_BYTES));
	}
	arena_end(arena);
}
END_TEST

START_TEST(a_plain_buffer_is_guarded_after_its_return)
{
	lend_arena *arena = arena_of(NULL);
	void *buffer, *other;

	ck_assert_int_eq(lend_buffer_borrow(arena, BYTES, &other), 0);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(lend_buffer_borrow(arena, BYTES, &buffer), 0);
		ck_assert(may_touch_all(buffer, BYTES));
		memset(buffer, 1, BYTES);
		ck_assert_int_eq(lend_buffer_return(buffer), 0);
		ck_assert(may_touch_none(buffer, BYTES));
	}
	ck_assert(may_touch_all(other, BYTES));
	ck_assert_int_eq(lend_buffer_return(other), 0);
	arena_end(arena);
}
END_TEST

/* What grew during the loan is guarded as well. */
START_TEST(a_scratch_that_grew_is_guarded)
{
	lend_arena *arena = arena_of(NULL);
	struct lend_worker loan = checkout(arena, &some);
	struct lend_team lease = take(arena, &some);

	ck_assert_int_eq(lend_worker_scatter_resize(arena, &loan, 9000), 0);
	ck_assert_int_eq(lend_team_scatter_resize(arena, &lease, 9000), 0);
	memset(loan.scatter, 1, 9000 * 8);
	memset(lease.scatter, 1, 9000 * 8);
	checkin(arena, &loan);
	give_back(arena, &lease);
	ck_assert(may_touch_none(loan.scatter, 9000 * 8));
	ck_assert(may_touch_none(lease.scatter, 9000 * 8));
	arena_end(arena);
}
END_TEST

/* A checkout that fails leaves what is idle guarded; one that grows, not. */
START_TEST(growth_of_a_guarded_buffer_is_no_use)
{
	struct lend_req more = worker_req(2 * BYTES, 1, 2 * ELEMENTS);
	lend_arena *arena = arena_limited(100000);
	struct lend_worker loan = checkout(arena, &some), was = loan;
	struct lend_req large = worker_req(200000, 0, 0);

	checkin(arena, &loan);
	ck_assert_int_eq(lend_worker_checkout(arena, &large, &loan), -EDQUOT);
	assert_worker(&was, false);
	arena_end(arena);
	arena = arena_of(NULL);
	loan = checkout(arena, &some);
	checkin(arena, &loan);
	loan = checkout(arena, &more);
	ck_assert(may_touch_all(loan.a, 2 * BYTES));
	ck_assert(may_touch_all(loan.tile, BYTES));
	ck_assert(may_touch_all(loan.scatter, 2 * ELEMENTS * 8));
	checkin(arena, &loan);
	arena_end(arena);
}
END_TEST

/* Storage that went back to the system is nobody's to guard. */
START_TEST(what_is_released_is_not_guarded_for_the_next)
{
	for (int i = 0; i < 3; i++) {
		lend_arena *arena = arena_of(NULL);
		struct lend_worker loan = checkout(arena, &some), nested;
		struct lend_team lease = take(arena, &some);

		nested = checkout(arena, &some);
		ck_assert_int_eq(lend_team_panel(arena, &lease, BYTES), 0);
		write_worker(&loan);
		write_worker(&nested);
		memset(lease.panel, 1, BYTES);
		checkin(arena, &nested);
		give_back(arena, &lease);
		checkin(arena, &loan);
		if (i == 1)
			ck_assert_int_eq(lend_arena_trim(arena), 0);
		arena_end(arena);
	}
}
END_TEST

#ifdef UNDER_ASAN

/* Each role is a misuse that must end the process with a report. */

static int
write_after_return(void)
{
	struct lend_worker loan;
	lend_arena *arena;

	if (lend_arena_create(&arena, NULL) ||
	    lend_worker_checkout(arena, &some, &loan) ||
	    lend_worker_return(arena, &loan))
		return 1;
	*(volatile char *)loan.a = 1;
	return 0;
}

static int
read_after_return(void)
{
	struct lend_team lease;
	lend_arena *arena;

	if (lend_arena_create(&arena, NULL) ||
	    lend_team_take(arena, &some, 1, 1, &lease) ||
	    lend_team_panel(arena, &lease, BYTES) ||
	    lend_team_return(arena, &lease))
		return 1;
	return ((volatile char *)lease.panel)[BYTES - 1];
}

/* Nothing is misused: the process lives. */
static int
no_misuse(void)
{
	struct lend_worker loan;
	lend_arena *arena;

	if (lend_arena_create(&arena, NULL) ||
	    lend_worker_checkout(arena, &some, &loan))
		return 1;
	*(volatile char *)loan.a = 1;
	return lend_worker_return(arena, &loan) ||
	       lend_arena_destroy(arena);
}

static int
play(const char *role)
{
	if (strcmp(role, "write") == 0)
		return write_after_return();
	return strcmp(role, "read") ? no_misuse() : read_after_return();
}

static void
assert_reported(const char *role, const char *access)
{
	static char text[32768];

	ck_assert_int_ne(suite_again(role, "", text, sizeof(text)), 0);
	ck_assert_ptr_nonnull(strstr(text, "use-after-poison"));
	ck_assert_ptr_nonnull(strstr(text, access));
}

START_TEST(a_use_after_the_return_ends_the_process)
{
	ck_assert_int_eq(suite_again("none", "", NULL, 0), 0);
	assert_reported("write", "WRITE of size 1");
	assert_reported("read", "READ of size 1");
}
END_TEST

#endif

static void
add_tests(TCase *guard)
{
	tcase_add_test(guard, a_worker_buffer_is_guarded_after_its_return);
	tcase_add_test(guard, team_storage_is_guarded_after_its_return);
	tcase_add_test(guard, a_plain_buffer_is_guarded_after_its_return);
	tcase_add_test(guard, a_scratch_that_grew_is_guarded);
	tcase_add_test(guard, growth_of_a_guarded_buffer_is_no_use);
	tcase_add_test(guard, what_is_released_is_not_guarded_for_the_next);
#ifdef UNDER_ASAN
	tcase_add_test(guard, a_use_after_the_return_ends_the_process);
#endif
}

/* Without a tool nothing is guarded, and no call pays for it. */
START_TEST(nothing_is_guarded_unless_a_tool_watches)
{
	lend_arena *arena = arena_of(NULL);

#ifdef UNDER_ASAN
	ck_assert(lend__poison);
#else
	ck_assert_int_eq(lend__poison, RUNNING_ON_VALGRIND != 0);
#endif
	arena_end(arena);
}
END_TEST

int
main(void)
{
	Suite *suite;
	TCase *guard;
	bool watched = RUNNING_ON_VALGRIND;

#ifdef UNDER_ASAN
	if (suite_role())
		return play(suite_role());
	watched = true;
#endif
	suite = suite_create("poison");
	guard = watched_case(suite, "guard");
	tcase_add_test(guard, nothing_is_guarded_unless_a_tool_watches);
	if (watched)
		add_tests(guard);
	return suite_run(suite);
}
