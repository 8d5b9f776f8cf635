/* SPDX-License-Identifier: MIT */
/*
 * The replaced functions count and pass on to those of the next library in
 * the search order.  dlsym() itself may allocate, before the real function
 * is known: it gets memory from a small array, which is never given back.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* RTLD_NEXT */
#endif

#include "bench/counted.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "bench/sanitized.h"

#define EARLY_BYTES ((size_t)4096)
#define EARLY_ALIGN ((size_t)16)

static _Thread_local uint64_t calls;

uint64_t
counted_allocator_calls(void)
{
	return calls;
}

/* A sanitizer replaces the same functions: then nothing is counted. */
#if !BENCH_SANITIZED

static _Alignas(EARLY_ALIGN) char early[EARLY_BYTES];
static atomic_size_t early_used;

/* Jemalloc's, which no header here declares. */
void *mallocx(size_t size, int flags);
void *rallocx(void *p, size_t size, int flags);
size_t xallocx(void *p, size_t size, size_t extra, int flags);
void dallocx(void *p, int flags);
void sdallocx(void *p, size_t size, int flags);

static void *
early_alloc(size_t size)
{
	size_t take = (size + EARLY_ALIGN - 1) & ~(EARLY_ALIGN - 1);
	/* Relaxed: only the sum matters. */
	size_t at = atomic_fetch_add_explicit(&early_used, take,
					      memory_order_relaxed);

	return take <= EARLY_BYTES && at <= EARLY_BYTES - take ?
	       &early[at] : NULL;
}

static int
is_early(const void *p)
{
	return (const char *)p >= early &&
	       (const char *)p < early + EARLY_BYTES;
}

/*
 * The next library's function, looked up once.  A thread that looks it up
 * meanwhile finds the same; null while this thread is at it.
 */
static void *
next(_Atomic(void *) *known, const char *name)
{
	static _Thread_local int looking;
	/* Relaxed: code is there before its address is. */
	void *found = atomic_load_explicit(known, memory_order_relaxed);

	if (found || looking)
		return found;
	looking = 1;
	found = dlsym(RTLD_NEXT, name);
	looking = 0;
	/* Relaxed: as above. */
	atomic_store_explicit(known, found, memory_order_relaxed);
	return found;
}

/* Declares `real`, the function that this one stands before. */
#define REAL(type, name, ...)						\
	static _Atomic(void *) known_##name;				\
	void *address_##name = next(&known_##name, #name);		\
	type (*real)(__VA_ARGS__);					\
	calls++;							\
	memcpy(&real, &address_##name, sizeof(real))

void *
malloc(size_t size)
{
	REAL(void *, malloc, size_t);
	return real ? real(size) : early_alloc(size);
}

void *
calloc(size_t n, size_t size)
{
	REAL(void *, calloc, size_t, size_t);
	/* The array is zero, and no part of it is handed out twice. */
	return real ? real(n, size) : early_alloc(n * size);
}

void *
realloc(void *p, size_t size)
{
	REAL(void *, realloc, void *, size_t);
	void *moved;

	if (real && !is_early(p))
		return real(p, size);
	moved = malloc(size);
	if (moved && p) {
		size_t most = (size_t)(early + EARLY_BYTES - (char *)p);

		memcpy(moved, p, size < most ? size : most);
	}
	return moved;
}

void
free(void *p)
{
	REAL(void, free, void *);
	if (real && !is_early(p))
		real(p);
}

void *
aligned_alloc(size_t align, size_t size)
{
	REAL(void *, aligned_alloc, size_t, size_t);
	return real ? real(align, size) : NULL;
}

void *
memalign(size_t align, size_t size)
{
	REAL(void *, memalign, size_t, size_t);
	return real ? real(align, size) : NULL;
}

int
posix_memalign(void **p, size_t align, size_t size)
{
	REAL(int, posix_memalign, void **, size_t, size_t);
	return real ? real(p, align, size) : ENOMEM;
}

void *
mallocx(size_t size, int flags)
{
	REAL(void *, mallocx, size_t, int);
	return real ? real(size, flags) : NULL;
}

void *
rallocx(void *p, size_t size, int flags)
{
	REAL(void *, rallocx, void *, size_t, int);
	return real ? real(p, size, flags) : NULL;
}

size_t
xallocx(void *p, size_t size, size_t extra, int flags)
{
	REAL(size_t, xallocx, void *, size_t, size_t, int);
	return real ? real(p, size, extra, flags) : 0;
}

void
dallocx(void *p, int flags)
{
	REAL(void, dallocx, void *, int);
	if (real)
		real(p, flags);
}

void
sdallocx(void *p, size_t size, int flags)
{
	REAL(void, sdallocx, void *, size_t, int);
	if (real)
		real(p, size, flags);
}

#endif
