/* SPDX-License-Identifier: MIT */
/*
 * The floor of a worker loan: one thread-local look-up across a library's
 * boundary.  A table per thread, a pointer and a length in thread-local
 * storage, and a key in each entry, as any arena needs that finds a thread's
 * slot without asking others.  In a shared library of its own (tls.c).
 */
#ifndef LEND_BENCH_TLS_H
#define LEND_BENCH_TLS_H

#include <stddef.h>
#include <stdint.h>

struct tls_entry {
	uint64_t key;
	void *slot;
};

/* Gives the calling thread its table, for both kinds of look-up. */
void bench_tls_set(const struct tls_entry *table, size_t length);

/*
 * table[index].slot of the calling thread, or null: no such entry, or it is
 * another key's.  The first is compiled for the initial-exec model of
 * thread-local storage, the other for the default of a shared library.
 */
void *bench_tls_find(size_t index, uint64_t key);
void *bench_tls_find_default(size_t index, uint64_t key);

#endif
