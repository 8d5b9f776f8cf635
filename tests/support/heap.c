/* SPDX-License-Identifier: MIT */
#include "support/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static atomic_ulong calls, outstanding;
static _Thread_local unsigned long fail_in;

unsigned long
heap_calls(void)
{
	return atomic_load(&calls);
}

unsigned long
heap_outstanding(void)
{
	return atomic_load(&outstanding);
}

void
heap_fail_nth(unsigned long n)
{
	fail_in = n;
}

#if defined(LEND_TSAN) || defined(LEND_ASAN) || \
	defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

bool
heap_counts(void)
{
	return false;
}

/* It never comes. */
bool
heap_pending(void)
{
	return true;
}

#else

#define EARLY_ALIGN ((size_t)16)

/* What the look-up of the real functions may allocate; not given back. */
static _Alignas(16) char early[4096];
static size_t early_used;
static _Thread_local bool looking;

bool
heap_counts(void)
{
	return true;
}

bool
heap_pending(void)
{
	return fail_in > 0;
}

static void *
early_alloc(size_t size)
{
	size_t at = early_used;

	early_used += (size + EARLY_ALIGN - 1) / EARLY_ALIGN * EARLY_ALIGN;
	return early_used <= sizeof(early) ? early + at : NULL;
}

static bool
is_early(const void *p)
{
	return (const char *)p >= early &&
	       (const char *)p < early + sizeof(early);
}

/* Counts an allocation; false: it is the one that fails. */
static bool
may_go(void)
{
	atomic_fetch_add(&calls, 1);
	if (fail_in > 0 && --fail_in == 0) {
		errno = ENOMEM;
		return false;
	}
	return true;
}

static void *
made(void *p)
{
	if (p)
		atomic_fetch_add(&outstanding, 1);
	return p;
}

/* Finds the next function of the name; twice is the same as once. */
#define REAL(type, name, ...)						\
	static type (*real)(__VA_ARGS__);				\
	if (!real) {							\
		void *address;						\
									\
		looking = true;						\
		address = dlsym(RTLD_NEXT, #name);			\
		looking = false;					\
		memcpy(&real, &address, sizeof(real));			\
	}

void *
malloc(size_t size)
{
	if (looking)
		return early_alloc(size);
	REAL(void *, malloc, size_t)
	return may_go() ? made(real(size)) : NULL;
}

void *
calloc(size_t n, size_t size)
{
	if (looking)
		return early_alloc(n * size);
	REAL(void *, calloc, size_t, size_t)
	return may_go() ? made(real(n, size)) : NULL;
}

void *
aligned_alloc(size_t align, size_t size)
{
	REAL(void *, aligned_alloc, size_t, size_t)
	return may_go() ? made(real(align, size)) : NULL;
}

int
posix_memalign(void **p, size_t align, size_t size)
{
	REAL(int, posix_memalign, void **, size_t, size_t)
	int error = may_go() ? real(p, align, size) : ENOMEM;

	if (!error)
		made(*p);
	return error;
}

void *
realloc(void *p, size_t size)
{
	REAL(void *, realloc, void *, size_t)
	void *moved;

	if (is_early(p))
		return NULL;
	if (!may_go())
		return NULL;
	moved = real(p, size);
	return p ? moved : made(moved);
}

void
free(void *p)
{
	REAL(void, free, void *)
	atomic_fetch_add(&calls, 1);
	if (!p || is_early(p))
		return;
	atomic_fetch_sub(&outstanding, 1);
	real(p);
}

#endif
