/* SPDX-License-Identifier: MIT */
#include "arena/private.h"

#include <errno.h>

#include "arena/gate.h"
#include "arena/growth.h"
#include "arena/loan.h"
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
	int error = 0;

	if (!node) {
		gate_enter();
		error = registry_add(&arena->privates, &node);
		if (!error)
			/* Relaxed, here and below: the owner is alone. */
			store_relaxed(&((struct loan *)node)->number,
				      number_first() |
				      NUMBER_PRIVATE | NUMBER_OUT);
		gate_leave();
	}
	*found = (struct private_loan *)node;
	return error;
}

void
private_settle(struct lend_arena *arena, struct private_loan *private)
{
	bufs_release(NULL, &private->bufs);
	store_relaxed(&private->loan.owner, NULL);
	store_relaxed(&private->loan.busy, 0);
	stack_push(&arena->idle_privates, &private->loan.node);
}

int
private_checkout(struct lend_arena *arena, const struct lend_req *req,
		 struct lend_worker *handle)
{
	struct private_loan *private;
	uint64_t number;
	int error = acquire(arena, &private);

	if (error)
		return error;
	error = bufs_grow(NULL, &private->bufs, req, false);
	if (error) {
		private_return(arena, private);
		return error;
	}
	number = number_next(load_relaxed(&private->loan.number));
	store_relaxed(&private->loan.number, number);
	store_relaxed(&private->loan.owner, thread_self());
	private->loan.flags = LOAN_PRIVATE;
	/* Release: pairs with the acquire in refusal(). */
	store_release(&private->loan.busy, 1);
	worker_fill(handle, arena, private, &private->bufs, number);
	count(&arena->reentrant);
	if (thread_is_over())
		thread_rearm();
	return 0;
}

void
private_return(struct lend_arena *arena, struct private_loan *private)
{
	gate_enter();
	private_settle(arena, private);
	gate_leave();
}

bool
private_any_out(struct lend_arena *arena)
{
	uint32_t loans = registry_count(&arena->privates);

	for (uint32_t i = 0; i < loans; i++) {
		/* Destroy is called when no other call is. */
		if (loan_is_out(registry_at(&arena->privates, i)))
			return true;
	}
	return false;
}

void
private_abandon(struct lend_arena *arena, void *owner)
{
	uint32_t loans = registry_count(&arena->privates);

	for (uint32_t i = 0; i < loans; i++) {
		struct private_loan *private =
			registry_at(&arena->privates, i);

		/* Relaxed: a match is the caller's own store. */
		if (load_relaxed(&private->loan.owner) != owner)
			continue;
		private_settle(arena, private);
		count(&arena->abandoned);
	}
}
