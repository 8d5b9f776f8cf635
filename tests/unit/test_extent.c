/* SPDX-License-Identifier: MIT */
/*
 * What stands on the backends: the choice of one, extents and the set of
 * addresses behind them, poisoning; and the wrapper that injects faults for
 * other tests.
 */
#include "mem/extent.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#ifdef HAVE_VALGRIND_H
#include <valgrind/memcheck.h>
#include <valgrind/valgrind.h>
#endif

#include "base/atomic.h"
#include "base/os.h"
#include "mem/address_set.h"
#include "mem/backend.h"
#include "mem/poison.h"
#include "support/fault.h"
#include "support/process.h"
#include "support/scale.h"
#include "support/suite.h"

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

enum { ADDERS = 4, ADDRESSES = 50 };

/* One set per round, all but full of other addresses in its first chunk. */
struct contest {
	struct address_set *set;
	unsigned rounds;
	_Atomic(unsigned) here;	/* threads that came to a round, of all rounds */
};

struct adder {
	struct contest *contest;
	size_t first;		/* of its own addresses */
	size_t lost;
};

/* Nobody adds before all are here, so that they want the same slots. */
static void
start_together(struct contest *contest, unsigned round)
{
	/* Relaxed: the sets were made before the threads. */
	fetch_add_relaxed(&contest->here, 1);
	while (load_relaxed(&contest->here) < (round + 1) * ADDERS)
		os_yield();
}

static void *
add_and_remove(void *arg)
{
	struct adder *adder = arg;
	struct address_set *set;
	unsigned round;
	size_t i;

	for (round = 0; round < adder->contest->rounds; round++) {
		set = &adder->contest->set[round];
		start_together(adder->contest, round);
		for (i = 0; i < ADDRESSES; i++)
			adder->lost +=
				!address_set_add(set,
						 address(adder->first + i));
		for (i = 0; i < ADDRESSES; i++)
			adder->lost +=
				!address_set_remove(set,
						    address(adder->first + i));
	}
	return NULL;
}

START_TEST(set_is_shared_by_threads)
{
	struct contest contest = { .rounds = scale(400) };
	struct adder adder[ADDERS];
	pthread_t thread[ADDERS];
	size_t size = contest.rounds * sizeof *contest.set, i, j;

	use_mmap();
	contest.set = pages_alloc(size);
	ck_assert_ptr_nonnull(contest.set);
	for (i = 0; i < contest.rounds; i++)
		for (j = ADDRESSES; j < ADDRESSES_PER_CHUNK; j++)
			address_set_add(&contest.set[i], address(j));
	for (i = 0; i < ADDERS; i++) {
		adder[i] = (struct adder){ &contest, 1000 * (i + 1), 0 };
		ck_assert_int_eq(pthread_create(&thread[i], NULL,
						add_and_remove, &adder[i]), 0);
	}
	for (i = 0; i < ADDERS; i++)
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
	for (i = 0; i < ADDERS; i++)
		ck_assert_uint_eq(adder[i].lost, 0);
	for (i = 0; i < contest.rounds; i++)
		ck_assert_uint_eq(load_relaxed(&contest.set[i].count),
				  ADDRESSES_PER_CHUNK - ADDRESSES);
	pages_free(contest.set, size);
}
END_TEST

__attribute__((weak)) int __asan_address_is_poisoned(const volatile void *p);

static bool
under_asan(void)
{
	return __asan_address_is_poisoned != NULL;
}

static bool
under_valgrind(void)
{
#ifdef HAVE_VALGRIND_H
	return RUNNING_ON_VALGRIND;
#else
	return false;
#endif
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

static Suite *
extent_suite(void)
{
	Suite *suite = suite_create("extent");
	TCase *tcase = suite_case(suite, "extent");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, backend_is_chosen);
	tcase_add_test(tcase, choice_without_memory);
	tcase_add_test(tcase, pages_come_through_the_backend);
	tcase_add_test(tcase, faults_come_where_asked);
	tcase_add_loop_test(tcase, extents_come_through_the_backend, 0,
			    BACKENDS);
	tcase_add_loop_test(tcase, hugetlb_extents, 0, BACKENDS);
	tcase_add_loop_test(tcase, hugetlb_refused_is_served_by_the_backend, 0,
			    BACKENDS);
	tcase_add_test(tcase, set_knows_its_addresses);
	tcase_add_test(tcase, set_without_memory_refuses);
	tcase_add_test(tcase, set_is_shared_by_threads);
	tcase_add_loop_test(tcase, idle_extents_are_poisoned, 0, BACKENDS);
	return suite;
}

int
main(void)
{
	return suite_run(extent_suite());
}
