/* SPDX-License-Identifier: MIT */
#include "arena/worker.h"

#include <errno.h>

#include "arena/buffer.h"
#include "arena/gate.h"
#include "arena/growth.h"
#include "arena/loan.h"
#include "arena/private.h"
#include "arena/thread.h"
#include "mem/poison.h"
#include "sync/stack.h"

#define HOT __attribute__((always_inline))
/* So that a hot path does not begin at the end of a line (0.2 ns). */
#define ALIGNED __attribute__((aligned(64)))
#define COLD __attribute__((noinline, cold))

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
	  const struct lend_req *req, bool compact)
{
	struct growth growth = { .compact = compact };
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
			      number_first() | NUMBER_OUT);
	}
	slot = (struct slot *)node;
	slot->nested = 0;
	/* Relaxed: others only compare it. */
	store_relaxed(&slot->loan.owner, thread_self());
	*found = slot;
	return 0;
}

/* The loan in the slot ends. */
static void
give_back(struct slot *slot)
{
	struct bufs *bufs = slot_lent(slot);
	/* What the scratch has gained during the loan. */
	size_t before = bufs_bytes(bufs);

	slot_settle(slot, before, bufs_sum(bufs));
	if (lend__poison)
		bufs_poison(bufs, poison_idle);
	slot_return(slot, bufs);
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
	buffers_leave(arena, slot);
	/* Relaxed: published by the push. */
	store_relaxed(&slot->loan.owner, NULL);
	stack_push(&arena->idle_slots, &slot->loan.node);
}

/* The number of the loan that begins in the slot. */
static inline uint64_t
next_loan(struct slot *slot)
{
	/* Relaxed, both: the owner's own; others look to refuse a return. */
	uint64_t number = number_next(load_relaxed(&slot->loan.number));

	store_relaxed(&slot->loan.number, number);
	return number;
}

/*
 * Makes idle buffers serve, and the account follow.  What they hold is the
 * arena's idle storage until they are lent: it goes where the limit leaves no
 * other room.
 */
static int
slot_grow(struct lend_arena *arena, struct slot *slot, struct bufs *bufs,
	  const struct lend_req *req)
{
	size_t before = bufs_bytes(bufs);
	int error = bufs_grow(arena, bufs, req, false);

	if (error == -EDQUOT)
		error = bufs_grow(arena, bufs, req, true);
	slot_settle(slot, before, bufs_bytes(bufs));
	return error;
}

/*
 * The slot is marked busy, and its buffers do not serve as they are: not
 * there, too small, taken by exchange, or poisoned.
 */
static COLD int
checkout_slowly(struct lend_arena *arena, struct slot *slot,
		struct bufs *bufs, const struct lend_req *req,
		struct lend_worker *loan)
{
	uint32_t flags = lend__poison ? SLOT_POISON : 0;
	int error;

	if (!bufs) {
		error = bufs_new(arena, &bufs);
		if (error) {
			slot_return(slot, NULL);
			return error;
		}
		flags |= SLOT_FRESH;
	}
	slot_lend(slot, bufs, flags);
	error = slot_grow(arena, slot, bufs, req);
	if (error) {
		slot_return(slot, bufs);
		return error;
	}
	if (lend__poison)
		bufs_poison(bufs, poison_lent);
	worker_fill(loan, arena, slot, bufs, next_loan(slot));
	return 0;
}

/* The thread has no slot here, or it is out. */
static COLD int
checkout_otherwise(struct lend_arena *arena, struct slot *slot,
		   const struct lend_req *req, struct lend_worker *loan)
{
	int error;

	if (!req || !loan)
		return -EINVAL;
	if (!slot) {
		error = thread_attach(arena, &slot);
		if (!error)
			return checkout_slowly(arena, slot,
					       slot_checkout(slot,
							     &arena->trimmers),
					       req, loan);
		if (error != -ESRCH)
			return error;
	}
	error = private_checkout(arena, req, loan);
	if (!error && slot)
		slot->nested++;
	return error;
}

/* Inlined into both forms, so that neither pays for a second call. */
static inline HOT int
checkout(lend_arena *arena, const struct lend_req *req,
	 struct lend_worker *loan)
{
	const struct thread_entry *entry;
	struct slot *slot;
	struct bufs *bufs;

	if (unlikely(!arena))
		return -EINVAL;
	entry = thread_entry(arena);
	if (unlikely(!entry))
		return checkout_otherwise(arena, NULL, req, loan);
	slot = entry->slot;
	if (unlikely(!req) || unlikely(loan_is_out(&slot->loan)) ||
	    unlikely(!loan))
		return checkout_otherwise(arena, slot, req, loan);
	if (unlikely(!slot_begin(slot, &arena->trimmers)))
		return checkout_slowly(arena, slot, slot_take(slot), req,
				       loan);
	bufs = slot_in_place(slot);
	if (unlikely(!bufs) || unlikely(lend__poison) ||
	    unlikely(buf_bytes(&bufs->a) < req->a_bytes) ||
	    unlikely(buf_bytes(&bufs->tile) < req->tile_bytes) ||
	    unlikely(buf_elements(&bufs->scatter) < req->worker_scatter))
		return checkout_slowly(arena, slot, bufs, req, loan);
	worker_fill(loan, arena, slot, bufs, next_loan(slot));
	return 0;
}

ALIGNED int
lend_worker_checkout(lend_arena *arena, const struct lend_req *req,
		     struct lend_worker *loan)
{
	return checkout(arena, req, loan);
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
static COLD int
refusal(const struct lend_arena *arena, const struct lend_worker *handle)
{
	const struct loan *loan = handle->place;

	if (handle->key == 0)
		return -EALREADY;
	if (handle->key != arena->key)
		return -EXDEV;
	/*
	 * Acquire: pairs with the release in private_checkout.  Where another
	 * thread has the object again, its number is seen with the mark.
	 */
	if (!load_acquire(&loan->busy))
		return -EALREADY;
	/* Relaxed: as above. */
	return load_relaxed(&loan->number) == handle->number ? -EPERM :
	       -EALREADY;
}

/* The loan says how: private, or a slot's whose buffers need a hand. */
static COLD int
return_slowly(struct lend_arena *arena, struct loan *loan)
{
	struct slot *slot;

	if (!(loan->flags & LOAN_PRIVATE)) {
		give_back((struct slot *)loan);
		return 0;
	}
	private_return(arena, (struct private_loan *)loan);
	slot = thread_slot(arena);
	if (slot)
		slot->nested--;
	return 0;
}

static inline HOT int
give_loan_back(lend_arena *arena, struct lend_worker *loan)
{
	if (unlikely(!arena) || unlikely(!loan))
		return -EINVAL;
	if (unlikely(!is_lent(arena, loan)))
		return refusal(arena, loan);
	if (unlikely(((struct loan *)loan->place)->flags))
		return return_slowly(arena, loan->place);
	/* In place: nothing is put back, the mark goes. */
	slot_return(loan->place, NULL);
	return 0;
}

ALIGNED int
lend_worker_return(lend_arena *arena, struct lend_worker *loan)
{
	return give_loan_back(arena, loan);
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
	if (error)
		return error;
	error = growth_run(slot ? arena : NULL, &growth);
	/* After a failure too: see growth.h. */
	if (slot && growth.steps)
		slot_lend(slot, bufs, SLOT_GROWN);
	loan->scatter = buf_start(&bufs->scatter);
	loan->scatter_capacity = buf_elements(&bufs->scatter);
	if (!error)
		loan->scatter_length = length;
	return error;
}

struct guard {
	lend_arena *arena;
	struct lend_worker loan;	/* the callback's to write to */
	struct lend_worker kept;
};

static inline HOT void
guard_end(struct guard *guard)
{
	/* The callback may have returned the loan itself: no error here. */
	(void)give_loan_back(guard->arena, &guard->kept);
}

ALIGNED int
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
	error = checkout(arena, req, &guard.loan);
	if (error)
		return error;
	guard.arena = arena;
	guard.kept.place = guard.loan.place;
	guard.kept.key = guard.loan.key;
	guard.kept.number = guard.loan.number;
	fn(&guard.loan, ctx);
	return 0;
}
