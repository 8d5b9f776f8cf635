/* SPDX-License-Identifier: MIT */
/*
 * The backends: what each of them promises.
 *
 * The suite runs twice where jemalloc is built in: the second time in a new
 * process, in which jemalloc is told not to retain address space.
 */
#include "mem/backend.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef HAVE_VALGRIND_H
#include <valgrind/valgrind.h>
#endif

#include "base/atomic.h"
#include "base/os.h"
#include "base/util.h"
#include "support/process.h"
#include "support/scale.h"
#include "support/suite.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define TOO_MUCH ((size_t)1 << 50)

static const struct backend *const backends[] = {
	&lend__backend_mmap,
#ifdef LEND_HAVE_JEMALLOC
	&lend__backend_jemalloc,
#endif
};

#define BACKENDS (int)(sizeof backends / sizeof backends[0])

/* Every loop test runs on one backend. */
#define BACKEND (backends[_i])

/* An owner's secret, in every word of its extents. */
#define SECRET 0x5ec2e75ec2e75ec2ULL

static void
write_secret(void *p, size_t size)
{
	uint64_t *word = p;
	size_t i;

	for (i = 0; i < size / sizeof *word; i++)
		word[i] = SECRET;
}

static size_t
count_secret(const void *p, size_t size)
{
	const uint64_t *word = p;
	size_t i, n = 0;

	for (i = 0; i < size / sizeof *word; i++)
		n += word[i] == SECRET;
	return n;
}

START_TEST(sizes_are_whole_pages)
{
	const struct backend *b = BACKEND;
	size_t bytes, size;

	for (bytes = 1; bytes < 64 * MIB; bytes += 1 + bytes / 7) {
		size = b->extent_size(bytes);
		ck_assert_uint_ge(size, bytes);
		ck_assert_uint_eq(size % LEND_PAGE, 0);
		/* No more than a quarter, or to a whole page. */
		ck_assert_uint_le(size, round_up(bytes, LEND_PAGE) * 5 / 4 +
					LEND_PAGE);
		ck_assert_uint_eq(b->extent_size(size), size);
	}
	for (bytes = LEND_PAGE; bytes <= 1024 * MIB; bytes *= 2)
		ck_assert_uint_eq(b->extent_size(bytes), bytes);
}
END_TEST

START_TEST(impossible_sizes_are_zero)
{
	const struct backend *b = BACKEND;

	ck_assert_uint_eq(b->extent_size(SIZE_MAX), 0);
	ck_assert_uint_eq(b->extent_size(SIZE_MAX - LEND_PAGE), 0);
	ck_assert_uint_eq(b->extent_size((size_t)PTRDIFF_MAX + 1), 0);
}
END_TEST

START_TEST(extents_are_aligned_and_apart)
{
	enum { N = 64 };
	const struct backend *b = BACKEND;
	size_t size[N], i, j, wrong = 0;
	unsigned char *p[N];

	for (i = 0; i < N; i++) {
		/* From below a page to 6 MiB, none of them round. */
		size[i] = b->extent_size(i % 2 ? 777 + i * 3333
					       : 100001 + i * 100003);
		p[i] = b->extent_alloc(size[i]);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % LEND_PAGE, 0);
		if (size[i] >= LEND_HUGE_PAGE)
			ck_assert_uint_eq((uintptr_t)p[i] % LEND_HUGE_PAGE, 0);
		memset(p[i], (int)i + 1, size[i]);
	}
	for (i = 0; i < N; i++) {
		for (j = 0; j < size[i]; j += 64)
			wrong += p[i][j] != i + 1;
		wrong += p[i][size[i] - 1] != i + 1;
		b->extent_free(p[i], size[i]);
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

START_TEST(bytes_do_not_outlive_their_extent)
{
	static const size_t sizes[] = {
		1, 8 * KIB, 100 * KIB, 1 * MIB, 2 * MIB, 5 * MIB, 40 * KIB
	};
	enum { SIZES = sizeof sizes / sizeof sizes[0], N = 6 };
	const struct backend *b = BACKEND;
	size_t rounds = scale(2) * SIZES + 1, round, i, size;
	char *p[N];

	/* One size's memory comes back in another, and in the same. */
	for (round = 0; round < rounds; round++) {
		size = b->extent_size(sizes[round % SIZES]);
		for (i = 0; i < N; i++) {
			p[i] = b->extent_alloc(size);
			ck_assert_ptr_nonnull(p[i]);
			ck_assert_uint_eq(count_secret(p[i], size), 0);
			write_secret(p[i], size);
		}
		for (i = 0; i < N; i++)
			b->extent_free(p[(i * 5) % N], size);
	}
}
END_TEST

struct churn {
	const struct backend *backend;
	unsigned seed;
	size_t rounds;
	size_t seen;		/* words of a secret */
	size_t refused;
};

static void *
churn(void *arg)
{
	struct churn *churn = arg;
	const struct backend *b = churn->backend;
	size_t size, i;
	char *p;

	for (i = 0; i < churn->rounds; i++) {
		churn->seed = churn->seed * 1103515245 + 12345;
		size = b->extent_size((churn->seed >> 16) % 24 * 3 * KIB + 1);
		p = b->extent_alloc(size);
		if (!p) {
			churn->refused++;
			continue;
		}
		churn->seen += count_secret(p, size);
		write_secret(p, size);
		b->extent_free(p, size);
	}
	return NULL;
}

START_TEST(bytes_do_not_reach_another_thread)
{
	enum { N = 4 };
	struct churn work[N];
	pthread_t thread[N];
	int i;

	for (i = 0; i < N; i++) {
		work[i] = (struct churn){ BACKEND, (unsigned)i,
					  scale(800), 0, 0 };
		ck_assert_int_eq(pthread_create(&thread[i], NULL, churn,
						&work[i]), 0);
	}
	for (i = 0; i < N; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	for (i = 0; i < N; i++) {
		ck_assert_uint_eq(work[i].seen, 0);
		ck_assert_uint_eq(work[i].refused, 0);
	}
}
END_TEST

static bool
under_valgrind(void)
{
#ifdef HAVE_VALGRIND_H
	return RUNNING_ON_VALGRIND;
#else
	return false;
#endif
}

/*
 * Whether what is resident is the program's own: not so with tools that keep
 * a shadow of our memory, which stays when we purge.
 */
static bool
resident_is_ours(void)
{
#ifdef LEND_TSAN
	return false;
#endif
	return process_resident() > 0 && !under_valgrind();
}

/* Takes, touches and frees n extents; what stays resident of them. */
static size_t
residue(const struct backend *b, size_t bytes, size_t n)
{
	static char *p[512];
	size_t size = b->extent_size(bytes), i, before, full, after;

	ck_assert_uint_le(n, 512);
	before = process_resident();
	for (i = 0; i < n; i++) {
		p[i] = b->extent_alloc(size);
		ck_assert_ptr_nonnull(p[i]);
		memset(p[i], 1, size);
	}
	full = process_resident();
	/* First the even ones, then the odd ones between them. */
	for (i = 0; i < n; i += 2)
		b->extent_free(p[i], size);
	for (i = 1; i < n; i += 2)
		b->extent_free(p[i], size);
	after = process_resident();
	if (!resident_is_ours())
		return 0;
	ck_assert_uint_ge(full, before + n * size * 9 / 10);
	return after > before ? after - before : 0;
}

START_TEST(memory_returns_to_the_system)
{
	/* A first pass for what the allocator itself keeps. */
	residue(BACKEND, 64 * KIB, 4);
	ck_assert_uint_lt(residue(BACKEND, 16 * MIB, 4), 1 * MIB);
	ck_assert_uint_lt(residue(BACKEND, 5 * MIB / 2, 16), 1 * MIB);
	/*
	 * Small ones share huge pages, which came in whole and go out whole:
	 * all but the ends of mappings.
	 */
	ck_assert_uint_lt(residue(BACKEND, 192 * KIB, 200), 3 * MIB);
	ck_assert_uint_lt(residue(BACKEND, 4 * KIB, 512), 3 * MIB);
	ck_assert_uint_lt(residue(BACKEND, 192 * KIB, 200), 3 * MIB);
}
END_TEST

START_TEST(most_of_it_is_in_huge_pages)
{
	static const size_t sizes[] = {
		2 * MIB, 4 * MIB, 8 * MIB, 2 * MIB + 1, 5 * MIB, 16 * MIB
	};
	enum { SIZES = sizeof sizes / sizeof sizes[0], N = 42 };
	const struct backend *b = BACKEND;
	size_t size[N], all = 0, huge = 0, i;
	char *p[N];

	/* A sanitizer's shadow of so much takes longer than all the rest. */
	if (!process_huge_pages() || scale(2) < 2)
		return;
	for (i = 0; i < N; i++) {
		size[i] = b->extent_size(sizes[i % SIZES]);
		p[i] = b->extent_alloc(size[i]);
		ck_assert_ptr_nonnull(p[i]);
		memset(p[i], 1, size[i]);
		all += size[i];
		ck_assert_int_eq(os_huge_bytes(p[i], size[i], &huge), 0);
	}
	ck_assert_uint_ge(all, 256 * MIB);
	/* A mapping of its own for 2.5 MiB has room for one huge page. */
	if (b == &lend__backend_mmap)
		all -= N / SIZES * (size[3] - 2 * MIB + MIB);
	ck_assert_uint_ge(huge, all / 100 * 95);
	for (i = 0; i < N; i++)
		b->extent_free(p[i], size[i]);
}
END_TEST

START_TEST(no_memory_is_null)
{
	const struct backend *b = BACKEND;
	size_t size = b->extent_size(TOO_MUCH);
	char *p;

	ck_assert_uint_ge(size, TOO_MUCH);
	ck_assert_ptr_null(b->extent_alloc(size));
	ck_assert_ptr_null(b->pages_alloc(TOO_MUCH));
	ck_assert_ptr_null(b->pages_alloc(SIZE_MAX));
	p = b->extent_alloc(b->extent_size(3 * MIB));
	ck_assert_ptr_nonnull(p);
	memset(p, 1, 3 * MIB);
	b->extent_free(p, b->extent_size(3 * MIB));
}
END_TEST

static int
without_maps(void *arg)
{
	const struct backend *b = arg;
	size_t size = b->extent_size(MIB), n = 0;

	if (!process_deny(SYS_mmap, -1, 0, ENOMEM))
		return 77;
	/* What the allocator still holds, and then no more. */
	while (b->extent_alloc(size))
		n++;
	if (n > 1000 || b->extent_alloc(b->extent_size(512 * MIB)))
		return 1;
	return b->pages_alloc(1) ? 2 : 0;
}

START_TEST(refused_maps_are_null)
{
	int result = process_child(without_maps, (void *)(uintptr_t)BACKEND);

	if (result != 77)
		ck_assert_int_eq(result, 0);
}
END_TEST

static int
without_purge(void *arg)
{
	struct churn work = { arg, 7, 500, 0, 0 };

	/* Both ways to purge: 4 and 24. */
	if (!process_deny(SYS_madvise, 2, 4, EPERM) ||
	    !process_deny(SYS_madvise, 2, 24, EPERM))
		return 77;
	churn(&work);
	return work.seen ? 1 : work.refused ? 2 : 0;
}

START_TEST(bytes_go_even_where_a_purge_is_refused)
{
	int result = process_child(without_purge, (void *)(uintptr_t)BACKEND);

	if (result != 77)
		ck_assert_int_eq(result, 0);
}
END_TEST

START_TEST(pages_are_zeroed)
{
	static const size_t sizes[] = { 0, 1, 100, LEND_PAGE, 3 * MIB + 1 };
	const struct backend *b = BACKEND;
	size_t i, j, wrong = 0;
	unsigned char *p;

	for (i = 0; i < 5; i++) {
		p = b->pages_alloc(sizes[i]);
		ck_assert_ptr_nonnull(p);
		ck_assert_uint_eq((uintptr_t)p % LEND_PAGE, 0);
		for (j = 0; j < sizes[i]; j++)
			wrong += p[j] != 0;
		memset(p, 1, sizes[i]);
		b->pages_free(p, sizes[i]);
	}
	ck_assert_uint_eq(wrong, 0);
}
END_TEST

static int
churn_in_child(void *arg)
{
	struct churn work = { arg, 99, 50, 0, 0 };

	churn(&work);
	return work.seen ? 1 : work.refused ? 2 : 0;
}

static _Atomic(int) stop;

static void *
churn_until_stopped(void *arg)
{
	/* Relaxed: seen one round later, it costs a round. */
	while (!load_relaxed(&stop))
		churn(arg);
	return NULL;
}

START_TEST(forked_child_goes_on)
{
	struct churn work[2];
	pthread_t thread[2];
	int i, bad = 0;

	store_relaxed(&stop, 0);
	for (i = 0; i < 2; i++) {
		work[i] = (struct churn){ BACKEND, (unsigned)i, 10, 0, 0 };
		ck_assert_int_eq(pthread_create(&thread[i], NULL,
						churn_until_stopped,
						&work[i]), 0);
	}
	for (i = 0; i < (int)scale(40); i++)
		bad |= process_child(churn_in_child,
				     (void *)(uintptr_t)BACKEND);
	store_relaxed(&stop, 1);
	for (i = 0; i < 2; i++) {
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
		ck_assert_uint_eq(work[i].seen + work[i].refused, 0);
	}
	ck_assert_int_eq(bad, 0);
}
END_TEST

static Suite *
backend_suite(void)
{
	Suite *suite = suite_create("backend");
	TCase *tcase = suite_case(suite, "backend");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, sizes_are_whole_pages, 0, BACKENDS);
	tcase_add_loop_test(tcase, impossible_sizes_are_zero, 0, BACKENDS);
	tcase_add_loop_test(tcase, extents_are_aligned_and_apart, 0, BACKENDS);
	tcase_add_loop_test(tcase, bytes_do_not_outlive_their_extent, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, bytes_do_not_reach_another_thread, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, memory_returns_to_the_system, 0, BACKENDS);
	tcase_add_loop_test(tcase, most_of_it_is_in_huge_pages, 0, BACKENDS);
	tcase_add_loop_test(tcase, no_memory_is_null, 0, BACKENDS);
	tcase_add_loop_test(tcase, refused_maps_are_null, 0, BACKENDS);
	tcase_add_loop_test(tcase, bytes_go_even_where_a_purge_is_refused, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, pages_are_zeroed, 0, BACKENDS);
	tcase_add_loop_test(tcase, forked_child_goes_on, 0, BACKENDS);
	return suite;
}

#ifdef LEND_HAVE_JEMALLOC
/* Runs the program once more with other settings of jemalloc. */
static int
run_again(char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		setenv("MALLOC_CONF", "retain:false", 1);
		execv(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return EXIT_FAILURE;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE;
}
#endif

int
main(int argc, char **argv)
{
	int result = suite_run(backend_suite());

	(void)argc;
	(void)argv;
#ifdef LEND_HAVE_JEMALLOC
	if (result == EXIT_SUCCESS && !getenv("MALLOC_CONF"))
		return run_again(argv);
#endif
	return result;
}
