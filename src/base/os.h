/* SPDX-License-Identifier: MIT */
/*
 * The operating system: pages, processors and nodes, barriers, waiting.
 * The files behind this header alone make system calls.  Everything may be
 * called by any thread; what can fail returns a negative errno value, null or
 * false.  The caller's errno stays as it was, nothing allocates, and nothing
 * is a cancellation point.
 */
#ifndef LEND_BASE_OS_H
#define LEND_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Every buffer's alignment, whatever page size the system has. */
#define LEND_PAGE	((size_t)4096)
/* The huge page that extents are aligned to. */
#define LEND_HUGE_PAGE	((size_t)2 << 20)

/* Fresh zeroed pages; size a multiple of LEND_PAGE.  Null: no memory. */
void *os_map(size_t size);
/*
 * The same with a start that is a multiple of `align`, a power of two and a
 * multiple of LEND_PAGE.
 */
void *os_map_aligned(size_t size, size_t align);
/* The same from the reserved huge pages; size a multiple of LEND_HUGE_PAGE. */
void *os_map_hugetlb(size_t size);
void os_unmap(void *p, size_t size);

/* Asks for huge pages on the range.  Advice: failure is not told. */
void os_advise_huge(void *p, size_t size);
/*
 * Gives the range's memory back to the system: it reads as zero afterwards.
 * Returns false when the system refused; the bytes are then still there.
 */
bool os_purge(void *p, size_t size);
/* Makes the pages of the range present, on the calling thread's node. */
void os_populate(void *p, size_t size);

/*
 * membarrier(2), private and expedited: all threads of the process pass a
 * full barrier.  Register once per process before use; both return false
 * when the system refuses.  Some filters grant the one and refuse the other.
 */
bool os_membarrier_register(void);
bool os_membarrier(void);

/* Nodes beyond this many share the last one's entry. */
#define OS_NODES_MAX	64
/*
 * NUMA nodes of the machine (1 .. OS_NODES_MAX) and the one that we run on,
 * which is less than that.
 */
unsigned os_nodes(void);
unsigned os_node(void);

/*
 * The processor that we run on, or were running on a moment ago; 0 where the
 * system does not tell.  No system call where the C library knows it.
 */
unsigned os_cpu(void);
/*
 * A clock for short spans, to be read in a few nanoseconds where there is such
 * a one.  OS_TICKS_SHORT is about 1 us.  On another processor it may
 * show another time.
 */
#ifdef __x86_64__
#define OS_TICKS_SHORT 3000
static inline uint64_t
os_ticks(void)
{
	return __builtin_ia32_rdtsc();
}
#else
#define OS_TICKS_SHORT 1000
uint64_t os_ticks(void);
#endif

/* A clock that only goes forward, in ns. */
uint64_t os_now(void);

/* The calling thread's kernel id. */
pid_t os_thread_id(void);

/* Sleeps while *word is `value`; may return early. */
void os_futex_wait(_Atomic(uint32_t) *word, uint32_t value);
/* Wakes every sleeper on *word. */
void os_futex_wake_all(_Atomic(uint32_t) *word);
/* One step of a short spin. */
void os_cpu_relax(void);
void os_yield(void);

/*
 * How many of the bytes p[0..size) are in huge pages, added to *bytes.
 * Errors: -ENOSYS (the kernel does not tell), or the errno of the read.
 */
int os_huge_bytes(const void *p, size_t size, size_t *bytes);

/* Writes the text to standard error, without allocating. */
void os_complain(const char *format, ...)
	__attribute__((format(printf, 1, 2)));

#endif
