/* SPDX-License-Identifier: MIT */
/* The operating system room: src/base/os*.c, check.c. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/os.h"

#include <check.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/os_private.h"
#include "support/process.h"

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
	static const size_t aligns[] = {
		LEND_PAGE, 16 * LEND_PAGE, LEND_HUGE_PAGE, 256 * MIB
	};
	size_t before = process_mapped(), size = 5 * LEND_PAGE, i;
	char *p[4];

	for (i = 0; i < 4; i++) {
		p[i] = os_map_aligned(size, aligns[i]);
		ck_assert_ptr_nonnull(p[i]);
		ck_assert_uint_eq((uintptr_t)p[i] % aligns[i], 0);
		ck_assert(all_zero(p[i], size));
		memset(p[i], 1, size);
	}
	/* Of the 256 MiB that it looked for, none is left. */
	ck_assert_uint_lt(process_mapped(), before + 128 * MIB);
	for (i = 0; i < 4; i++)
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

/*
 * The two ways on one range agree; what they say.  The kernel may join small
 * pages to huge ones at any moment, so that the count may rise meanwhile.
 */
static size_t
count_huge(const char *p, size_t size)
{
	size_t scan = 0, smaps = 0, best = 5;

	errno = UNTOUCHED;
	ck_assert_int_eq(os_huge_bytes_smaps(p, size, &smaps), 0);
	if (os_huge_bytes_scan(p, size, &scan))
		scan = smaps;
	ck_assert_uint_le(smaps, scan);
	ck_assert_int_eq(os_huge_bytes(p, size, &best), 0);
	ck_assert_uint_le(scan, best - 5);
	smaps = 0;
	ck_assert_int_eq(os_huge_bytes_smaps(p, size, &smaps), 0);
	ck_assert_uint_le(best - 5, smaps);
	ck_assert_int_eq(errno, UNTOUCHED);
	return scan;
}

/*
 * A range that no neighbouring mapping is merged with, as the pages around
 * it do not ask for huge ones.
 */
static char *
lonely_range(size_t size)
{
	char *p = os_map_aligned(size + 2 * LEND_HUGE_PAGE, LEND_HUGE_PAGE);

	ck_assert_ptr_nonnull(p);
	os_advise_huge(p + LEND_HUGE_PAGE, size);
	return p + LEND_HUGE_PAGE;
}

START_TEST(huge_bytes_are_counted)
{
	size_t size = 8 * LEND_HUGE_PAGE, n = 0;
	char *p = lonely_range(size);

	ck_assert_uint_eq(count_huge(p, size), 0);
	if (!process_huge_pages())
		return;
	memset(p + LEND_HUGE_PAGE, 1, 3 * LEND_HUGE_PAGE);
	/* Read only: the shared page of zeroes is not counted. */
	ck_assert_int_eq(p[6 * LEND_HUGE_PAGE], 0);
	/* The system may be short of huge pages, but not of the truth. */
	if (count_huge(p, size) < 3 * LEND_HUGE_PAGE)
		return;
	ck_assert_uint_eq(count_huge(p, size), 3 * LEND_HUGE_PAGE);
	/* Parts of a mapping: exact by the scan alone. */
	if (!os_huge_bytes_scan(p, 2 * LEND_HUGE_PAGE, &n)) {
		ck_assert_uint_eq(n, LEND_HUGE_PAGE);
		n = 0;
		ck_assert_int_eq(os_huge_bytes_scan(p + LEND_HUGE_PAGE + 8192,
						    LEND_PAGE, &n), 0);
		ck_assert_uint_eq(n, LEND_PAGE);
		n = 0;
		ck_assert_int_eq(os_huge_bytes_scan(p, 0, &n), 0);
		ck_assert_uint_eq(n, 0);
	}
	/* A hole makes small pages of a huge one. */
	ck_assert(os_purge(p + LEND_HUGE_PAGE, os_system_page()));
	ck_assert_uint_ge(count_huge(p, size), 2 * LEND_HUGE_PAGE);
	ck_assert(os_purge(p, 3 * LEND_HUGE_PAGE));
	ck_assert_uint_eq(count_huge(p, size), LEND_HUGE_PAGE);
}
END_TEST

START_TEST(huge_bytes_of_many_regions)
{
	/* More regions than one call of the kernel reports. */
	size_t size = 300 * LEND_HUGE_PAGE, i;
	char *p;

	if (!process_huge_pages())
		return;
	p = lonely_range(size);
	for (i = 0; i < 300; i += 2)
		p[i * LEND_HUGE_PAGE] = 1;
	ck_assert_uint_le(count_huge(p, size), size / 2);
	ck_assert(os_purge(p, size));
	ck_assert_uint_eq(count_huge(p, size), 0);
}
END_TEST

static int
huge_bytes_denied(void *arg)
{
	size_t n = 0;

	(void)arg;
	if (!process_deny(SYS_ioctl, 1,
			  (uint32_t)_IOWR('f', 16, char[96]), ENOTTY))
		return 77;
	if (!os_huge_bytes_scan(&n, sizeof n, &n))
		return 1;
	if (os_huge_bytes(&n, sizeof n, &n))
		return 2;
	if (!process_deny(SYS_openat, -1, 0, EACCES))
		return 77;
	if (os_huge_bytes(&n, sizeof n, &n) != -EACCES)
		return 3;
	return n == 0 ? 0 : 4;
}

START_TEST(huge_bytes_falls_back)
{
	int result = process_child(huge_bytes_denied, NULL);

	if (result != 77)
		ck_assert_int_eq(result, 0);
}
END_TEST

static const char smaps_text[] =
	"7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n"
	"Size:               4096 kB\n"
	"AnonHugePages:      4096 kB\n"
	"ShmemPmdMapped:        0 kB\n"
	"Private_Hugetlb:       0 kB\n"
	"VmFlags: rd wr mr mw me ac sd \n"
	"7f0000400000-7f0000800000 r--p 00000000 fe:00 123   /a/path/that/is/"
	"much/longer/than/what/the/reader/keeps/of/a/line/and-cafe-9 kB\n"
	"AnonHugePages:      2048 kB\n"
	"Private_Hugetlb:       0 kB\n"
	"abcdef000000-abcdef800000 rw-p 00000000 00:00 0 [heap]\n"
	"AnonHugePages:         0 kB\n"
	"Private_Hugetlb:    4096 kB\n"
	"Shared_Hugetlb:     2048 kB\n";

static size_t
smaps_sum(uintptr_t start, uintptr_t end, size_t piece)
{
	struct smaps smaps = { .start = start, .end = end };
	size_t length = sizeof smaps_text - 1, i, n;

	for (i = 0; i < length; i += n) {
		n = length - i < piece ? length - i : piece;
		smaps_feed(&smaps, smaps_text + i, n);
	}
	return smaps_end(&smaps);
}

START_TEST(smaps_are_parsed)
{
	uintptr_t first = 0x7f0000000000, third = 0xabcdef000000;
	size_t piece;

	for (piece = 1; piece <= sizeof smaps_text; piece += 13) {
		ck_assert_uint_eq(smaps_sum(0, UINTPTR_MAX, piece), 12 * MIB);
		ck_assert_uint_eq(smaps_sum(0, first, piece), 0);
		ck_assert_uint_eq(smaps_sum(first, first + MIB, piece), MIB);
		ck_assert_uint_eq(smaps_sum(first + 3 * MIB, first + 5 * MIB,
					    piece), 2 * MIB);
		ck_assert_uint_eq(smaps_sum(first + 4 * MIB, first + 8 * MIB,
					    piece), 2 * MIB);
		ck_assert_uint_eq(smaps_sum(third, third + 8 * MIB, piece),
				  6 * MIB);
	}
}
END_TEST

/* What fn(arg) writes to standard error, terminated; its result. */
static int
capture(int (*fn)(void *arg), void *arg, char *text, size_t size)
{
	int end[2], kept = dup(STDERR_FILENO), result;
	size_t n = 0;
	ssize_t got;

	ck_assert_int_eq(pipe(end), 0);
	ck_assert_int_ge(dup2(end[1], STDERR_FILENO), 0);
	close(end[1]);
	result = fn(arg);
	ck_assert_int_ge(dup2(kept, STDERR_FILENO), 0);
	close(kept);
	while ((got = read(end[0], text + n, size - 1 - n)) > 0)
		n += (size_t)got;
	close(end[0]);
	text[n] = '\0';
	return result;
}

static int
complain_of(void *arg)
{
	errno = UNTOUCHED;
	os_complain("%s of %d\n", (const char *)arg, 7);
	return errno;
}

START_TEST(complaint_is_written)
{
	char text[4096], longer[3000];

	ck_assert_int_eq(capture(complain_of, "one", text, sizeof text),
			 UNTOUCHED);
	ck_assert_str_eq(text, "one of 7\n");
	memset(longer, 'x', sizeof longer);
	longer[sizeof longer - 1] = '\0';
	ck_assert_int_eq(capture(complain_of, longer, text, sizeof text),
			 UNTOUCHED);
	ck_assert_uint_eq(strspn(text, "x"), strlen(text));
	ck_assert_uint_gt(strlen(text), 400);
	ck_assert_uint_lt(strlen(text), sizeof longer);
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

static int
check_in_child(void *arg)
{
	return process_child(fail_a_check, arg);
}

START_TEST(failed_check_stops_loudly)
{
	char text[1024];

	ck_assert_int_eq(capture(check_in_child, NULL, text, sizeof text),
			 128 + SIGABRT);
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

static int
join_cancelled(void *arg)
{
	pthread_t thread;
	void *result;

	if (pthread_create(&thread, NULL, work_while_cancelled, arg) ||
	    pthread_join(thread, &result))
		return 1;
	return result == PTHREAD_CANCELED ? 0 : 2;
}

START_TEST(nothing_is_a_cancellation_point)
{
	bool survived = false;
	char text[64];

	ck_assert_int_eq(capture(join_cancelled, &survived, text,
				 sizeof text), 0);
	ck_assert(survived);
	ck_assert_str_eq(text, " \n");
}
END_TEST

static Suite *
os_suite(void)
{
	Suite *suite = suite_create("os");
	TCase *pages = tcase_create("pages");
	TCase *threads = tcase_create("threads");
	TCase *huge = tcase_create("huge");
	TCase *voice = tcase_create("voice");

	tcase_add_test(pages, map_gives_zeroed_pages);
	tcase_add_test(pages, map_aligned_is_aligned_and_trimmed);
	tcase_add_test(pages, map_without_memory_is_null);
	tcase_add_test(pages, map_hugetlb_is_aligned_or_null);
	tcase_add_test(pages, purge_forgets_and_gives_back);
	tcase_add_test(pages, purge_tells_refusal);
	tcase_add_test(pages, purge_of_locked_pages);
	tcase_add_test(pages, populate_makes_present);
	tcase_add_test(pages, populate_on_an_older_kernel);
	suite_add_tcase(suite, pages);
	/* Not in a child that was deprived of it. */
	tcase_add_loop_test(threads, membarrier_in_a_container, 0, 5);
	tcase_add_test(threads, membarrier_works_or_refuses);
	tcase_add_test(threads, nodes_are_parsed);
	tcase_add_test(threads, node_is_one_of_the_nodes);
	tcase_add_test(threads, thread_id_is_the_kernels);
	tcase_add_test(threads, futex_wakes);
	suite_add_tcase(suite, threads);
	tcase_add_test(huge, huge_bytes_are_counted);
	tcase_add_test(huge, huge_bytes_of_many_regions);
	tcase_add_test(huge, huge_bytes_falls_back);
	tcase_add_test(huge, smaps_are_parsed);
	tcase_set_timeout(huge, 60);
	suite_add_tcase(suite, huge);
	tcase_add_test(voice, complaint_is_written);
	tcase_add_test(voice, failed_check_stops_loudly);
	tcase_add_test(voice, nothing_is_a_cancellation_point);
	suite_add_tcase(suite, voice);
	return suite;
}

int
main(void)
{
	SRunner *runner = srunner_create(os_suite());
	int failed;

	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
