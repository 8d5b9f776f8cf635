/* SPDX-License-Identifier: MIT */
/*
 * Extents from jemalloc, over hooks of our own.  No other file calls it.
 *
 *   extent_alloc --> mallocx, one arena per node --> hook_alloc: 2 MiB
 *                      ^                             aligned, huge pages
 *                      | retained addresses          advised
 *   extent_free --> purge, sdallocx --> hook_purge, hook_merge
 *
 * Address space that jemalloc got is kept and used again, memory is not: what
 * is released is purged before jemalloc learns of it.  jemalloc's own purge,
 * although without delay (decay 0), would come too late: between the release
 * and the purge the extent can be handed to another thread, bytes and all.
 *
 * Every call says MALLOCX_TCACHE_NONE and the alignment: a thread cache would
 * hand our extents to plain malloc, and without an alignment jemalloc starts
 * large blocks at random offsets.
 *
 * The hooks make system calls and nothing else: they run inside the
 * allocator.
 */
#include "mem/backend.h"

#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <string.h>
#include <sys/types.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/once.h"
#include "base/os.h"
#include "base/util.h"
#include "mem/address_set.h"
#include "mem/poison.h"

#define unused __attribute__((unused))

/* Afterwards the range reads as zero, whatever the system says. */
static void
scrub(void *p, size_t size)
{
	if (!os_purge(p, size))
		memset(p, 0, size);
}

static void *
hook_alloc(unused extent_hooks_t *hooks, void *place, size_t size,
	   size_t alignment, bool *zero, bool *commit, unused unsigned arena)
{
	bool bookkeeping = *zero;
	void *p;

	/* Wanted at one address: jemalloc is content with a refusal. */
	if (place)
		return NULL;
	if (size >= LEND_HUGE_PAGE)
		alignment = size_max(alignment, LEND_HUGE_PAGE);
	p = os_map_aligned(size, alignment);
	if (!p)
		return NULL;
	/*
	 * We never ask jemalloc for zeroed extents, so what it wants zeroed
	 * is its own bookkeeping: 2 MiB, of which it touches some pages.
	 */
	if (size >= LEND_HUGE_PAGE && !bookkeeping)
		os_advise_huge(p, size);
	*zero = true;
	*commit = true;
	return p;
}

/* Refused: jemalloc then purges the range and keeps its addresses. */
static bool
hook_dalloc(unused extent_hooks_t *hooks, unused void *p, unused size_t size,
	    unused bool committed, unused unsigned arena)
{
	return true;
}

static void
hook_destroy(unused extent_hooks_t *hooks, void *p, size_t size,
	     unused bool committed, unused unsigned arena)
{
	if (unlikely(lend__poison))
		poison_lent(p, size);
	os_unmap(p, size);
}

/* Our memory is always committed. */
static bool
hook_commit(unused extent_hooks_t *hooks, unused void *p, unused size_t size,
	    unused size_t offset, unused size_t length, unused unsigned arena)
{
	return false;
}

/* Refused: jemalloc then asks for a forced purge. */
static bool
hook_decommit(unused extent_hooks_t *hooks, unused void *p,
	      unused size_t size, unused size_t offset, unused size_t length,
	      unused unsigned arena)
{
	return true;
}

/* Refused: what is lazily purged keeps its bytes until memory is short. */
static bool
hook_purge_lazy(unused extent_hooks_t *hooks, unused void *p,
		unused size_t size, unused size_t offset,
		unused size_t length, unused unsigned arena)
{
	return true;
}

static bool
hook_purge_forced(unused extent_hooks_t *hooks, void *p, unused size_t size,
		  size_t offset, size_t length, unused unsigned arena)
{
	/* Scrubbing may write, in want of a system that purges. */
	if (unlikely(lend__poison))
		poison_lent((char *)p + offset, length);
	scrub((char *)p + offset, length);
	return false;
}

static bool
hook_split(unused extent_hooks_t *hooks, unused void *p, unused size_t size,
	   unused size_t size_a, unused size_t size_b, unused bool committed,
	   unused unsigned arena)
{
	return false;
}

/*
 * Two neighbours become one, b after a.  Both are free: only a block that
 * grows in place (xallocx, which nobody calls on ours) is merged while it is
 * lent.
 *
 *     | a: was lent, purged | b: never lent |
 *     |<------------- huge page ----------->|
 *
 * The first touch of a brought in the whole huge page, the purge of a gave
 * back only its part.  Now that all of it is free, the rest goes too.
 */
static bool
hook_merge(unused extent_hooks_t *hooks, void *a, unused size_t size_a,
	   void *b, size_t size_b, unused bool committed,
	   unused unsigned arena)
{
	size_t before = (uintptr_t)b & (LEND_HUGE_PAGE - 1);
	char *page = (char *)b - before;

	if (before > 0 && page >= (char *)a &&
	    LEND_HUGE_PAGE - before <= size_b)
		(void)os_purge(page, LEND_HUGE_PAGE);
	return false;
}

static extent_hooks_t huge_hooks = {
	.alloc = hook_alloc,
	.dalloc = hook_dalloc,
	.destroy = hook_destroy,
	.commit = hook_commit,
	.decommit = hook_decommit,
	.purge_lazy = hook_purge_lazy,
	.purge_forced = hook_purge_forced,
	.split = hook_split,
	.merge = hook_merge,
};

/*
 * jemalloc's arenas, one per node: its index + 1, or 0 before the first
 * extent of that node.  Written under once[node]; never destroyed.  What failed
 * is tried again for the node's next extent.
 *
 * A struct once and not a mutex: a child that is forked while another thread
 * creates finds the work undone, not a lock that nobody holds any more.
 * (Fork handlers would not do, as those registered while a fork runs are not
 * called by it.)  jemalloc looks after its own locks.
 */
static _Atomic(unsigned) arenas[OS_NODES_MAX];
static struct once once[OS_NODES_MAX];

/* Sets "arena.<index>.<name>", where `name` is given with index 0. */
static int
arena_set(const char *name, unsigned index, ssize_t value)
{
	size_t mib[3], length = 3;
	int err;

	err = mallctlnametomib(name, mib, &length);
	if (err)
		return err;
	mib[1] = index;
	return mallctlbymib(mib, length, NULL, NULL, &value, sizeof value);
}

static void
arena_destroy(unsigned index)
{
	size_t mib[3], length = 3;

	if (mallctlnametomib("arena.0.destroy", mib, &length))
		return;
	mib[1] = index;
	(void)mallctlbymib(mib, length, NULL, NULL, NULL, 0);
}

/* A new arena's index + 1, or 0. */
static unsigned
arena_create(void)
{
	extent_hooks_t *ours = &huge_hooks;
	unsigned index;
	size_t length = sizeof index;

	if (mallctl("arenas.create", &index, &length, &ours, sizeof ours))
		return 0;
	if (arena_set("arena.0.dirty_decay_ms", index, 0) ||
	    arena_set("arena.0.muzzy_decay_ms", index, 0)) {
		arena_destroy(index);
		return 0;
	}
	return index + 1;
}

/*
 * The argument that once_try() does not pass.  In the static block: other
 * thread storage of a library may be allocated at its first use, by malloc.
 */
static _Thread_local unsigned creating_for
	__attribute__((tls_model("initial-exec")));

static int
create_once(void)
{
	unsigned arena = arena_create();

	/* Pairs with the acquire in node_arena(): the arena's settings. */
	store_release(&arenas[creating_for], arena);
	return arena ? 0 : -ENOMEM;
}

static unsigned
node_arena_create(unsigned node)
{
	unsigned i, arena;

	creating_for = node;
	(void)once_try(&once[node], create_once);
	/* Relaxed: once_try() has ordered it; 0 where it failed. */
	arena = load_relaxed(&arenas[node]);
	/* jemalloc had none left: another node's is better than none. */
	for (i = 0; arena == 0 && i < os_nodes(); i++)
		/* Pairs with the release in create_once(). */
		arena = load_acquire(&arenas[i]);
	return arena;
}

static unsigned
node_arena(void)
{
	unsigned node = os_node();
	/* Pairs with the release in create_once(). */
	unsigned arena = load_acquire(&arenas[node]);

	return arena ? arena : node_arena_create(node);
}

/* The flags of every call for an extent of this size. */
static int
flags_of(size_t size)
{
	if (size >= LEND_HUGE_PAGE)
		return MALLOCX_ALIGN(LEND_HUGE_PAGE) | MALLOCX_TCACHE_NONE;
	return MALLOCX_ALIGN(LEND_PAGE) | MALLOCX_TCACHE_NONE;
}

static size_t
jemalloc_extent_size(size_t bytes)
{
	return nallocx(bytes, flags_of(bytes));
}

/*
 * Extents that jemalloc would not take from our arena: on a thread whose
 * jemalloc data is gone already (a late destructor) it ignores the arena that
 * it is told, and would hand out the program's old heap.
 */
static struct address_set astray;

static bool
is_of(void *p, unsigned arena)
{
	unsigned found = 0;
	size_t length = sizeof found;

	return !mallctl("arenas.lookup", &found, &length, &p, sizeof p) &&
	       found == arena;
}

static void *
map_astray(size_t size)
{
	void *p = os_map_aligned(size, LEND_PAGE);

	if (p && !address_set_add(&astray, p)) {
		os_unmap(p, size);
		return NULL;
	}
	return p;
}

static void *
jemalloc_extent_alloc(size_t size)
{
	unsigned arena = node_arena();
	void *p;

	if (arena == 0)
		return NULL;
	p = mallocx(size, flags_of(size) | MALLOCX_ARENA(arena - 1));
	if (p && unlikely(!is_of(p, arena - 1))) {
		dallocx(p, MALLOCX_TCACHE_NONE);
		p = map_astray(size);
	}
	if (p && unlikely(lend__poison))
		poison_lent(p, size);
	return p;
}

static void
jemalloc_extent_free(void *p, size_t size)
{
	if (address_set_remove(&astray, p)) {
		os_unmap(p, size);
		return;
	}
	scrub(p, size);
	/* Its addresses stay ours: a stale pointer is still reported. */
	if (unlikely(lend__poison))
		poison_idle(p, size);
	/*
	 * Without an arena: jemalloc finds the right one by the address; the
	 * thread may have come to another node since.
	 */
	sdallocx(p, size, flags_of(size));
}

static void *
jemalloc_pages_alloc(size_t size)
{
	return lend__backend_mmap.pages_alloc(size);
}

static void
jemalloc_pages_free(void *p, size_t size)
{
	lend__backend_mmap.pages_free(p, size);
}

const struct backend lend__backend_jemalloc = {
	.name = "jemalloc",
	.extent_size = jemalloc_extent_size,
	.extent_alloc = jemalloc_extent_alloc,
	.extent_free = jemalloc_extent_free,
	.pages_alloc = jemalloc_pages_alloc,
	.pages_free = jemalloc_pages_free,
};
