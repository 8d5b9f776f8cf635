/* SPDX-License-Identifier: MIT */
#include "support/fault.h"

#include "base/atomic.h"

/*
 * All relaxed: the numbers are read when the threads that made them have been
 * joined, and publish nothing.
 */
static _Atomic(size_t) extent_allocs, extent_frees, extent_bytes;
static _Atomic(size_t) pages_allocs, pages_frees, pages_bytes;
static _Atomic(size_t) failed;

/* Allocations of nth_kinds still to come, the failing one included. */
static _Atomic(unsigned long) nth;
static _Atomic(unsigned) nth_kinds, all_kinds;

static const struct backend *before, *inner;

static bool
countdown(void)
{
	unsigned long left = load_relaxed(&nth);

	while (left > 0)
		if (cas_relaxed(&nth, &left, left - 1))
			return left == 1;
	return false;
}

static bool
must_fail(unsigned kind)
{
	if (load_relaxed(&all_kinds) & kind)
		return true;
	return (load_relaxed(&nth_kinds) & kind) && countdown();
}

static void *
count(void *p, size_t size, _Atomic(size_t) *allocs, _Atomic(size_t) *bytes)
{
	if (p) {
		fetch_add_relaxed(allocs, 1);
		fetch_add_relaxed(bytes, size);
	} else {
		fetch_add_relaxed(&failed, 1);
	}
	return p;
}

static size_t
fault_extent_size(size_t bytes)
{
	return inner->extent_size(bytes);
}

static void *
fault_extent_alloc(size_t size)
{
	void *p = NULL;

	if (!must_fail(FAULT_EXTENT))
		p = inner->extent_alloc(size);
	return count(p, size, &extent_allocs, &extent_bytes);
}

static void
fault_extent_free(void *p, size_t size)
{
	fetch_add_relaxed(&extent_frees, 1);
	fetch_sub_relaxed(&extent_bytes, size);
	inner->extent_free(p, size);
}

static void *
fault_pages_alloc(size_t size)
{
	void *p = NULL;

	if (!must_fail(FAULT_PAGES))
		p = inner->pages_alloc(size);
	return count(p, size, &pages_allocs, &pages_bytes);
}

static void
fault_pages_free(void *p, size_t size)
{
	fetch_add_relaxed(&pages_frees, 1);
	fetch_sub_relaxed(&pages_bytes, size);
	inner->pages_free(p, size);
}

static struct backend wrapper = {
	.extent_size = fault_extent_size,
	.extent_alloc = fault_extent_alloc,
	.extent_free = fault_extent_free,
	.pages_alloc = fault_pages_alloc,
	.pages_free = fault_pages_free,
};

void
fault_install(const struct backend *behind)
{
	before = lend__backend;
	inner = behind ? behind : before;
	store_relaxed(&extent_allocs, 0);
	store_relaxed(&extent_frees, 0);
	store_relaxed(&extent_bytes, 0);
	store_relaxed(&pages_allocs, 0);
	store_relaxed(&pages_frees, 0);
	store_relaxed(&pages_bytes, 0);
	store_relaxed(&failed, 0);
	fault_fail_nth(0, 0);
	fault_fail_all(0);
	/* So that statistics look the same. */
	wrapper.name = inner->name;
	lend__backend = &wrapper;
}

void
fault_uninstall(void)
{
	lend__backend = before;
}

void
fault_fail_nth(unsigned kinds, unsigned long n)
{
	store_relaxed(&nth_kinds, kinds);
	store_relaxed(&nth, n);
}

bool
fault_pending(void)
{
	return load_relaxed(&nth) > 0;
}

void
fault_fail_all(unsigned kinds)
{
	store_relaxed(&all_kinds, kinds);
}

struct fault_counts
fault_counts(void)
{
	struct fault_counts counts = {
		.extent_allocs = load_relaxed(&extent_allocs),
		.extent_frees = load_relaxed(&extent_frees),
		.extent_bytes = load_relaxed(&extent_bytes),
		.pages_allocs = load_relaxed(&pages_allocs),
		.pages_frees = load_relaxed(&pages_frees),
		.pages_bytes = load_relaxed(&pages_bytes),
		.failed = load_relaxed(&failed),
	};

	return counts;
}
