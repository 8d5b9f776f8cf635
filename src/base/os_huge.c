/* SPDX-License-Identifier: MIT */
/*
 * How many bytes of a range are in huge pages, asked in one of two ways:
 *
 *   PAGEMAP_SCAN (Linux 6.7)  exact, and costs what the range costs
 *   smaps                     per mapping: exact when the range is the whole
 *                             of its mappings, else at most too high; costs
 *                             what the process costs
 */
#include "base/os.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/os_private.h"
#include "base/util.h"

/*
 * The thread's own entry, not /proc/self: that one is empty once the main
 * thread has ended.
 */
#define PAGEMAP	"/proc/thread-self/pagemap"
#define SMAPS	"/proc/thread-self/smaps"

/* The kernel's interface, which older headers lack. */
struct scan_region {
	uint64_t start, end, categories;
};

struct scan {
	uint64_t size, flags;
	uint64_t start, end, walk_end;
	uint64_t regions, region_count;
	uint64_t max_pages;
	uint64_t inverted, all_of, any_of, report;
};

#define SCAN_PAGEMAP	_IOWR('f', 16, struct scan)
#define PAGE_PRESENT	(1u << 3)
#define PAGE_ZERO	(1u << 5)
#define PAGE_HUGE	(1u << 6)

#define REGIONS 64

static uint64_t
overlap(uint64_t a_start, uint64_t a_end, uint64_t b_start, uint64_t b_end)
{
	uint64_t start = a_start > b_start ? a_start : b_start;
	uint64_t end = a_end < b_end ? a_end : b_end;

	return start < end ? end - start : 0;
}

static int
scan_range(int fd, uint64_t start, uint64_t end, size_t *bytes)
{
	/* Zeroed, as tools do not know that the kernel fills it. */
	struct scan_region regions[REGIONS] = { { 0, 0, 0 } };
	struct scan scan = {
		.size = sizeof scan,
		.start = start & ~(uint64_t)(os_system_page() - 1),
		.end = end,
		.regions = (uintptr_t)regions,
		.region_count = REGIONS,
		/* The shared page of zeroes is huge, but nobody's memory. */
		.all_of = PAGE_HUGE | PAGE_PRESENT | PAGE_ZERO,
		.inverted = PAGE_ZERO,
		.report = PAGE_HUGE,
	};
	size_t sum = 0;
	int i, n;

	while (scan.start < end) {
		n = ioctl(fd, SCAN_PAGEMAP, &scan);
		if (n < 0)
			return -errno;
		for (i = 0; i < n; i++)
			sum += overlap(regions[i].start, regions[i].end,
				       start, end);
		if (scan.walk_end <= scan.start)
			return -EIO;
		scan.start = scan.walk_end;
	}
	*bytes += sum;
	return 0;
}

int
os_huge_bytes_scan(const void *p, size_t size, size_t *bytes)
{
	int saved = errno;
	int state, fd, err;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	fd = open(PAGEMAP, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		err = scan_range(fd, (uintptr_t)p, (uintptr_t)p + size, bytes);
		close(fd);
	} else {
		err = -errno;
	}
	pthread_setcancelstate(state, NULL);
	errno = saved;
	return err;
}

/* Reads digits of the base, as the kernel writes them; moves *text on. */
static uint64_t
read_number(const char **text, unsigned base)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;
	const char *digit;

	while (**text && (digit = strchr(digits, **text)) != NULL &&
	       (unsigned)(digit - digits) < base) {
		value = value * base + (unsigned)(digit - digits);
		(*text)++;
	}
	return value;
}

static bool
skip(const char **text, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncmp(*text, prefix, length))
		return false;
	*text += length;
	return true;
}

static void
smaps_line(struct smaps *smaps)
{
	const char *text = smaps->line;
	uint64_t start, end;

	if (skip(&text, "AnonHugePages:") || skip(&text, "Private_Hugetlb:") ||
	    skip(&text, "Shared_Hugetlb:")) {
		while (*text == ' ')
			text++;
		smaps->huge += (size_t)read_number(&text, 10) << 10;
		return;
	}
	/* "start-end perms ..." begins a mapping; all else is of no use. */
	start = read_number(&text, 16);
	if (text == smaps->line || !skip(&text, "-"))
		return;
	end = read_number(&text, 16);
	if (*text != ' ')
		return;
	smaps->total = smaps_end(smaps);
	smaps->overlap = overlap(start, end, smaps->start, smaps->end);
}

void
smaps_feed(struct smaps *smaps, const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++) {
		if (text[i] == '\n') {
			smaps->line[smaps->length] = '\0';
			smaps->length = 0;
			smaps_line(smaps);
		} else if (smaps->length < sizeof smaps->line - 1) {
			smaps->line[smaps->length++] = text[i];
		}
	}
}

/* Closes the present mapping and hands over the sum. */
size_t
smaps_end(struct smaps *smaps)
{
	size_t sum = smaps->total;

	sum += smaps->huge < smaps->overlap ? smaps->huge : smaps->overlap;
	smaps->total = 0;
	smaps->huge = 0;
	smaps->overlap = 0;
	return sum;
}

static int
read_smaps(int fd, struct smaps *smaps)
{
	char text[4096];
	ssize_t n;

	while ((n = read(fd, text, sizeof text)) != 0) {
		if (n > 0)
			smaps_feed(smaps, text, (size_t)n);
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

int
os_huge_bytes_smaps(const void *p, size_t size, size_t *bytes)
{
	struct smaps smaps = {
		.start = (uintptr_t)p,
		.end = (uintptr_t)p + size,
	};
	int saved = errno;
	int state, fd, err;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	fd = open(SMAPS, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		err = read_smaps(fd, &smaps);
		close(fd);
	} else {
		err = errno == ENOENT ? -ENOSYS : -errno;
	}
	pthread_setcancelstate(state, NULL);
	errno = saved;
	if (!err)
		*bytes += smaps_end(&smaps);
	return err;
}

int
os_huge_bytes(const void *p, size_t size, size_t *bytes)
{
	/* An older kernel, or a sandbox: the other way may still work. */
	if (os_huge_bytes_scan(p, size, bytes))
		return os_huge_bytes_smaps(p, size, bytes);
	return 0;
}
