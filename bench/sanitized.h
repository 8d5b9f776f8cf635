/* SPDX-License-Identifier: MIT */
/*
 * BENCH_SANITIZED: a sanitizer is compiled in.  It replaces malloc and cannot
 * see into foreign libraries: these are not measured, calls not counted.  The
 * programs still run, as a smoke test.
 */
#ifndef LEND_BENCH_SANITIZED_H
#define LEND_BENCH_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BENCH_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
	__has_feature(memory_sanitizer)
#define BENCH_SANITIZED 1
#endif
#endif

#ifndef BENCH_SANITIZED
#define BENCH_SANITIZED 0
#endif

#endif
