/* SPDX-License-Identifier: MIT */
#include "arena/worker.h"

#include <errno.h>

#include "arena/gate.h"
#include "arena/growth.h"
#include "arena/loan.h"
#include "arena/private.h"
#include "arena/thread.h"
#include "mem/poison.h"
#include "sync/stack.h"

/* Poisons or unpoisons all three. */
static void
bufs_poison(const struct bufs *bufs, void (*mark)(void *, size_t))
{
	const struct page_buf *const buf[] = {
		&bufs->a, &bufs->tile, &bufs->scatter
	};

	for (int i = 0; i < 3; i++)
		if (buf_bytes(buf[i]))
			mark(buf_start(buf[i]), buf_bytes(buf[i]));
}

static inline bool
bufs_cover(const struct bufs *bufs, const struct lend_req *req)
{
	return likely(buf_bytes(&bufs->a) >= req->a_bytes) &&
	       likely(buf_bytes(&bufs->tile) >= req->tile_bytes) &&
	       likely(buf_elements(&bufs->scatter) >= req->worker_scatter);
}

/* Makes the sum what the three are, and returns it. */
static size_t
bufs_sum(struct bufs *bufs)
{
	size_t bytes = buf_bytes(&bufs->a) + buf_bytes(&bufs->tile) +
		       buf_bytes(&bufs->scatter);

	/* Relaxed: the holder is alone. */
	store_relaxed(&bufs->bytes, bytes);
	return bytes;
}

int
bufs_grow(struct lend_arena *arena, struct bufs *bufs,
	  const struct lend_req *req)
{
	struct growth growth = { 0 };
	int error;

	error = growth_plan_bytes(&growth, &bufs->a, req->a_bytes,
				  LEND_BUFFER_A);
	if (!error)
		error = growth_plan_bytes(&growth, &bufs->tile,
					  req->tile_bytes, LEND_BUFFER_TILE);
	if (!error)
		error = growth_plan_elements(&growth, &bufs->scatter,
					     req->worker_scatter, 0);
	if (!error)
		error = growth_run(arena, &growth);
	/* After a failure too: see growth.h. */
	bufs_sum(bufs);
	return error;
}

/* An empty descriptor. */
static int
bufs_new(struct lend_arena *arena, struct bufs **bufs)
{
	struct node *node = stack_pop(&arena->spare_bufs, &arena->bufs);
	int error = 0;

	if (!node) {
		gate_enter();
		error = registry_add(&arena->bufs, &node);
		gate_leave();
	}
	*bufs = (struct bufs *)node;
	return error;
}

int
worker_slot_join(struct lend_arena *arena, struct slot **found)
{
	struct node *node = stack_pop(&arena->idle_slots, &arena->slots);
	struct slot *slot;
	int error;

	if (node) {
		count(&arena->adopted);
	} else {
		error = registry_add(&arena->slots, &node);
		if (error)
			return error;
		/* Relaxed: the owner alone writes it. */
		store_relaxed(&((struct loan *)node)->number,
			      number_first(node->index));
	}
	slot = (struct slot *)node;
	slot->nested = 0;
	/* Relaxed: others only compare it. */
	store_relaxed(&slot->loan.owner, thread_self());
	*found = slot;
	return 0;
}

static __attribute__((noinline)) void
give_back_slowly(struct slot *slot)
{
	struct bufs *bufs = slot_lent(slot);

	/* What the scratch has gained during the loan. */
	size_t before = bufs_bytes(bufs);

	slot_settle(slot, before, bufs_sum(bufs));
	if (lend__poison)
		bufs_poison(bufs, poison_idle);
	slot_return(slot, bufs);
}

static inline void
give_back(struct slot *slot)
{
	if (unlikely(slot->loan.flags) || unlikely(lend__poison))
		give_back_slowly(slot);
	else
		/* In place: nothing is put back, the mark goes. */
		slot_return(slot, NULL);
}

void
worker_slot_leave(struct lend_arena *arena, struct slot *slot)
{
	if (loan_is_out(&slot->loan)) {
		give_back(slot);
		count(&arena->abandoned);
	}
	if (slot->nested)
		private_abandon(arena, thread_self());
	slot->nested = 0;
	/* Relaxed: published by the push. */
	store_relaxed(&slot->loan.owner, NULL);
	stack_push(&arena->idle_slots, &slot->loan.node);
}

/* The slot's loan begins, with buffers that serve. */
static inline void
lend(const struct lend_arena *arena, struct slot *slot, struct bufs *bufs,
     struct lend_worker *loan)
{
	/* Relaxed, both: the owner's own; others look to refuse a return. */
	uint64_t number = number_next(load_relaxed(&slot->loan.number));

	store_relaxed(&slot->loan.number, number);
	slot_lend(slot, bufs);
	worker_fill(loan, arena, slot, bufs, number);
}

/*
 * What the buffers of a slot that is marked busy lack: they are not there,
 * too small, or poisoned.
 */
static __attribute__((noinline)) int
checkout_slowly(struct lend_arena *arena, struct slot *slot,
		struct bufs *bufs, const struct lend_req *req,
		struct lend_worker *loan)
{
	size_t before;
	int error;

	if (!bufs) {
		error = bufs_new(arena, &bufs);
		if (error) {
			slot_return(slot, NULL);
			return error;
		}
		if (!(slot->loan.flags & SLOT_SLOW))
			slot->loan.flags |= SLOT_FRESH;
	}
	before = bufs_bytes(bufs);
	error = bufs_grow(arena, bufs, req);
	slot_settle(slot, before, bufs_bytes(bufs));
	if (error) {
		slot_return(slot, bufs);
		return error;
	}
	if (lend__poison)
		bufs_poison(bufs, poison_lent);
	lend(arena, slot, bufs, loan);
	return 0;
}

static inline __attribute__((always_inline)) int
checkout(struct lend_arena *arena, struct slot *slot,
	 const struct lend_req *req, struct lend_worker *loan)
{
	struct bufs *bufs = slot_checkout(slot, &arena->trimmers);

	if (unlikely(!bufs) || unlikely(!bufs_cover(bufs, req)) ||
	    unlikely(lend__poison))
		return checkout_slowly(arena, slot, bufs, req, loan);
	lend(arena, slot, bufs, loan);
	return 0;
}

/* The thread has no slot here, or it is out. */
static __attribute__((noinline)) int
checkout_otherwise(struct lend_arena *arena, struct slot *slot,
		   const struct lend_req *req, struct lend_worker *loan)
{
	int error;

	if (!slot) {
		error = thread_attach(arena, &slot);
		if (!error)
			return checkout(arena, slot, req, loan);
		if (error != -ESRCH)
			return error;
	}
	error = private_checkout(arena, req, loan);
	if (!error && slot)
		slot->nested++;
	return error;
}

int
lend_worker_checkout(lend_arena *arena, const struct lend_req *req,
		     struct lend_worker *loan)
{
	struct slot *slot;

	if (unlikely(!arena) || unlikely(!req) || unlikely(!loan))
		return -EINVAL;
	slot = thread_slot(arena);
	if (unlikely(!slot) || unlikely(loan_is_out(&slot->loan)))
		return checkout_otherwise(arena, slot, req, loan);
	return checkout(arena, slot, req, loan);
}

/*
 * Whether the handle is of a loan that is out, and the caller's.  Slots and
 * private loans live as long as their arena, so a handle of this arena,
 * however old, may be followed.
 */
static inline bool
is_lent(const struct lend_arena *arena, const struct lend_worker *handle)
{
	const struct loan *loan = handle->place;

	/* Relaxed, all: where they match they are the caller's own stores. */
	return likely(handle->key == arena->key) &&
	       likely(handle->number == load_relaxed(&loan->number)) &&
	       likely(loan_is_out(loan)) &&
	       likely(load_relaxed(&loan->owner) == thread_self());
}

/* Why a handle is not is_lent(). */
static __attribute__((noinline)) int
refusal(const struct lend_arena *arena, const struct lend_worker *handle)
{
	const struct loan *loan = handle->place;

	if (handle->key == 0)
		return -EALREADY;
	if (handle->key != arena->key)
		return -EXDEV;
	/* Relaxed: out by another thread, or not: a glimpse decides. */
	return load_relaxed(&loan->number) == handle->number &&
	       loan_is_out(loan) ? -EPERM : -EALREADY;
}

static __attribute__((noinline)) int
return_private(struct lend_arena *arena, struct private_loan *private)
{
	struct slot *slot = thread_slot(arena);

	private_return(arena, private);
	if (slot)
		slot->nested--;
	return 0;
}

int
lend_worker_return(lend_arena *arena, struct lend_worker *loan)
{
	if (unlikely(!arena) || unlikely(!loan))
		return -EINVAL;
	if (unlikely(!is_lent(arena, loan)))
		return refusal(arena, loan);
	if (unlikely(loan->number & NUMBER_PRIVATE))
		return return_private(arena, loan->place);
	give_back(loan->place);
	return 0;
}

int
lend_worker_scatter_resize(lend_arena *arena, struct lend_worker *loan,
			   size_t length)
{
	struct growth growth = { 0 };
	struct slot *slot = NULL;
	struct bufs *bufs;
	size_t keep;
	int error;

	if (!arena || !loan)
		return -EINVAL;
	if (!is_lent(arena, loan))
		return refusal(arena, loan);
	if (loan->number & NUMBER_PRIVATE) {
		bufs = &((struct private_loan *)loan->place)->bufs;
	} else {
		slot = loan->place;
		bufs = slot_lent(slot);
	}
	keep = size_min(loan->scatter_length, buf_elements(&bufs->scatter));
	error = growth_plan_elements(&growth, &bufs->scatter, length, keep);
	if (!error)
		error = growth_run(slot ? arena : NULL, &growth);
	if (error)
		return error;
	if (slot) {
		slot->loan.flags |= SLOT_GROWN;
		slot->lent = bufs;
	}
	loan->scatter = buf_start(&bufs->scatter);
	loan->scatter_capacity = buf_elements(&bufs->scatter);
	loan->scatter_length = length;
	return 0;
}

struct guard {
	lend_arena *arena;
	struct lend_worker loan;
};

static void
guard_end(struct guard *guard)
{
	/* The callback may have returned the loan itself: no error here. */
	(void)lend_worker_return(guard->arena, &guard->loan);
}

int
lend_with_worker(lend_arena *arena, const struct lend_req *req,
		 lend_worker_fn *fn, void *ctx)
{
	/*
	 * A cleanup runs on a plain return and, compiled with -fexceptions,
	 * when an exception or a thread's forced unwinding passes.
	 */
	struct guard guard __attribute__((cleanup(guard_end)));
	int error;

	guard.arena = NULL;
	if (!fn)
		return -EINVAL;
	error = lend_worker_checkout(arena, req, &guard.loan);
	if (error)
		return error;
	guard.arena = arena;
	fn(&guard.loan, ctx);
	return 0;
}
