/* SPDX-License-Identifier: MIT */
/*
 * Pages, barriers, waiting, complaints.  Nodes are in os_numa.c, the count of
 * huge pages in os_huge.c.
 *
 * None of these functions reports through errno, so all of them leave the
 * caller's alone.  None allocates, and none is a cancellation point: a thread
 * that is cancelled in the middle of a checkout would take its loan along.
 */
#include "base/os.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/os_private.h"
#include "base/util.h"

/* Newer than the oldest headers that we build with. */
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE	23
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED	24
#endif
#ifndef MAP_HUGE_SHIFT
#define MAP_HUGE_SHIFT		26
#endif
/* The size is named: the system's default huge page may be another one. */
#define MAP_HUGE_2MIB		(21 << MAP_HUGE_SHIFT)

size_t
os_system_page(void)
{
	return (size_t)getauxval(AT_PAGESZ);
}

static void *
map(size_t size, int flags)
{
	int saved = errno;
	void *p;

	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
	errno = saved;
	return p == MAP_FAILED ? NULL : p;
}

void *
os_map(size_t size)
{
	return map(size, 0);
}

/* The first address from p on that is a multiple of `align`. */
static char *
align_up(char *p, size_t align)
{
	return p + (-(uintptr_t)p & (align - 1));
}

/*
 *     start      p = aligned start         end
 *       |--lead--|---------size---------|---|
 */
void *
os_map_aligned(size_t size, size_t align)
{
	size_t page = os_system_page();
	size_t whole = round_up(size, page);
	size_t mapped;
	char *start, *end, *p;

	if (align <= page)
		return os_map(size);
	if (whole == 0 || __builtin_add_overflow(whole, align - page, &mapped))
		return NULL;
	start = os_map(mapped);
	if (!start)
		return NULL;
	end = start + mapped;
	p = align_up(start, align);
	if (p > start)
		os_unmap(start, (size_t)(p - start));
	if (end > p + whole)
		os_unmap(p + whole, (size_t)(end - (p + whole)));
	return p;
}

void *
os_map_hugetlb(size_t size)
{
	return map(size, MAP_HUGETLB | MAP_HUGE_2MIB);
}

void
os_unmap(void *p, size_t size)
{
	int saved = errno;

	/*
	 * The system refuses when the hole would make one mapping more than
	 * it allows.  The addresses are lost then, the memory is not.
	 */
	if (munmap(p, size))
		(void)madvise(p, size, MADV_DONTNEED);
	errno = saved;
}

void
os_advise_huge(void *p, size_t size)
{
	int saved = errno;

	(void)madvise(p, size, MADV_HUGEPAGE);
	errno = saved;
}

bool
os_purge(void *p, size_t size)
{
	int saved = errno;
	bool done;

	/* The system would round up, and take the neighbour's bytes too. */
	if (size & (os_system_page() - 1))
		return false;
	/* Locked pages are refused at first, but not by newer kernels. */
	done = !madvise(p, size, MADV_DONTNEED) ||
	       !madvise(p, size, MADV_DONTNEED_LOCKED);
	errno = saved;
	return done;
}

void
os_touch(void *p, size_t size)
{
	volatile unsigned char *byte = p;
	size_t i;

	for (i = 0; i < size; i += LEND_PAGE)
		byte[i] = byte[i];
}

void
os_populate(void *p, size_t size)
{
	int saved = errno;

	/*
	 * EINVAL: an older kernel.  After another error (no memory) a touch
	 * would be a signal instead of an error, so the pages are left to
	 * whoever writes to them.
	 */
	if (madvise(p, size, MADV_POPULATE_WRITE) && errno == EINVAL)
		os_touch(p, size);
	errno = saved;
}

static long
membarrier(int command)
{
	int saved = errno;
	long result;

	result = syscall(SYS_membarrier, command, 0, 0);
	errno = saved;
	return result;
}

bool
os_membarrier_register(void)
{
	long commands = membarrier(MEMBARRIER_CMD_QUERY);

	if (commands < 0 || !(commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		return false;
	return !membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

bool
os_membarrier(void)
{
	return !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

unsigned
os_cpu(void)
{
	int saved = errno;
	int cpu = sched_getcpu();

	errno = saved;
	return cpu < 0 ? 0 : (unsigned)cpu;
}

#ifndef __x86_64__
uint64_t
os_ticks(void)
{
	struct timespec now;

	/* This clock exists on every Linux: there is no error. */
	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
#endif

uint64_t
os_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

pid_t
os_thread_id(void)
{
	return (pid_t)syscall(SYS_gettid);
}

void
os_futex_wait(_Atomic(uint32_t) *word, uint32_t value)
{
	int saved = errno;

	/* Not slept, or woken by a signal: early returns that are allowed. */
	(void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL,
		      0);
	errno = saved;
}

void
os_futex_wake_all(_Atomic(uint32_t) *word)
{
	int saved = errno;

	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL,
		      0);
	errno = saved;
}

void
os_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
	__asm__ volatile("yield");
#else
	__asm__ volatile("");
#endif
}

void
os_yield(void)
{
	(void)sched_yield();
}

void
os_complain(const char *format, ...)
{
	int saved = errno;
	int state, length;
	size_t left;
	ssize_t n;
	char text[2048], *p = text;
	va_list args;

	va_start(args, format);
	length = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	left = length < 0 ? 0 : (size_t)length;
	if (left >= sizeof text)
		left = sizeof text - 1;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	while (left > 0) {
		n = write(STDERR_FILENO, p, left);
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0) {
			p += n;
			left -= (size_t)n;
		}
	}
	pthread_setcancelstate(state, NULL);
	errno = saved;
}
