/* SPDX-License-Identifier: MIT */
#include "arena/directory.h"

#include "base/atomic.h"
#include "sync/registry.h"
#include "sync/stack.h"

struct place {
	struct node node;
	_Atomic(struct lend_arena *) arena;
	struct lend_arena *ending;	/* guarded by the gate */
	char pad[8];
};

static struct registry places;
static struct stack free_places;

void
directory_init(void)
{
	registry_init(&places, sizeof(struct place), 0);
}

int
directory_reserve(uint32_t *index)
{
	struct node *node = stack_pop(&free_places, &places);
	int error = 0;

	if (!node)
		error = registry_add(&places, &node);
	if (!error)
		*index = node->index;
	return error;
}

static struct place *
place_at(uint32_t index)
{
	return registry_at(&places, index);
}

void
directory_publish(struct lend_arena *arena)
{
	/* Release: pairs with directory_at, the arena is whole. */
	store_release(&place_at(arena->index)->arena, arena);
}

void
directory_withdraw(struct lend_arena *arena)
{
	/* Relaxed: the grace period that follows orders it. */
	store_relaxed(&place_at(arena->index)->arena, NULL);
	place_at(arena->index)->ending = arena;
}

void
directory_recycle(uint32_t index)
{
	place_at(index)->ending = NULL;
	stack_push(&free_places, &place_at(index)->node);
}

struct lend_arena *
directory_ending_at(uint32_t index)
{
	return place_at(index)->ending;
}

uint32_t
directory_count(void)
{
	return registry_count(&places);
}

struct lend_arena *
directory_at(uint32_t index)
{
	if (index >= directory_count())
		return NULL;
	/* Acquire: pairs with directory_publish. */
	return load_acquire(&place_at(index)->arena);
}
