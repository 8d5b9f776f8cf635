/* SPDX-License-Identifier: MIT */
/* The count of huge pages: src/base/os_huge.c. */
#include "base/os.h"

#include <check.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/os_private.h"
#include "support/process.h"
#include "support/suite.h"

#define MIB ((size_t)1 << 20)

/* A value that no function here leaves in errno by itself. */
#define UNTOUCHED EXDEV

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

static Suite *
huge_suite(void)
{
	Suite *suite = suite_create("os_huge");
	TCase *tcase = suite_case(suite, "huge");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, huge_bytes_are_counted);
	tcase_add_test(tcase, huge_bytes_of_many_regions);
	tcase_add_test(tcase, huge_bytes_falls_back);
	tcase_add_test(tcase, smaps_are_parsed);
	return suite;
}

int
main(void)
{
	return suite_run(huge_suite());
}
