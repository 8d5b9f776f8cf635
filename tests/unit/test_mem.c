/* SPDX-License-Identifier: MIT */
/*
 * The memory room: backends, extents, the set of addresses, poisoning.
 *
 * The suite runs twice where jemalloc is built in: the second time in a new
 * process, in which jemalloc is told not to retain address space.
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef LEND_HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#endif
#ifdef HAVE_VALGRIND_H
#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>
#endif

#include "base/atomic.h"
#include "base/os.h"
#include "base/util.h"
#include "mem/address_set.h"
#include "mem/backend.h"
#include "mem/extent.h"
#include "mem/poison.h"
#include "support/fault.h"
#include "support/process.h"

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

static void
use_mmap(void)
{
	ck_assert_int_eq(backend_init("mmap"), 0);
}

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

/* --- backends --- */

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
	size_t round, i, size;
	char *p[N];

	/* One size's memory comes back in another: 7 and 6 have no divisor. */
	for (round = 0; round < 3 * SIZES; round++) {
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
		work[i] = (struct churn){ BACKEND, (unsigned)i, 800, 0, 0 };
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

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

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
#ifdef __SANITIZE_THREAD__
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

	if (!process_huge_pages())
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
	for (i = 0; i < 40; i++)
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

/* --- the choice of one --- */

START_TEST(backend_is_chosen)
{
	static const struct backend none;

	lend__backend = &none;
	ck_assert_int_eq(backend_init("no such"), -EINVAL);
	ck_assert_int_eq(backend_init(""), -EINVAL);
	ck_assert_ptr_eq(lend__backend, &none);
	ck_assert_int_eq(backend_init("mmap"), 0);
	ck_assert_ptr_eq(lend__backend, &lend__backend_mmap);
#ifdef LEND_HAVE_JEMALLOC
	ck_assert_int_eq(backend_init(NULL), 0);
	ck_assert_ptr_eq(lend__backend, &lend__backend_jemalloc);
	use_mmap();
	ck_assert_int_eq(backend_init("jemalloc"), 0);
	ck_assert_ptr_eq(lend__backend, &lend__backend_jemalloc);
#else
	ck_assert_int_eq(backend_init("jemalloc"), -EINVAL);
	ck_assert_ptr_eq(lend__backend, &lend__backend_mmap);
	ck_assert_int_eq(backend_init(NULL), 0);
	ck_assert_ptr_eq(lend__backend, &lend__backend_mmap);
#endif
}
END_TEST

static int
choose_without_maps(void *arg)
{
	static const struct backend none;

	(void)arg;
	lend__backend = &none;
	if (!process_deny(SYS_mmap, -1, 0, ENOMEM))
		return 77;
	if (backend_init("mmap") != -ENOMEM)
		return 1;
	return lend__backend == &none ? 0 : 2;
}

START_TEST(choice_without_memory)
{
	int result = process_child(choose_without_maps, NULL);

	if (result != 77)
		ck_assert_int_eq(result, 0);
}
END_TEST

START_TEST(pages_come_through_the_backend)
{
	struct fault_counts counts;
	void *p;

	use_mmap();
	fault_install(NULL);
	p = pages_alloc(100);
	ck_assert_ptr_nonnull(p);
	counts = fault_counts();
	ck_assert_uint_eq(counts.pages_allocs, 1);
	ck_assert_uint_eq(counts.pages_bytes, 100);
	pages_free(p, 100);
	counts = fault_counts();
	ck_assert_uint_eq(counts.pages_frees, 1);
	ck_assert_uint_eq(counts.pages_bytes, 0);
	fault_uninstall();
	ck_assert_ptr_eq(lend__backend, &lend__backend_mmap);
}
END_TEST

/* --- the wrapper that other tests trust --- */

START_TEST(faults_come_where_asked)
{
	size_t size;
	void *e, *p;

	use_mmap();
	fault_install(&lend__backend_mmap);
	ck_assert_str_eq(lend__backend->name, "mmap");
	size = lend__backend->extent_size(1);
	/* The second extent; pages do not count. */
	fault_fail_nth(FAULT_EXTENT, 2);
	p = lend__backend->pages_alloc(1);
	ck_assert_ptr_nonnull(p);
	e = lend__backend->extent_alloc(size);
	ck_assert_ptr_nonnull(e);
	ck_assert(fault_pending());
	ck_assert_ptr_null(lend__backend->extent_alloc(size));
	ck_assert(!fault_pending());
	lend__backend->pages_free(p, 1);
	lend__backend->extent_free(e, size);
	/* The next of any kind, once. */
	fault_fail_nth(FAULT_ANY, 1);
	ck_assert_ptr_null(lend__backend->pages_alloc(1));
	p = lend__backend->pages_alloc(1);
	ck_assert_ptr_nonnull(p);
	lend__backend->pages_free(p, 1);
	fault_fail_all(FAULT_EXTENT);
	ck_assert_ptr_null(lend__backend->extent_alloc(size));
	ck_assert_ptr_null(lend__backend->extent_alloc(size));
	fault_fail_all(0);
	e = lend__backend->extent_alloc(size);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(fault_counts().extent_bytes, size);
	ck_assert_uint_eq(fault_counts().failed, 4);
	lend__backend->extent_free(e, size);
	ck_assert_uint_eq(fault_counts().extent_bytes, 0);
	ck_assert_uint_eq(fault_counts().extent_allocs, 2);
	ck_assert_uint_eq(fault_counts().extent_frees, 2);
	fault_uninstall();
}
END_TEST

/* --- extents --- */

START_TEST(extents_come_through_the_backend)
{
	size_t size;
	void *p;

	use_mmap();
	fault_install(BACKEND);
	ck_assert_uint_eq(extent_size(0), 0);
	ck_assert_uint_eq(extent_size(SIZE_MAX), 0);
	size = extent_size(10000);
	ck_assert_uint_ge(size, 10000);
	p = extent_alloc(size, false);
	ck_assert_ptr_nonnull(p);
	memset(p, 1, size);
	ck_assert_uint_eq(fault_counts().extent_bytes, size);
	extent_free(p, size);
	ck_assert_uint_eq(fault_counts().extent_bytes, 0);
	fault_fail_nth(FAULT_EXTENT, 1);
	ck_assert_ptr_null(extent_alloc(size, false));
	fault_fail_nth(FAULT_EXTENT, 1);
	ck_assert_ptr_null(extent_alloc(size, true));
	fault_uninstall();
}
END_TEST

START_TEST(hugetlb_extents)
{
	size_t size, odd, n;
	char *p, *q;

	use_mmap();
	fault_install(BACKEND);
	size = extent_size(LEND_HUGE_PAGE);
	ck_assert_uint_eq(size, LEND_HUGE_PAGE);
	p = extent_alloc(size, true);
	ck_assert_ptr_nonnull(p);
	memset(p, 1, size);
	/* 1: there was no reserved page, and the backend served. */
	n = fault_counts().extent_allocs;
	/* No huge page has this size. */
	odd = extent_size(3 * LEND_PAGE);
	q = extent_alloc(odd, true);
	ck_assert_ptr_nonnull(q);
	memset(q, 1, odd);
	ck_assert_uint_eq(fault_counts().extent_allocs, n + 1);
	extent_free(p, size);
	ck_assert_uint_eq(fault_counts().extent_frees, n);
	extent_free(q, odd);
	ck_assert_uint_eq(fault_counts().extent_frees, n + 1);
	ck_assert_uint_eq(fault_counts().extent_bytes, 0);
	fault_uninstall();
}
END_TEST

static int
without_hugetlb(void *arg)
{
	char *p;
	size_t flag, size = extent_size(LEND_HUGE_PAGE);

	(void)arg;
	/* The flags of os_map_hugetlb(). */
	flag = MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | (21u << 26);
	if (!process_deny(SYS_mmap, 3, (uint32_t)flag, ENOMEM))
		return 77;
	p = extent_alloc(size, true);
	if (!p || fault_counts().extent_allocs != 1)
		return 1;
	extent_free(p, size);
	return fault_counts().extent_frees == 1 ? 0 : 2;
}

START_TEST(hugetlb_refused_is_served_by_the_backend)
{
	int result;

	use_mmap();
	fault_install(BACKEND);
	result = process_child(without_hugetlb, NULL);
	fault_uninstall();
	if (result != 77)
		ck_assert_int_eq(result, 0);
}
END_TEST

/* --- the set of addresses --- */

static const void *
address(size_t i)
{
	return (const void *)((i + 1) * LEND_HUGE_PAGE);
}

START_TEST(set_knows_its_addresses)
{
	static struct address_set set;
	/* Beyond the second chunk. */
	size_t n = 2 * ADDRESSES_PER_CHUNK + 10, i;

	use_mmap();
	ck_assert(!address_set_remove(&set, address(0)));
	for (i = 0; i < n; i++)
		ck_assert(address_set_add(&set, address(i)));
	ck_assert(!address_set_remove(&set, address(n)));
	for (i = 0; i < n; i += 3)
		ck_assert(address_set_remove(&set, address(i)));
	for (i = 0; i < n; i += 3)
		ck_assert(!address_set_remove(&set, address(i)));
	for (i = 0; i < n; i += 3)
		ck_assert(address_set_add(&set, address(i)));
	for (i = 0; i < n; i++)
		ck_assert(address_set_remove(&set, address(n - 1 - i)));
	ck_assert_uint_eq(load_relaxed(&set.count), 0);
}
END_TEST

START_TEST(set_without_memory_refuses)
{
	static struct address_set set;
	size_t i, n = 3 * ADDRESSES_PER_CHUNK;

	use_mmap();
	fault_install(NULL);
	fault_fail_all(FAULT_PAGES);
	for (i = 0; i < ADDRESSES_PER_CHUNK; i++)
		ck_assert(address_set_add(&set, address(i)));
	ck_assert(!address_set_add(&set, address(i)));
	ck_assert(!address_set_remove(&set, address(i)));
	ck_assert(address_set_remove(&set, address(7)));
	ck_assert(address_set_add(&set, address(i)));
	fault_fail_all(0);
	ck_assert(address_set_add(&set, address(7)));
	for (i++; i < n; i++)
		ck_assert(address_set_add(&set, address(i)));
	/* Its chunks, which it keeps. */
	ck_assert_uint_eq(fault_counts().pages_allocs, 2);
	for (i = 0; i < n; i++)
		ck_assert(address_set_remove(&set, address(i)));
	ck_assert_uint_eq(load_relaxed(&set.count), 0);
	fault_uninstall();
}
END_TEST

static struct address_set shared_set;

struct set_work {
	size_t first;
	size_t lost;
};

/* Each thread owns 400 addresses: three threads need a second chunk. */
static void *
use_set(void *arg)
{
	struct set_work *work = arg;
	size_t round, i;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < 400; i++)
			work->lost += !address_set_add(&shared_set,
						       address(work->first + i));
		for (i = 0; i < 400; i++)
			work->lost += !address_set_remove(&shared_set,
							  address(work->first +
								  399 - i));
	}
	return NULL;
}

START_TEST(set_is_shared_by_threads)
{
	enum { N = 4 };
	struct set_work work[N];
	pthread_t thread[N];
	size_t i;

	use_mmap();
	for (i = 0; i < N; i++) {
		work[i] = (struct set_work){ i * 1000, 0 };
		ck_assert_int_eq(pthread_create(&thread[i], NULL, use_set,
						&work[i]), 0);
	}
	for (i = 0; i < N; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	for (i = 0; i < N; i++)
		ck_assert_uint_eq(work[i].lost, 0);
	ck_assert_uint_eq(load_relaxed(&shared_set.count), 0);
}
END_TEST

/* --- poisoning --- */

__attribute__((weak)) int __asan_address_is_poisoned(const volatile void *p);

static bool
under_asan(void)
{
	return __asan_address_is_poisoned != NULL;
}

/* Whether the tool would report a use of *p. */
static bool
poisoned(char *p)
{
#ifdef HAVE_VALGRIND_H
	char bits;

	/* 3: not addressable; unlike other requests it reports nothing. */
	if (RUNNING_ON_VALGRIND)
		return VALGRIND_GET_VBITS(p, &bits, 1) == 3;
#endif
	return under_asan() && __asan_address_is_poisoned(p);
}

START_TEST(idle_extents_are_poisoned)
{
	size_t size, i;
	char *p;

	use_mmap();
	lend__backend = BACKEND;
	poison_init();
	ck_assert_int_eq(lend__poison, under_asan() || under_valgrind());
	size = extent_size(3 * LEND_PAGE);
	p = extent_alloc(size, false);
	ck_assert_ptr_nonnull(p);
	memset(p, 1, size);
	/* Without a tool they do nothing, but may be called. */
	poison_idle(p, size);
	ck_assert_int_eq(poisoned(p), lend__poison);
	ck_assert_int_eq(poisoned(p + size - 1), lend__poison);
	poison_lent(p, size);
	ck_assert(!poisoned(p));
	ck_assert(!poisoned(p + size - 1));
	memset(p, 2, size);
	ck_assert_int_eq(p[size - 1], 2);
	/* Released while poisoned: whoever is next may write. */
	for (i = 0; i < 20; i++) {
		poison_idle(p, size);
		extent_free(p, size);
		p = extent_alloc(size, false);
		ck_assert_ptr_nonnull(p);
		ck_assert(!poisoned(p));
		memset(p, 3, size);
	}
	extent_free(p, size);
}
END_TEST

/* --- jemalloc alone --- */

#ifdef LEND_HAVE_JEMALLOC

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
	/* However many owners and sizes there are. */
	residue(&lend__backend_jemalloc, 40 * KIB, 100);
	ck_assert_uint_le(arenas_of_jemalloc(), before + os_nodes());
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

static TCase *
jemalloc_case(void)
{
	TCase *tcase = tcase_create("jemalloc");

	/* In this order: the first two want a process without an arena. */
	tcase_add_test(tcase, bookkeeping_is_not_in_huge_pages);
	tcase_add_test(tcase, racing_threads_make_one_arena_per_node);
	tcase_add_test(tcase, plain_malloc_never_gets_our_blocks);
	return tcase;
}

#endif

static TCase *
backend_case(void)
{
	TCase *tcase = tcase_create("backend");

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
	tcase_add_test(tcase, backend_is_chosen);
	tcase_add_test(tcase, choice_without_memory);
	tcase_add_test(tcase, pages_come_through_the_backend);
	tcase_add_test(tcase, faults_come_where_asked);
	return tcase;
}

static TCase *
extent_case(void)
{
	TCase *tcase = tcase_create("extent");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, extents_come_through_the_backend, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, hugetlb_extents, 0, BACKENDS);
	tcase_add_loop_test(tcase, hugetlb_refused_is_served_by_the_backend, 0,
			    BACKENDS);
	tcase_add_test(tcase, set_knows_its_addresses);
	tcase_add_test(tcase, set_without_memory_refuses);
	tcase_add_test(tcase, set_is_shared_by_threads);
	tcase_add_loop_test(tcase, idle_extents_are_poisoned, 0, BACKENDS);
	return tcase;
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
	Suite *suite = suite_create("mem");
	SRunner *runner;
	int failed;

	(void)argc;
	(void)argv;
#ifdef LEND_HAVE_JEMALLOC
	suite_add_tcase(suite, jemalloc_case());
#endif
	suite_add_tcase(suite, backend_case());
	suite_add_tcase(suite, extent_case());
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	if (failed)
		return EXIT_FAILURE;
#ifdef LEND_HAVE_JEMALLOC
	if (!getenv("MALLOC_CONF"))
		return run_again(argv);
#endif
	return EXIT_SUCCESS;
}
