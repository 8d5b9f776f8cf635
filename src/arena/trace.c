/* SPDX-License-Identifier: MIT */
#include "arena/trace.h"

#include <errno.h>

#include "arena/gate.h"
#include "base/os.h"
#include "sync/stack.h"

int
trace_prepare(struct lend_arena *arena, struct record **record)
{
	struct node *node = stack_pop(&arena->taken_records, &arena->records);

	if (!node && registry_add(&arena->records, &node))
		return -ENOMEM;
	*record = (struct record *)node;
	return 0;
}

void
trace_drop(struct lend_arena *arena, struct record *record)
{
	stack_push(&arena->taken_records, &record->node);
}

void
trace_record(struct lend_arena *arena, struct record *record,
	     enum lend_buffer buffer, size_t capacity)
{
	record->thread = os_thread_id();
	record->buffer = (uint32_t)buffer;
	record->capacity = capacity;
	stack_push(&arena->records_out, &record->node);
}

/* Takes all records, newest first, and links them oldest first. */
static struct node *
take_all(struct lend_arena *arena)
{
	struct node *node, *oldest = NULL;

	gate_enter();
	while ((node = stack_pop(&arena->records_out, &arena->records))) {
		/* Relaxed: popped, so ours alone. */
		store_relaxed(&node->next, oldest ? oldest->index + 1 : 0);
		oldest = node;
	}
	gate_leave();
	return oldest;
}

ssize_t
lend_trace_take(lend_arena *arena, lend_trace_fn *fn, void *ctx)
{
	struct node *oldest;
	ssize_t taken = 0;

	if (!arena || !fn)
		return -EINVAL;
	oldest = take_all(arena);
	while (oldest) {
		struct record *record = (struct record *)oldest;
		/* Relaxed: as above. */
		uint32_t next = load_relaxed(&oldest->next);
		struct lend_trace_record shown = {
			.thread = record->thread,
			.buffer = (enum lend_buffer)record->buffer,
			.capacity = record->capacity,
		};

		stack_push(&arena->taken_records, oldest);
		fn(&shown, ctx);
		taken++;
		oldest = next ? registry_at(&arena->records, next - 1) : NULL;
	}
	return taken;
}
