/* SPDX-License-Identifier: MIT */
/*
 * A lock-free LIFO of registry objects, with a version in its head.
 *
 *   head  63                  24 23            0
 *         [ version (40 bits) ][ index + 1, 0: empty ]
 *
 *   node  off -- push --> on        its pusher owned it until then
 *         on  -- pop  --> off       its popper owns it from then
 *
 * Why it is right.  A popper reads the head h, then the link of the node that
 * h names, then swings the head from h to that link.  In between the node may
 * have been popped and pushed again (ABA), so that the link is stale.  Every
 * push and pop raises the version, so the swing from h fails then.  40 bits
 * of it take hours to wrap at a few nanoseconds an operation, all within one
 * popper's two instructions; 32 would take minutes.  The stale read itself is
 * harmless: registry objects are type-stable, the link is atomic.
 *
 * Order.  A push releases what its owner wrote to the object, a pop acquires
 * it.  Between them there may be any number of other pushes and pops: all of
 * them are read-modify-writes of the head, so they carry the release on.
 *
 * A node may be pushed again at once; no grace period is involved (liburcu's
 * cds_lfs would need one).
 *
 * Progress: lock-free; each failed CAS means that another one succeeded.
 */
#ifndef LEND_SYNC_STACK_H
#define LEND_SYNC_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/atomic.h"
#include "base/os.h"
#include "base/util.h"
#include "sync/registry.h"

#define STACK_INDEX_BITS 24
/* The model's mutants take the version away, or most of it. */
#ifndef STACK_VERSION_BITS
#define STACK_VERSION_BITS 40
#endif

/* On its own lines: under contention the head travels between processors. */
struct stack {
	_Alignas(FALSE_SHARING) _Atomic(uint64_t) head;
};

static inline uint64_t
stack_index(uint64_t head)
{
	return head & (((uint64_t)1 << STACK_INDEX_BITS) - 1);
}

/* The head that follows `head` when it shall name `index` (plus one). */
static inline uint64_t
stack_next(uint64_t head, uint64_t index)
{
	uint64_t version = (head >> STACK_INDEX_BITS) + 1;

	version &= ((uint64_t)1 << STACK_VERSION_BITS) - 1;
	return version << STACK_INDEX_BITS | index;
}

/*
 * After a CAS that failed: lets the thread that won go on for the length of a
 * few operations, instead of taking the line from it at once.  Two threads
 * that take and return in a bare loop: 25 ns an operation instead of 45.  It
 * waits for nobody: the next try follows whatever the other does.
 */
#ifndef STACK_BACK_OFF
#define STACK_BACK_OFF() do { \
	for (int pause_ = 0; pause_ < 10; pause_++) \
		os_cpu_relax(); \
} while (0)
#endif

/*
 * One try; false: another push or pop came in between.  Weak CASes that fail
 * for nothing are no such thing, and are done again.
 */
static inline bool
stack_try_push(struct stack *stack, struct node *node)
{
	/* Relaxed: only a guess, which the CAS verifies. */
	uint64_t head = load_relaxed(&stack->head), seen = head;

	/* Relaxed: published by the release of the CAS. */
	store_relaxed(&node->next, (uint32_t)stack_index(head));
	/* Release: pairs with the acquires in stack_try_pop. */
	while (unlikely(!cas_release_relaxed(&stack->head, &seen,
					     stack_next(head,
							node->index + 1))))
		if (seen != head)
			return false;
	return true;
}

/*
 * The same.  True: *node is the most recently pushed one, now the caller's,
 * or null: it was empty.  False: *node is null.
 */
static inline bool
stack_try_pop(struct stack *stack, const struct registry *registry,
	      struct node **node)
{
	/* Acquire: the link of the node that it names is there. */
	uint64_t head = load_acquire(&stack->head), seen = head;
	struct node *top;
	uint32_t next;

	*node = NULL;
	if (stack_index(head) == 0)
		return true;
	top = registry_at(registry, (uint32_t)stack_index(head) - 1);
	/* Relaxed: if it is stale, the version has moved on. */
	next = load_relaxed(&top->next);
	/*
	 * Acquire: pairs with the release in stack_try_push.  Release: pairs
	 * with the acquire of who looks whether the stack is empty, cells.h.
	 */
	while (unlikely(!cas_acq_rel_acquire(&stack->head, &seen,
					     stack_next(head, next))))
		if (seen != head)
			return false;
	*node = top;
	return true;
}

static inline void
stack_push(struct stack *stack, struct node *node)
{
	while (unlikely(!stack_try_push(stack, node)))
		STACK_BACK_OFF();
}

/* The most recently pushed node, now the caller's; null: empty. */
static inline struct node *
stack_pop(struct stack *stack, const struct registry *registry)
{
	struct node *node;

	while (unlikely(!stack_try_pop(stack, registry, &node)))
		STACK_BACK_OFF();
	return node;
}

/* Forgets all nodes.  The caller is alone. */
static inline void
stack_reset(struct stack *stack)
{
	/* Relaxed: alone.  The version goes on. */
	store_relaxed(&stack->head, stack_next(load_relaxed(&stack->head), 0));
}

#endif
