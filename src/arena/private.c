/* SPDX-License-Identifier: MIT */
#include "arena/private.h"

#include <errno.h>

#include "arena/gate.h"
#include "arena/growth.h"
#include "arena/number.h"
#include "arena/thread.h"
#include "arena/trim.h"
#include "arena/worker.h"
#include "base/assert.h"
#include "sync/stack.h"

static int
acquire(struct lend_arena *arena, struct private_loan **found)
{
	struct node *node = stack_pop(&arena->idle_privates,
				      &arena->privates);
	struct private_loan *loan;
	int error;

	if (!node) {
		error = registry_add(&arena->privates, &node);
		if (error)
			return error;
		loan = (struct private_loan *)node;
		/* Relaxed, here and below: the owner is alone with it. */
		store_relaxed(&loan->number,
			      number_first(node->index) | NUMBER_PRIVATE);
	}
	*found = (struct private_loan *)node;
	return 0;
}

void
private_settle(struct lend_arena *arena, struct private_loan *loan)
{
	uint64_t number = load_relaxed(&loan->number);

	bufs_release(NULL, &loan->bufs);
	store_relaxed(&loan->owner, NULL);
	if (number_is_out(number))
		store_relaxed(&loan->number, number_after(number));
	stack_push(&arena->idle_privates, &loan->node);
}

int
private_checkout(struct lend_arena *arena, const struct lend_req *req,
		 struct lend_worker *handle)
{
	struct private_loan *loan;
	int error;

	gate_enter();
	error = acquire(arena, &loan);
	if (!error) {
		error = bufs_grow(NULL, &loan->bufs, req);
		if (error)
			private_settle(arena, loan);
	}
	if (!error) {
		uint64_t number = load_relaxed(&loan->number) | NUMBER_OUT;

		store_relaxed(&loan->owner, thread_self());
		store_relaxed(&loan->number, number);
		worker_fill(handle, arena, &loan->bufs, number);
		count(&arena->reentrant);
		if (thread_is_over())
			thread_rearm();
	}
	gate_leave();
	return error;
}

int
private_find(struct lend_arena *arena, const struct lend_worker *handle,
	     struct private_loan **found)
{
	uint32_t index = number_index(handle->number);
	struct private_loan *loan;

	if (index >= registry_count(&arena->privates))
		return -EALREADY;
	loan = registry_at(&arena->privates, index);
	/* Relaxed: only the owner's own stores can make both match. */
	if (load_relaxed(&loan->number) != handle->number)
		return -EALREADY;
	if (load_relaxed(&loan->owner) != thread_self())
		return -EPERM;
	*found = loan;
	return 0;
}

void
private_return(struct lend_arena *arena, struct private_loan *loan)
{
	gate_enter();
	private_settle(arena, loan);
	gate_leave();
}

bool
private_any_out(struct lend_arena *arena)
{
	uint32_t loans = registry_count(&arena->privates);

	for (uint32_t i = 0; i < loans; i++) {
		struct private_loan *loan = registry_at(&arena->privates, i);

		/* Relaxed: destroy is called when no other call is. */
		if (number_is_out(load_relaxed(&loan->number)))
			return true;
	}
	return false;
}

void
private_abandon(struct lend_arena *arena, void *owner)
{
	uint32_t loans = registry_count(&arena->privates);

	for (uint32_t i = 0; i < loans; i++) {
		struct private_loan *loan = registry_at(&arena->privates, i);

		/* Relaxed: a match is the caller's own store. */
		if (load_relaxed(&loan->owner) != owner)
			continue;
		private_settle(arena, loan);
		count(&arena->abandoned);
	}
}
