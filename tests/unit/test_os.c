/* SPDX-License-Identifier: MIT */
/* The operating system room but for os_huge.c: src/base/os*.c, check.c. */
#include "base/os.h"

#include <check.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/os_private.h"
#include "support/capture.h"
#include "support/process.h"
#include "support/suite.h"

#define MIB ((size_t)1 << 20)

/* A value that no function here leaves in errno by itself. */
#define UNTOUCHED EXDEV

static bool
all_zero(const void *p, size_t size)
{
	const unsigned char *byte = p;
	size_t i;

	for (i = 0; i < size; i++)
		if (byte[i])
			return false;
	return true;
}

/* How many pages of the range are present. */
static size_t
present(void *p, size_t size)
{
	unsigned char vec[256];
	size_t page = os_system_page(), i, n = 0;

	ck_assert_uint_le(size / page, sizeof vec);
	memset(vec, 0, sizeof vec);
	ck_assert_int_eq(mincore(p, size, vec), 0);
	for (i = 0; i < size / page; i++)
		n += vec[i] & 1;
	return n;
}

START_TEST(map_gives_zeroed_pages)
{
	size_t size = 3 * MIB;
	char *p = os_map(size);

	ck_assert_ptr_nonnull(p);
	ck_assert_uint_eq((uintptr_t)p % LEND_PAGE, 0);
	ck_assert(all_zero(p, size));
	memset(p, 1, size);
	os_unmap(p, size);
}
END_TEST

START_TEST(map_aligned_is_aligned_and_trimmed)
{
	/* One after the other: what is cut off is before it, then behind. */
	static const size_t aligns[] = {
		LEND_PAGE, 16 * LEND_PAGE, LEND_HUGE_PAGE,
		256 * MIB, 256 * MIB, 256 * MIB, 256 * MIB
	};
	enum { N = sizeof aligns / sizeof aligns[0] };
	size_t before = process_mapped(), size = 5 * LEND_PAGE, i;
	char *p[N];

	for (i = 0; i < N; i++) {
		p[i] = os_map_aligned(size, aligns[i]);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % aligns[i], 0);
		ck_assert(all_zero(p[i], size));
		memset(p[i], 1, size);
	}
	/* Of the 256 MiB that it looked in, none is left. */
	ck_assert_uint_lt(process_mapped(), before + 128 * MIB);
	for (i = 0; i < N; i++)
		os_unmap(p[i], size);
}
END_TEST

START_TEST(map_without_memory_is_null)
{
	errno = UNTOUCHED;
	ck_assert_ptr_null(os_map((size_t)1 << 60));
	ck_assert_ptr_null(os_map(0));
	ck_assert_ptr_null(os_map_aligned((size_t)1 << 60, LEND_HUGE_PAGE));
	ck_assert_ptr_null(os_map_aligned(SIZE_MAX - 100, LEND_HUGE_PAGE));
	ck_assert_ptr_null(os_map_aligned(-LEND_HUGE_PAGE, LEND_HUGE_PAGE));
	ck_assert_ptr_null(os_map_hugetlb((size_t)1 << 60));
	ck_assert_int_eq(errno, UNTOUCHED);
}
END_TEST

START_TEST(map_hugetlb_is_aligned_or_null)
{
	char *p = os_map_hugetlb(LEND_HUGE_PAGE);

	if (!p)
		return;
	ck_assert_uint_eq((uintptr_t)p % LEND_HUGE_PAGE, 0);
	ck_assert(all_zero(p, LEND_HUGE_PAGE));
	memset(p, 1, LEND_HUGE_PAGE);
	os_unmap(p, LEND_HUGE_PAGE);
}
END_TEST

START_TEST(purge_forgets_and_gives_back)
{
	size_t page = os_system_page(), size = 16 * page;
	char *p = os_map(size);

	ck_assert_ptr_nonnull(p);
	memset(p, 0x5a, size);
	ck_assert_uint_eq(present(p, size), 16);
	ck_assert(os_purge(p + 4 * page, 8 * page));
	ck_assert_uint_eq(present(p + 4 * page, 8 * page), 0);
	ck_assert(all_zero(p + 4 * page, 8 * page));
	ck_assert_int_eq(p[4 * page - 1], 0x5a);
	ck_assert_int_eq(p[12 * page], 0x5a);
	os_unmap(p, size);
}
END_TEST

START_TEST(purge_tells_refusal)
{
	size_t page = os_system_page();
	char *p = os_map(2 * page);

	ck_assert_ptr_nonnull(p);
	p[page] = 1;
	errno = UNTOUCHED;
	/* Rounding up would take the neighbour along. */
	ck_assert(!os_purge(p, page / 2));
	ck_assert(!os_purge(p, page + page / 2));
	ck_assert_int_eq(p[page], 1);
	os_unmap(p, 2 * page);
	ck_assert(!os_purge(p, page));
	ck_assert_int_eq(errno, UNTOUCHED);
}
END_TEST

START_TEST(purge_of_locked_pages)
{
	size_t page = os_system_page();
	char *p = os_map(page);
	bool done;

	ck_assert_ptr_nonnull(p);
	*p = 1;
	if (!mlock(p, page)) {
		/* By kernel; but never a success that leaves the bytes. */
		done = os_purge(p, page);
		ck_assert_int_eq(*p, done ? 0 : 1);
	}
	os_unmap(p, page);
}
END_TEST

START_TEST(populate_makes_present)
{
	size_t page = os_system_page(), size = 32 * page;
	char *p = os_map(size);

	ck_assert_ptr_nonnull(p);
	p[5 * page + 7] = 42;
	errno = UNTOUCHED;
	os_populate(p, size);
	ck_assert_int_eq(errno, UNTOUCHED);
	ck_assert_uint_eq(present(p, size), 32);
	ck_assert_int_eq(p[5 * page + 7], 42);
	os_unmap(p, size);
}
END_TEST

static int
populate_denied(void *arg)
{
	size_t page = os_system_page(), size = 32 * page, i;
	unsigned char vec[32];
	char *p = os_map(size);

	(void)arg;
	p[0] = 1;
	p[5 * page] = 42;
	if (!process_deny(SYS_madvise, 2, 23, EINVAL))
		return 77;
	os_populate(p, size);
	if (mincore(p, size, vec) || p[0] != 1 || p[5 * page] != 42)
		return 1;
	for (i = 0; i < 32; i++)
		if (!(vec[i] & 1))
			return 2;
	return 0;
}

START_TEST(populate_on_an_older_kernel)
{
	int result = process_child(populate_denied, NULL);

	if (result != 77)
		ck_assert_int_eq(result, 0);
}
END_TEST

START_TEST(membarrier_works_or_refuses)
{
	errno = UNTOUCHED;
	if (os_membarrier_register())
		ck_assert(os_membarrier());
	ck_assert_int_eq(errno, UNTOUCHED);
}
END_TEST

/* Bit 0: registered, bit 1: usable. */
static int
membarrier_denied(void *arg)
{
	const int *deny = arg;

	if (!process_deny(SYS_membarrier, deny[0], (uint32_t)deny[1],
			  deny[2]))
		return 77;
	return (os_membarrier_register() ? 1 : 0) |
	       (os_membarrier() ? 2 : 0);
}

START_TEST(membarrier_in_a_container)
{
	/* Argument, its value, the error; what must not succeed then. */
	static const int cases[][4] = {
		{ -1, 0, ENOSYS, 3 },
		{ -1, 0, EPERM, 3 },
		{ 0, MEMBARRIER_CMD_QUERY, EPERM, 1 },
		{ 0, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, EPERM, 1 },
		{ 0, MEMBARRIER_CMD_PRIVATE_EXPEDITED, EPERM, 2 },
	};
	int arg[3], result;

	memcpy(arg, cases[_i], sizeof arg);
	result = process_child(membarrier_denied, arg);
	if (result == 77)
		return;
	ck_assert_int_lt(result, 4);
	ck_assert_int_eq(result & cases[_i][3], 0);
}
END_TEST

START_TEST(nodes_are_parsed)
{
	ck_assert_uint_eq(os_parse_nodes("0\n"), 1);
	ck_assert_uint_eq(os_parse_nodes("0-1\n"), 2);
	ck_assert_uint_eq(os_parse_nodes("0-1,4\n"), 5);
	ck_assert_uint_eq(os_parse_nodes("0,8-11,3"), 12);
	ck_assert_uint_eq(os_parse_nodes("0-62\n"), 63);
	ck_assert_uint_eq(os_parse_nodes("0-63\n"), 64);
	ck_assert_uint_eq(os_parse_nodes("0-64\n"), 64);
	ck_assert_uint_eq(os_parse_nodes("0-99999999999999999999"), 64);
	ck_assert_uint_eq(os_parse_nodes(""), 1);
	ck_assert_uint_eq(os_parse_nodes("\n"), 1);
	ck_assert_uint_eq(os_parse_nodes("none 7"), 1);
}
END_TEST

START_TEST(node_is_one_of_the_nodes)
{
	errno = UNTOUCHED;
	ck_assert_uint_ge(os_nodes(), 1);
	ck_assert_uint_le(os_nodes(), OS_NODES_MAX);
	ck_assert_uint_lt(os_node(), os_nodes());
	ck_assert_int_eq(errno, UNTOUCHED);
}
END_TEST

/* On each processor that we may run on. */
START_TEST(cpu_is_the_one_that_we_run_on)
{
	cpu_set_t all, one;
	unsigned tried = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	for (unsigned i = 0; i < CPU_SETSIZE; i++) {
		if (!CPU_ISSET(i, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		/* It may have been taken away from us meanwhile. */
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		errno = UNTOUCHED;
		ck_assert_uint_eq(os_cpu(), i);
		ck_assert_int_eq(errno, UNTOUCHED);
		tried++;
	}
	ck_assert_uint_gt(tried, 0);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
}
END_TEST

START_TEST(ticks_go_on)
{
	uint64_t begin = os_ticks();

	/* Hangs where they stand still. */
	while (os_ticks() - begin <= OS_TICKS_SHORT)
		;
}
END_TEST

static void *
store_thread_id(void *arg)
{
	*(pid_t *)arg = os_thread_id();
	return NULL;
}

START_TEST(thread_id_is_the_kernels)
{
	pthread_t thread;
	pid_t other = 0;

	ck_assert_int_eq(os_thread_id(), getpid());
	ck_assert_int_eq(pthread_create(&thread, NULL, store_thread_id,
					&other), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_gt(other, 0);
	ck_assert_int_ne(other, getpid());
}
END_TEST

static _Atomic(uint32_t) word;

static void *
wait_for_one(void *arg)
{
	/* Acquire: pairs with the release of futex_wakes. */
	while (load_acquire(&word) == 0)
		os_futex_wait(&word, 0);
	*(bool *)arg = true;
	return NULL;
}

START_TEST(futex_wakes)
{
	pthread_t thread[3];
	bool woken[3] = { false, false, false };
	int i;

	for (i = 0; i < 3; i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL,
						wait_for_one, &woken[i]), 0);
	os_cpu_relax();
	os_yield();
	errno = UNTOUCHED;
	/* Release: pairs with the acquire of wait_for_one. */
	store_release(&word, 1);
	os_futex_wake_all(&word);
	/* The value differs: it must not sleep. */
	os_futex_wait(&word, 0);
	ck_assert_int_eq(errno, UNTOUCHED);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_join(thread[i], NULL), 0);
		ck_assert(woken[i]);
	}
}
END_TEST

START_TEST(complaint_is_written)
{
	static char text[16384], longer[8000];
	size_t length;

	capture_begin();
	errno = UNTOUCHED;
	os_complain("%s of %d\n", "one", 7);
	ck_assert_int_eq(errno, UNTOUCHED);
	capture_end(text, sizeof text);
	ck_assert_str_eq(text, "one of 7\n");
	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = '\0';
	memset(text, 'y', sizeof text);
	capture_begin();
	os_complain("%s", longer);
	capture_end(text, sizeof text - 1);
	text[sizeof text - 1] = '\0';
	length = strlen(text);
	ck_assert_uint_eq(strspn(text, "x"), length);
	ck_assert_uint_gt(length, 400);
	/* Nothing beyond that was written. */
	ck_assert_uint_eq(strspn(text + length + 1, "y"),
			  sizeof text - 1 - (length + 1));
}
END_TEST

static int
fail_a_check(void *arg)
{
	int one = 1;

	(void)arg;
	lend_check(one == 1);
	lend_check(one == 2);
	return 0;
}

START_TEST(failed_check_stops_loudly)
{
	char text[1024];
	int result;

	capture_begin();
	result = process_child(fail_a_check, NULL);
	capture_end(text, sizeof text);
	ck_assert_int_eq(result, 128 + SIGABRT);
	ck_assert_ptr_nonnull(strstr(text, "test_os.c:"));
	ck_assert_ptr_nonnull(strstr(text, "one == 2"));
	ck_assert_ptr_null(strstr(text, "one == 1"));
}
END_TEST

/* Every function in which a thread could be stopped. */
static __attribute__((noinline)) void
work(void)
{
	size_t n = 0;
	char *p;

	os_complain("%s", "");
	os_complain(" \n");
	os_nodes();
	os_node();
	os_cpu();
	os_ticks();
	if (os_huge_bytes_scan(&n, sizeof n, &n))
		n = 0;
	if (os_huge_bytes_smaps(&n, sizeof n, &n))
		n = 0;
	p = os_map_aligned(LEND_HUGE_PAGE, LEND_HUGE_PAGE);
	if (p) {
		os_populate(p, LEND_PAGE);
		os_purge(p, LEND_HUGE_PAGE);
		os_unmap(p, LEND_HUGE_PAGE);
	}
	os_futex_wait(&word, load_relaxed(&word) + 1);
	os_yield();
}

/*
 * Without locals of its own: AddressSanitizer is not told that the frame of
 * a cancelled function is gone.
 */
static void *
work_while_cancelled(void *arg)
{
	pthread_cancel(pthread_self());
	work();
	*(bool *)arg = true;
	pthread_testcancel();
	return NULL;
}

START_TEST(nothing_is_a_cancellation_point)
{
	bool survived = false;
	pthread_t thread;
	void *result = NULL;
	char text[64];
	int err;

	capture_begin();
	err = pthread_create(&thread, NULL, work_while_cancelled, &survived);
	if (!err)
		err = pthread_join(thread, &result);
	capture_end(text, sizeof text);
	ck_assert_int_eq(err, 0);
	ck_assert_ptr_eq(result, PTHREAD_CANCELED);
	ck_assert(survived);
	ck_assert_str_eq(text, " \n");
}
END_TEST

static Suite *
os_suite(void)
{
	Suite *suite = suite_create("os");
	TCase *pages = suite_case(suite, "pages");
	TCase *threads = suite_case(suite, "threads");
	TCase *voice = suite_case(suite, "voice");

	tcase_add_test(pages, map_gives_zeroed_pages);
	tcase_add_test(pages, map_aligned_is_aligned_and_trimmed);
	tcase_add_test(pages, map_without_memory_is_null);
	tcase_add_test(pages, map_hugetlb_is_aligned_or_null);
	tcase_add_test(pages, purge_forgets_and_gives_back);
	tcase_add_test(pages, purge_tells_refusal);
	tcase_add_test(pages, purge_of_locked_pages);
	tcase_add_test(pages, populate_makes_present);
	tcase_add_test(pages, populate_on_an_older_kernel);
	tcase_add_loop_test(threads, membarrier_in_a_container, 0, 5);
	tcase_add_test(threads, membarrier_works_or_refuses);
	tcase_add_test(threads, nodes_are_parsed);
	tcase_add_test(threads, node_is_one_of_the_nodes);
	tcase_add_test(threads, cpu_is_the_one_that_we_run_on);
	tcase_add_test(threads, ticks_go_on);
	tcase_add_test(threads, thread_id_is_the_kernels);
	tcase_add_test(threads, futex_wakes);
	tcase_add_test(voice, complaint_is_written);
	tcase_add_test(voice, failed_check_stops_loudly);
	tcase_add_test(voice, nothing_is_a_cancellation_point);
	return suite;
}

int
main(void)
{
	return suite_run(os_suite());
}
