/* SPDX-License-Identifier: MIT */
/*
 * Counting what a loan costs beside time, in a program of its own (counted.c)
 * as it replaces malloc() and its kin, which a program that measures time
 * must not.
 */
#ifndef LEND_BENCH_COUNTED_H
#define LEND_BENCH_COUNTED_H

#include <stddef.h>
#include <stdint.h>

#define COUNTED_THREADS_MAX 16

/*
 * A marker is this option of prctl(), which does not exist: the call fails
 * and does nothing.
 */
#define COUNTED_MARKER 0x6c656e64u
#define COUNTED_BEGIN 1u
#define COUNTED_END 2u

enum counted_job {
	COUNTED_CONTROL,	/* one allocation and one system call each */
	COUNTED_LOANS		/* a worker loan and a team loan in turn */
};

/* What the child tells the parent. */
struct counted_result {
	uint64_t loans, allocator_calls, growths;
};

/* Does the job `turns` times on each thread, between markers. */
struct counted_result counted_run(enum counted_job job, int threads,
				  size_t turns);

/*
 * By the calling thread so far: malloc, calloc, realloc, the aligned ones,
 * free, and jemalloc's mallocx, rallocx, xallocx, dallocx and sdallocx.
 */
uint64_t counted_allocator_calls(void);

#endif
