/* SPDX-License-Identifier: MIT */
/*
 * A start that is made once and may fail: struct once by itself, and the
 * library's own starts, each in a process that has made none.
 */
#include "base/once.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lend/lend.h"
#include "support/crew.h"
#include "support/process.h"
#include "support/suite.h"

static struct once once;
static int outcome;	/* what start() returns; written where nobody is at it */
static int starts;	/* guarded by `once` */
static atomic_int inside;
static atomic_bool overlap, let_go;

static void
reset(int first_outcome)
{
	memset(&once, 0, sizeof(once));
	outcome = first_outcome;
	starts = 0;
	atomic_store(&inside, 0);
	atomic_store(&overlap, false);
	atomic_store(&let_go, false);
}

static int
start(void)
{
	starts++;
	return outcome;
}

START_TEST(what_failed_is_tried_again)
{
	reset(-ENOMEM);
	for (int i = 1; i <= 3; i++) {
		ck_assert_int_eq(once_try(&once, start), -ENOMEM);
		ck_assert_int_eq(starts, i);
	}
	outcome = 0;
	ck_assert_int_eq(once_try(&once, start), 0);
	ck_assert_int_eq(starts, 4);
	outcome = -EINVAL;
	ck_assert_int_eq(once_try(&once, start), 0);
	ck_assert_int_eq(starts, 4);
}
END_TEST

#define CREW 8
#define FAILURES 3

static int results[CREW], seen[CREW];

/* Long enough for the others to come; fails a few times. */
static int
crowded_start(void)
{
	if (atomic_fetch_add(&inside, 1) != 0)
		atomic_store(&overlap, true);
	for (int i = 0; i < 20; i++)
		sched_yield();
	atomic_fetch_sub(&inside, 1);
	return ++starts <= FAILURES ? -ENOMEM : 0;
}

static void
crowd(size_t index, void *ctx)
{
	(void)ctx;
	results[index] = once_try(&once, crowded_start);
	/* What the start wrote is there, with no lock of ours. */
	seen[index] = results[index] ? 0 : starts;
}

/* One at a time; as many callers fail as starts did; the rest share one. */
START_TEST(callers_take_turns_until_one_succeeds)
{
	int failed = 0;

	for (int round = 0; round < 30; round++) {
		reset(0);
		crew_run(CREW, crowd, NULL);
		failed = 0;
		for (int i = 0; i < CREW; i++) {
			failed += results[i] == -ENOMEM;
			ck_assert_int_eq(seen[i], results[i] ? 0 :
					 FAILURES + 1);
		}
		ck_assert_int_eq(failed, FAILURES);
		ck_assert_int_eq(starts, FAILURES + 1);
		ck_assert(!atomic_load(&overlap));
	}
}
END_TEST

static int
held_start(void)
{
	atomic_store(&inside, 1);
	while (!atomic_load(&let_go))
		sched_yield();
	return 0;
}

static void *
hold_main(void *unused)
{
	(void)unused;
	return once_try(&once, held_start) ? &once : NULL;
}

static int
start_in_child(void *unused)
{
	(void)unused;
	alarm(60);
	if (once_try(&once, start) || starts != 1)
		return 1;
	return once_try(&once, start) || starts != 1 ? 2 : 0;
}

/* Nobody is at it there, whoever was in the parent. */
START_TEST(a_child_finds_undone_what_another_thread_was_at)
{
	pthread_t thread;
	void *failed;
	int result;

	reset(0);
	ck_assert_int_eq(pthread_create(&thread, NULL, hold_main, NULL), 0);
	while (!atomic_load(&inside))
		sched_yield();
	result = process_child(start_in_child, NULL);
	atomic_store(&let_go, true);
	ck_assert_int_eq(pthread_join(thread, &failed), 0);
	ck_assert_ptr_null(failed);
	ck_assert_int_eq(result, 0);
	/* Done here; the child's was another. */
	ck_assert_int_eq(once_try(&once, start), 0);
	ck_assert_int_eq(starts, 0);
}
END_TEST

/* The library's own, each played by a process that has not begun yet. */

#define SKIPPED 77

/* An arena lends, and a pool can be made. */
static int
serve(void)
{
	struct lend_req req = { .a_bytes = 5000 };
	struct lend_worker loan;
	lend_arena *arena;
	lend_pool *pool;

	if (lend_arena_create(&arena, NULL))
		return 10;
	if (lend_worker_checkout(arena, &req, &loan))
		return 11;
	memset(loan.a, 1, 5000);
	if (lend_worker_return(arena, &loan) || lend_arena_destroy(arena))
		return 12;
	return lend_pool_create(&pool, 1) || lend_pool_destroy(pool) ? 13 : 0;
}

/*
 * From here on this thread gets no memory as the library asks for it; with
 * other flags it does, as a sanitizer does not survive to be refused.  False:
 * it gets it all the same (valgrind asks with flags of its own).
 */
static bool
deny_memory(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;

	return process_deny(SYS_mmap, 3, (uint32_t)flags, ENOMEM) &&
	       mmap(NULL, 1, PROT_READ, flags, -1, 0) == MAP_FAILED;
}

static void *
fail_without_memory(void *arg)
{
	int *result = arg;
	lend_arena *arena;
	lend_pool *pool;

	if (!deny_memory())
		*result = SKIPPED;
	else if (lend_arena_create(&arena, NULL) != -ENOMEM)
		*result = 1;
	else if (lend_pool_create(&pool, 1) != -ENOMEM)
		*result = 2;
	return NULL;
}

static int
play_memory(void)
{
	pthread_t thread;
	int result = 0;

	if (pthread_create(&thread, NULL, fail_without_memory, &result) ||
	    pthread_join(thread, NULL))
		return 3;
	return result ? result : serve();
}

static int
play_keys(void)
{
	lend_arena *arena;
	pthread_key_t key, last = 0;
	int n = 0;

	while (pthread_key_create(&key, NULL) == 0) {
		last = key;
		n++;
	}
	if (n == 0 || lend_arena_create(&arena, NULL) != -EAGAIN ||
	    lend_arena_create(&arena, NULL) != -EAGAIN)
		return 1;
	/* One is enough. */
	if (pthread_key_delete(last))
		return 2;
	return serve();
}

static int
play_name(void)
{
	lend_arena *arena;
	lend_pool *pool;

	return lend_arena_create(&arena, NULL) == -EINVAL &&
	       lend_pool_create(&pool, 1) == -EINVAL &&
	       lend_arena_create(&arena, NULL) == -EINVAL ? 0 : 1;
}

static int
play(const char *role)
{
	if (strcmp(role, "memory") == 0)
		return play_memory();
	return strcmp(role, "keys") ? play_name() : play_keys();
}

/* A sanitizer's runtime dies where it is refused a map of its own. */
#if defined(LEND_TSAN) || defined(LEND_ASAN)
#define REFUSES_OURS_ALONE 0
#else
#define REFUSES_OURS_ALONE 1
#endif

/* "Errors: -ENOMEM": of that moment. */
START_TEST(a_start_without_memory_is_made_later)
{
	int result = SKIPPED;

	if (REFUSES_OURS_ALONE)
		result = suite_again("memory", "backend:mmap", NULL, 0);
	if (result != SKIPPED)
		ck_assert_int_eq(result, 0);
}
END_TEST

START_TEST(a_start_without_a_thread_key_is_made_later)
{
	ck_assert_int_eq(suite_again("keys", "", NULL, 0), 0);
}
END_TEST

/* That cannot change.  It is said once. */
START_TEST(a_backend_that_is_not_there_is_refused_for_ever)
{
	char text[256];

	ck_assert_int_eq(suite_again("name", "backend:none", text,
				     sizeof(text)), 0);
	ck_assert_str_eq(text, "lend: no backend 'none'\n");
}
END_TEST

int
main(void)
{
	Suite *suite;
	TCase *alone, *library;

	if (suite_role())
		return play(suite_role());
	suite = suite_create("once");
	alone = suite_case(suite, "alone");
	library = suite_case(suite, "library");
	tcase_add_test(alone, what_failed_is_tried_again);
	tcase_add_test(alone, callers_take_turns_until_one_succeeds);
	tcase_add_test(alone, a_child_finds_undone_what_another_thread_was_at);
	tcase_add_test(library, a_start_without_memory_is_made_later);
	tcase_add_test(library, a_start_without_a_thread_key_is_made_later);
	tcase_add_test(library,
		       a_backend_that_is_not_there_is_refused_for_ever);
	return suite_run(suite);
}
