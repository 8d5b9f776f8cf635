/* SPDX-License-Identifier: MIT */
/*
 * The jemalloc backend: what jemalloc itself can tell about it.  What it
 * promises as a backend is in test_mem.c.
 */
#include <check.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_VALGRIND_H
#include <valgrind/valgrind.h>
#endif

#include "base/os.h"
#include "mem/backend.h"
#include "support/process.h"
#include "support/suite.h"

#define KIB ((size_t)1 << 10)

/* Whether what is resident is the program's own, and not a tool's. */
static bool
resident_is_ours(void)
{
#ifdef LEND_TSAN
	return false;
#endif
#ifdef HAVE_VALGRIND_H
	if (RUNNING_ON_VALGRIND)
		return false;
#endif
	return process_resident() > 0;
}

/* What the first extent, untouched, makes resident: in 32 KiB, up to 127. */
static int
first_extent(void *arg)
{
	const struct backend *b = &lend__backend_jemalloc;
	size_t size, before, after, cost, one = 1;
	char *p;

	(void)arg;
	/* The allocator itself, and this thread's part of it. */
	p = mallocx(one, 0);
	sdallocx(p, one, 0);
	size = b->extent_size(64 * KIB);
	before = process_resident();
	p = b->extent_alloc(size);
	after = process_resident();
	if (!p || !resident_is_ours() || after < before)
		return 0;
	cost = (after - before) / (32 * KIB);
	return cost < 127 ? (int)cost : 127;
}

START_TEST(bookkeeping_is_not_in_huge_pages)
{
	int result = process_child(first_extent, NULL);

	/* Less than 1 MiB; a huge page would be 2. */
	ck_assert_int_ge(result, 0);
	ck_assert_int_lt(result, 32);
}
END_TEST

static unsigned
arenas_of_jemalloc(void)
{
	unsigned n = 0;
	size_t length = sizeof n;

	ck_assert_int_eq(mallctl("arenas.narenas", &n, &length, NULL, 0), 0);
	return n;
}

static pthread_barrier_t start;

static void *
first_of_many(void *arg)
{
	const struct backend *b = &lend__backend_jemalloc;
	size_t size = b->extent_size(1);

	pthread_barrier_wait(&start);
	*(void **)arg = b->extent_alloc(size);
	return NULL;
}

START_TEST(racing_threads_make_one_arena_per_node)
{
	enum { N = 16 };
	unsigned before = arenas_of_jemalloc(), after;
	pthread_t thread[N];
	void *p[N];
	int i;

	pthread_barrier_init(&start, NULL, N);
	for (i = 0; i < N; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL,
						first_of_many, &p[i]), 0);
	for (i = 0; i < N; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	pthread_barrier_destroy(&start);
	after = arenas_of_jemalloc();
	ck_assert_uint_le(after, before + os_nodes());
	for (i = 0; i < N; i++) {
		ck_assert_ptr_nonnull(p[i]);
		lend__backend_jemalloc.extent_free(p[i], LEND_PAGE);
	}
}
END_TEST

START_TEST(plain_malloc_never_gets_our_blocks)
{
	enum { N = 64 };
	const struct backend *b = &lend__backend_jemalloc;
	/* Sizes that a thread cache of jemalloc holds. */
	static const size_t sizes[] = { 4 * KIB, 8 * KIB, 20 * KIB, 32 * KIB };
	size_t size, i, j, k;
	char *ours[N], *plain[N], *libc[N];

	for (k = 0; k < 4; k++) {
		size = b->extent_size(sizes[k]);
		for (i = 0; i < N; i++) {
			ours[i] = b->extent_alloc(size);
			ck_assert_ptr_nonnull(ours[i]);
		}
		for (i = 0; i < N; i++)
			b->extent_free(ours[i], size);
		for (i = 0; i < N; i++) {
			plain[i] = mallocx(size, 0);
			libc[i] = malloc(size);
			for (j = 0; j < N; j++) {
				ck_assert_ptr_ne(plain[i], ours[j]);
				ck_assert(libc[i] + size <= ours[j] ||
					  ours[j] + size <= libc[i]);
			}
		}
		for (i = 0; i < N; i++) {
			sdallocx(plain[i], size, 0);
			free(libc[i]);
		}
	}
}
END_TEST

static Suite *
jemalloc_suite(void)
{
	Suite *suite = suite_create("jemalloc");
	TCase *tcase = suite_case(suite, "jemalloc");

	/* In this order: the first two want a process without an arena. */
	tcase_add_test(tcase, bookkeeping_is_not_in_huge_pages);
	tcase_add_test(tcase, racing_threads_make_one_arena_per_node);
	tcase_add_test(tcase, plain_malloc_never_gets_our_blocks);
	return suite;
}

int
main(void)
{
	return suite_run(jemalloc_suite());
}
