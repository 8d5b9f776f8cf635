/* SPDX-License-Identifier: MIT */
/* Making an arena; its end is in ending.c. */
#include <lend/arena.h>

#include <errno.h>
#include <string.h>

#include "arena/directory.h"
#include "arena/fork.h"
#include "arena/gate.h"
#include "arena/slot.h"
#include "arena/state.h"
#include "arena/thread.h"
#include "base/once.h"
#include "mem/backend.h"
#include "mem/init.h"

static struct once once;

/* Where in its page the first slot and the first set begin. */
#define SLOT_LEAD 1024
#define SET_LEAD 2048
/* The first buffer and the first cache. */
#define BUFFER_LEAD 3072
#define CACHE_LEAD 2048

/* Keys begin at 1: 0 is nobody's. */
static _Atomic(uint64_t) last_key;

static int
start(void)
{
	int error = lend__init();

	if (error)
		return error;
	directory_init();
	error = thread_init();
	/* Last, as handlers that are installed twice would lock twice. */
	return error ? error : fork_init();
}

/* As much as fits, not cut inside a UTF-8 character. */
static void
copy_name(char *to, const char *name)
{
	size_t length = strnlen(name, ARENA_NAME_BYTES - 1);

	while (length && (name[length] & 0xc0) == 0x80)
		length--;
	memcpy(to, name, length);
	to[length] = '\0';
}

/* What the program says, else what LEND_CONF says. */
static int
configure(struct lend_arena *arena, const struct lend_arena_options *options)
{
	static const struct lend_arena_options none = LEND_ARENA_OPTIONS_INIT;

	if (!options)
		options = &none;
	if (options->size != sizeof(*options))
		return -EINVAL;
	arena->limit = options->limit ? options->limit : lend__conf.limit;
	arena->trace = options->trace || lend__conf.trace;
	arena->hugetlb = options->hugetlb || lend__conf.hugetlb;
	arena->buffer_cache = lend__conf.buffer_cache;
	arena->fast = lend__membarrier;
	/* Relaxed: nobody knows the arena yet.  Not fast: one for ever. */
	store_relaxed(&arena->trimmers, arena->fast ? 0 : 1);
	if (options->name)
		copy_name(arena->name, options->name);
	return 0;
}

static void
init_registries(struct lend_arena *arena)
{
	/*
	 * A loan's path goes through the arena, the thread's table, the slot
	 * and the buffers' descriptor; a lease's through the set and its
	 * barriers.  The first of each must not share their place in a page
	 * (measured: 0.7 ns a worker loan where they did).
	 */
	registry_init(&arena->slots, sizeof(struct slot), SLOT_LEAD);
	registry_init(&arena->bufs, sizeof(struct bufs), 0);
	registry_init(&arena->sets, sizeof(struct team_set), SET_LEAD);
	registry_init(&arena->privates, sizeof(struct private_loan), 0);
	registry_init(&arena->records, sizeof(struct record), 0);
	registry_init(&arena->buffers, sizeof(struct buffer), BUFFER_LEAD);
	registry_init(&arena->caches, sizeof(struct slot), CACHE_LEAD);
	registry_init(&arena->magazines, sizeof(struct magazine_place), 0);
}

static int
create(const struct lend_arena_options *options, struct lend_arena **made)
{
	struct lend_arena *arena = pages_alloc(sizeof(*arena));
	int error;

	if (!arena)
		return -ENOMEM;
	error = configure(arena, options);
	if (!error)
		error = directory_reserve(&arena->index);
	if (error) {
		pages_free(arena, sizeof(*arena));
		return error;
	}
	init_registries(arena);
	/* Relaxed: only that it is unique matters. */
	arena->key = fetch_add_relaxed(&last_key, 1) + 1;
	directory_publish(arena);
	*made = arena;
	return 0;
}

int
lend_arena_create(lend_arena **arena, const struct lend_arena_options *options)
{
	int error;

	if (!arena)
		return -EINVAL;
	error = once_try(&once, start);
	if (error)
		return error;
	gate_enter();
	error = create(options, arena);
	gate_leave();
	return error;
}

uint64_t
lend_arena_key(const lend_arena *arena)
{
	return arena ? arena->key : 0;
}
