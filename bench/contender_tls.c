/* SPDX-License-Identifier: MIT */
#include "bench/contenders.h"
#include "bench/tls.h"

#define ENTRIES 8
#define INDEX 1
#define KEY 77

/* One table for all: nobody writes it, and each thread looks in its own TLS. */
static struct tls_entry table[ENTRIES];

bool
contender_tls_open(struct contender *self)
{
	table[INDEX].key = KEY;
	table[INDEX].slot = &table[INDEX];
	self->state = NULL;
	return true;
}

void
contender_tls_close(struct contender *self)
{
	(void)self;
}

/* Hidden from the compiler, which would else know what is found. */
static size_t
opaque(size_t value)
{
	__asm__("" : "+r"(value));
	return value;
}

uint64_t
contender_tls_initial_exec(void *self, const atomic_bool *stop)
{
	size_t index = opaque(INDEX), key = opaque(KEY);
	uint64_t n = 0;

	(void)self;
	bench_tls_set(table, ENTRIES);
	do {
		for (int i = 0; i < WORKER_BATCH; i++)
			bench_keep(bench_tls_find(index, key));
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_tls_default(void *self, const atomic_bool *stop)
{
	size_t index = opaque(INDEX), key = opaque(KEY);
	uint64_t n = 0;

	(void)self;
	bench_tls_set(table, ENTRIES);
	do {
		for (int i = 0; i < WORKER_BATCH; i++)
			bench_keep(bench_tls_find_default(index, key));
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}
