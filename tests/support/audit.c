/* SPDX-License-Identifier: MIT */
#include "support/audit.h"

#include <stdbool.h>
#include <stdint.h>

#include "arena/buffer.h"
#include "arena/directory.h"
#include "arena/loan.h"
#include "arena/slot.h"
#include "arena/state.h"
#include "arena/thread.h"
#include "base/os.h"
#include "sync/reclaim.h"
#include "sync/stack.h"

/* One bit per object; tests have no more slots or sets. */
#define OBJECTS_MAX 4096

/* What an arena takes of the directory for ever, see directory.c. */
#define PLACE_BYTES 32

struct marks {
	uint64_t word[OBJECTS_MAX / 64];
};

/* Marks the object; false: it was marked before. */
static bool
mark(struct marks *marks, uint32_t index)
{
	uint64_t bit = UINT64_C(1) << index % 64;
	uint64_t *word = &marks->word[index / 64 % (OBJECTS_MAX / 64)];

	if (*word & bit)
		return false;
	*word |= bit;
	return true;
}

static void
blame(struct audit *audit, bool sound, const char *what)
{
	if (!sound && !audit->wrong)
		audit->wrong = what;
}

static size_t
storage(const struct bufs *bufs)
{
	return buf_bytes(&bufs->a) + buf_bytes(&bufs->tile) +
	       buf_bytes(&bufs->scatter);
}

static size_t
set_storage(const struct team_set *set)
{
	return buf_bytes(&set->panel) + buf_bytes(&set->scatter) +
	       buf_bytes(&set->barrier);
}

static size_t
set_account(const struct team_set *set)
{
	return load_relaxed(&set->panel_bytes) +
	       load_relaxed(&set->rest_bytes);
}

/* The node below `node` on its stack, or the first one for null. */
static struct node *
below(struct stack *stack, const struct registry *registry,
      const struct node *node)
{
	uint32_t next = node ? load_relaxed(&node->next) :
			(uint32_t)stack_index(load_relaxed(&stack->head));

	return next ? registry_at(registry, next - 1) : NULL;
}

/* Marks all nodes of the stack; how many there are. */
static uint32_t
mark_stack(struct audit *audit, struct stack *stack,
	   const struct registry *registry, struct marks *marks)
{
	struct node *node = NULL;
	uint32_t nodes = 0;

	while ((node = below(stack, registry, node))) {
		if (!mark(marks, node->index)) {
			blame(audit, false, "twice on a stack");
			return nodes;
		}
		nodes++;
	}
	return nodes;
}

/* The same of the cells, and of the stack beside them. */
static uint32_t
mark_cells(struct audit *audit, struct cells *cells,
	   const struct registry *registry, struct marks *marks)
{
	uint32_t nodes = mark_stack(audit, &cells->stack, registry, marks);

	for (uint32_t i = 0; i < CELLS; i++) {
		uint64_t index =
			stack_index(load_relaxed(&cells->cell[i].word));

		if (index == 0)
			continue;
		if (!mark(marks, (uint32_t)index - 1))
			blame(audit, false, "twice in cells");
		nodes++;
	}
	return nodes;
}

static void
audit_bufs(struct audit *audit, lend_arena *arena)
{
	struct marks held = { { 0 } };
	struct node *spare = NULL;
	uint32_t all = registry_count(&arena->bufs), found;
	bool lent = false;

	found = mark_stack(audit, &arena->spare_bufs, &arena->bufs, &held);
	while ((spare = below(&arena->spare_bufs, &arena->bufs, spare)))
		blame(audit, storage((struct bufs *)spare) == 0,
		      "spare buffers with storage");
	for (uint32_t i = 0; i < registry_count(&arena->slots); i++) {
		struct slot *slot = registry_at(&arena->slots, i);
		struct bufs *bufs = load_relaxed(&slot->bufs);

		lent |= loan_is_out(&slot->loan);
		found += bufs != NULL;
		blame(audit, !bufs || mark(&held, bufs->node.index),
		      "buffers in two places");
		blame(audit, loan_is_out(&slot->loan) ||
		      load_relaxed(&slot->bytes) ==
		      (bufs ? storage(bufs) : 0), "a slot's bytes");
	}
	/* A loan may have taken them out of its slot. */
	blame(audit, found == all || lent, "buffers are lost");
	for (uint32_t i = 0; i < all; i++)
		audit->retained += storage(registry_at(&arena->bufs, i));
}

static void
audit_slots(struct audit *audit, lend_arena *arena)
{
	struct marks marks = { { 0 } };
	uint32_t all = registry_count(&arena->slots), found;

	found = mark_stack(audit, &arena->idle_slots, &arena->slots, &marks);
	for (uint32_t i = 0; i < all; i++) {
		struct slot *slot = registry_at(&arena->slots, i);

		if (!load_relaxed(&slot->loan.owner))
			continue;
		blame(audit, mark(&marks, i), "a slot owned and idle");
		found++;
	}
	blame(audit, found == all, "a slot is lost");
}

static bool
audit_sets(struct audit *audit, lend_arena *arena)
{
	struct marks marks = { { 0 } };
	struct node *spare = NULL;
	uint32_t sets = registry_count(&arena->sets), found;
	bool resized = false;

	found = mark_cells(audit, &arena->idle_sets, &arena->sets, &marks);
	found += mark_stack(audit, &arena->spare_sets, &arena->sets, &marks);
	while ((spare = below(&arena->spare_sets, &arena->sets, spare)))
		blame(audit, set_storage((struct team_set *)spare) == 0,
		      "a spare set with storage");
	for (uint32_t i = 0; i < sets; i++) {
		struct team_set *set = registry_at(&arena->sets, i);
		bool out = number_is_out(load_relaxed(&set->number));

		blame(audit, !out || mark(&marks, i), "a set lent and idle");
		found += out;
		resized |= out && set->resized;
		blame(audit, (out && set->resized) ||
		      set_account(set) == set_storage(set), "a set's bytes");
		audit->retained += set_storage(set);
		audit->panels += buf_bytes(&set->panel);
	}
	blame(audit, found == sets, "a set is lost");
	return resized;
}

/* Marks what a magazine holds; how many that are. */
static uint32_t
mark_magazine(struct audit *audit, const struct magazine *magazine,
	      struct marks *marks)
{
	uint32_t buffers = 0;
	size_t bytes = 0;

	for (uint32_t c = 0; c < BUFFER_CLASSES; c++) {
		const struct buffer *buffer = magazine->top[c];

		for (; buffer; buffer = buffer->next) {
			if (!mark(marks, buffer->node.index)) {
				blame(audit, false, "a buffer twice cached");
				return buffers;
			}
			blame(audit, buffer_class_of(buffer) == c,
			      "a cached class");
			bytes += buf_bytes(&buffer->buf);
			buffers++;
		}
	}
	blame(audit, magazine->bytes == bytes, "a magazine's bytes");
	return buffers;
}

/* All that are cached.  Magazines are spare, and empty, or in one cache. */
static uint32_t
audit_caches(struct audit *audit, lend_arena *arena, struct marks *cached)
{
	struct marks marks = { { 0 } };
	struct node *spare = NULL;
	uint32_t found, buffers = 0;

	found = mark_stack(audit, &arena->spare_magazines, &arena->magazines,
			   &marks);
	while ((spare = below(&arena->spare_magazines, &arena->magazines,
			      spare)))
		blame(audit, ((struct magazine_place *)spare)->
		      magazine->bytes == 0, "a spare magazine with buffers");
	for (uint32_t i = 0; i < registry_count(&arena->caches); i++) {
		struct slot *cache = registry_at(&arena->caches, i);
		struct magazine *magazine =
			(struct magazine *)load_relaxed(&cache->bufs);

		blame(audit, !loan_is_out(&cache->loan), "a cache in use");
		blame(audit, load_relaxed(&cache->bytes) == 0,
		      "a cache's bytes");
		if (!magazine)
			continue;
		blame(audit, mark(&marks, magazine->held.node.index),
		      "a magazine in two places");
		blame(audit, magazine->bytes <= arena->buffer_cache,
		      "a cache beyond its bound");
		buffers += mark_magazine(audit, magazine, cached);
		found++;
	}
	blame(audit, found == registry_count(&arena->magazines),
	      "a magazine is lost");
	return buffers;
}

/* One with storage: the map must lead to it. */
static void
audit_mapped(struct audit *audit, const struct buffer *buffer)
{
	map_word *word = load_relaxed(&buffer->word);

	blame(audit, word && map_find(buf_start(&buffer->buf)) == word,
	      "a buffer's place in the map");
	blame(audit, word && (load_relaxed(word) | WORD_OUT) == buffer->out,
	      "a buffer's word");
}

static void
audit_buffers(struct audit *audit, lend_arena *arena)
{
	struct marks marks = { { 0 } };
	struct node *spare = NULL;
	uint32_t all = registry_count(&arena->buffers), found;

	found = mark_stack(audit, &arena->spare_buffers, &arena->buffers,
			   &marks);
	while ((spare = below(&arena->spare_buffers, &arena->buffers, spare)))
		blame(audit, buf_bytes(&((struct buffer *)spare)->buf) == 0,
		      "a spare buffer with storage");
	for (uint32_t c = 0; c < BUFFER_CLASSES; c++)
		found += mark_stack(audit, &arena->idle_buffers[c],
				    &arena->buffers, &marks);
	found += audit_caches(audit, arena, &marks);
	for (uint32_t i = 0; i < all; i++) {
		const struct buffer *buffer = registry_at(&arena->buffers, i);
		size_t bytes = buf_bytes(&buffer->buf);

		if (bytes)
			audit_mapped(audit, buffer);
		audit->retained += bytes;
		audit->buffers += bytes;
		if (!bytes || !buffer_is_out(buffer))
			continue;
		blame(audit, mark(&marks, i), "a buffer lent and idle");
		found++;
	}
	blame(audit, found == all, "a buffer is lost");
}

static void
audit_privates(struct audit *audit, lend_arena *arena)
{
	struct marks marks = { { 0 } };
	uint32_t privates = registry_count(&arena->privates), found;

	found = mark_stack(audit, &arena->idle_privates, &arena->privates,
			   &marks);
	for (uint32_t i = 0; i < privates; i++) {
		struct private_loan *private =
			registry_at(&arena->privates, i);

		audit->privates += storage(&private->bufs);
		if (!loan_is_out(&private->loan)) {
			blame(audit, storage(&private->bufs) == 0,
			      "an idle private loan with storage");
			continue;
		}
		blame(audit, mark(&marks, i), "a private loan lent and idle");
		found++;
	}
	blame(audit, found == privates, "a private loan is lost");
}

static void
audit_records(struct audit *audit, lend_arena *arena)
{
	struct stack *const stacks[] = {
		&arena->taken_records, &arena->records_out
	};
	uint32_t all = registry_count(&arena->records), found = 0;

	for (int i = 0; i < 2; i++) {
		struct node *node = NULL;

		while ((node = below(stacks[i], &arena->records, node)) &&
		       found <= all)
			found++;
	}
	blame(audit, found <= all, "a record twice on a stack");
	audit->lost_records = all - found;
}

static bool
scratch_resized(lend_arena *arena)
{
	for (uint32_t i = 0; i < registry_count(&arena->slots); i++) {
		struct slot *slot = registry_at(&arena->slots, i);

		if (loan_is_out(&slot->loan) &&
		    (slot->loan.flags & SLOT_GROWN))
			return true;
	}
	return false;
}

struct audit
audit_arena(lend_arena *arena)
{
	struct audit audit = { 0 };
	struct lend_stats stats;
	bool resized;

	audit_bufs(&audit, arena);
	audit_slots(&audit, arena);
	audit_records(&audit, arena);
	resized = audit_sets(&audit, arena);
	resized |= scratch_resized(arena);
	audit_buffers(&audit, arena);
	audit_privates(&audit, arena);
	(void)lend_arena_stats(arena, &stats);
	blame(&audit, resized || stats.retained_bytes == audit.retained,
	      "retained bytes");
	blame(&audit, stats.panel_bytes == audit.panels, "panel bytes");
	blame(&audit, stats.buffer_bytes == audit.buffers, "buffer bytes");
	blame(&audit, stats.leased_bytes <= stats.retained_bytes,
	      "leased above retained");
	blame(&audit, stats.slots_out || stats.sets_out ||
	      stats.buffers_out || stats.leased_bytes == 0, "leased without a loan");
	blame(&audit, arena->limit == 0 || (audit.retained <= arena->limit &&
	      load_relaxed(&arena->reserved) == audit.retained), "limit");
	return audit;
}

struct audit
audit_process(void)
{
	struct audit sum = { 0 };

	reclaim_read_begin();
	for (uint32_t i = 0; i < directory_count(); i++) {
		lend_arena *arena = directory_at(i);
		struct audit audit = { 0 };

		if (arena)
			audit = audit_arena(arena);
		sum.retained += audit.retained;
		sum.panels += audit.panels;
		sum.buffers += audit.buffers;
		sum.privates += audit.privates;
		sum.lost_records += audit.lost_records;
		blame(&sum, !audit.wrong, audit.wrong);
	}
	reclaim_read_end();
	return sum;
}

/* The leaves of the map of buffers, which stay as well. */
static size_t
map_pages(void)
{
	size_t pages = 0;

	for (size_t i = 0; i < (size_t)1 << MAP_ROOT_BITS; i++)
		if (load_relaxed(&buffer_map__root[i]))
			pages += MAP_LEAF_BYTES;
	return pages;
}

/* See sync/registry.h: chunks of one page, two pages, four... */
size_t
audit_directory_pages(void)
{
	size_t places = directory_count(), chunk = LEND_PAGE, pages = 0;

	/* A place is a node and a pointer. */
	for (size_t there = 0; there < places; chunk *= 2) {
		there += chunk / PLACE_BYTES;
		pages += chunk;
	}
	return pages + map_pages();
}

size_t
audit_thread_pages(void)
{
	return lend__thread.length * sizeof(struct thread_entry);
}
