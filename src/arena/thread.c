/* SPDX-License-Identifier: MIT */
#include "arena/thread.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "arena/directory.h"
#include "arena/gate.h"
#include "arena/private.h"
#include "arena/worker.h"
#include "base/util.h"
#include "mem/backend.h"
#include "sync/reclaim.h"

_Thread_local struct thread lend__thread
	__attribute__((tls_model("initial-exec")));

static pthread_key_t key;
/* Stands in for the table of a thread that is over; its length is 0. */
static struct thread_entry over[1];

bool
thread_is_over(void)
{
	return lend__thread.table == over;
}

/* Settles every private loan of the calling thread, in all arenas. */
static void
settle_all_privates(void)
{
	for (uint32_t i = 0; i < directory_count(); i++) {
		struct lend_arena *arena = directory_at(i);

		if (arena)
			private_abandon(arena, thread_self());
	}
}

static void
settle_slots(const struct thread *thread)
{
	for (uint32_t i = 0; i < thread->length; i++) {
		const struct thread_entry *entry = &thread->table[i];
		struct lend_arena *arena;

		if (entry->key == 0)
			continue;
		arena = directory_at(i);
		/* Another key: ours is gone, and the slot with it. */
		if (arena && arena->key == entry->key)
			worker_slot_leave(arena, entry->slot);
	}
}

static void
thread_end(void *unused)
{
	struct thread ended = lend__thread;

	(void)unused;
	reclaim_read_begin();
	gate_enter();
	if (thread_is_over())
		settle_all_privates();
	else
		settle_slots(&ended);
	lend__thread.length = 0;
	lend__thread.table = over;
	lend__thread.cache_key = 0;
	if (ended.length)
		pages_free(ended.table, ended.length * sizeof(*ended.table));
	gate_leave();
	reclaim_read_end();
}

int
thread_init(void)
{
	static bool have_key;
	int error = have_key ? 0 : pthread_key_create(&key, thread_end);

	have_key = error == 0;
	return -error;
}

void
thread_rearm(void)
{
	/* Without memory for it the loan is settled by nobody: accepted. */
	(void)pthread_setspecific(key, over);
}

/* Makes the table reach the index. */
static int
table_reach(uint32_t index)
{
	struct thread *thread = &lend__thread;
	size_t least = LEND_PAGE / sizeof(struct thread_entry), length;
	struct thread_entry *table;

	if (index < thread->length)
		return 0;
	length = size_max(round_up_power((size_t)index + 1), least);
	table = pages_alloc(length * sizeof(*table));
	if (!table)
		return -ENOMEM;
	if (thread->length) {
		memcpy(table, thread->table,
		       thread->length * sizeof(*table));
		pages_free(thread->table, thread->length * sizeof(*table));
	}
	thread->table = table;
	thread->length = length;
	return 0;
}

int
thread_attach(struct lend_arena *arena, struct slot **slot)
{
	int error;

	if (thread_is_over())
		return -ESRCH;
	/* Before the gate: it may call the program's malloc. */
	if (lend__thread.length == 0 && pthread_setspecific(key, over))
		return -ENOMEM;
	gate_enter();
	error = table_reach(arena->index);
	if (!error)
		error = worker_slot_join(arena, slot);
	if (!error) {
		struct thread_entry *entry =
			&lend__thread.table[arena->index];

		entry->key = arena->key;
		entry->slot = *slot;
	}
	gate_leave();
	return error;
}

void
thread_detach(struct lend_arena *arena)
{
	struct slot *slot = thread_slot(arena);

	if (!slot)
		return;
	gate_enter();
	worker_slot_leave(arena, slot);
	lend__thread.table[arena->index].key = 0;
	/* The cache of buffers goes with the slot. */
	if (lend__thread.cache_key == arena->key)
		lend__thread.cache_key = 0;
	gate_leave();
}
