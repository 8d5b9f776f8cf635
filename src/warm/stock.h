/* SPDX-License-Identifier: MIT */
/*
 * The memory of a warm pool: everything type-stable, found again by its owner,
 * freed with the pool.
 *
 *   values    buffers for the pool's value, by index; one is the root's, every
 *             thread has a spare one
 *   nodes     one for each ready slot; threads keep some at hand
 *   strays, names
 *
 * A thread's record is found by a small table in thread-local storage.  It is
 * the thread's own while `owner` says so, and is handed on when the thread
 * ends, so there are never more than threads at once.  What a record holds
 * is so never waited for: a thread that is stopped keeps its own spare alone.
 *
 * fork(2): the child's one thread goes on with its records; those of the
 * threads that are gone stay theirs, and so lost until the pool ends, as they
 * may have been caught in any state.
 */
#ifndef LEND_WARM_STOCK_H
#define LEND_WARM_STOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/atomic.h"
#include "sync/registry.h"
#include "sync/stack.h"
#include "warm/name.h"
#include "warm/policy.h"
#include "warm/stray.h"

/* A ready slot, in the pile of its id. */
struct warm_node {
	struct node node;
	_Atomic(struct warm_node *) below;	/* released; acquired */
	void *slot;			/* its owner's; not read while ready */
	struct warm_node *at_hand;	/* its owner's: the next one */
};

/* The pool's value as plain data: what a thread works on. */
struct value {
	struct stray *strays;
	uint64_t stray_fills;		/* in flight, of all strays */
	struct policy policy;		/* the last one: its length varies */
};

/* Totals: added by the record's owner alone, read by any thread. */
enum stock_count { STOCK_CLAIMS, STOCK_MISSES, STOCK_EVICTIONS,
		   STOCK_REJECTED, STOCK_THRASH, STOCK_COUNTS };

struct stock_thread {
	struct stock_thread *next;	/* constant once in the list */
	size_t bytes;			/* constant */
	_Atomic(const void *) owner;	/* null: to be had */
	_Atomic(uint64_t) count[STOCK_COUNTS];
	/* The rest is the owner's. */
	bool transient;			/* given up at the operation's end */
	uint32_t spare;			/* a buffer of values */
	uint64_t copy_of;		/* the root whose value it has */
	uint64_t pleas_heard;		/* stepped back for these */
	uint32_t nodes;			/* at hand */
	struct warm_node *at_hand;
	struct stray_change change;
	struct policy_pile *pile;	/* cap of them */
	struct value *value;
};

struct stock {
	uint64_t key;		/* constant: never used again */
	uint32_t cap;		/* constant */
	LIST_ENTRY(stock) link;	/* guarded by stocks_lock, stock.c */
	struct registry values, nodes, strays, names;
	_Atomic(struct stock_thread *) threads; /* pushed, never popped */
	struct stack free_nodes, free_strays, free_names[NAME_CLASSES];
};

/* Errors: -ENOMEM, -EAGAIN (no thread key). */
int stock_init(struct stock *stock, uint32_t cap);
/* The caller is alone. */
void stock_fini(struct stock *stock);

/* Pools that a thread finds its record of at once. */
#define STOCK_WAYS 4

struct stock_way {
	uint64_t key;		/* of the stock; 0: empty */
	struct stock_thread *thread;
};

extern _Thread_local struct stock_way lend__warm_ways[STOCK_WAYS]
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Off the fast way: the thread's first call, or one of many pools. */
struct stock_thread *stock_enter_anew(struct stock *stock);
void stock_leave_for_good(struct stock_thread *thread);

/* The calling thread's record; null: no memory.  stock_leave when done. */
static inline struct stock_thread *
stock_enter(struct stock *stock)
{
	const struct stock_way *way = &lend__warm_ways[stock->key %
						       STOCK_WAYS];

	return likely(way->key == stock->key) ? way->thread
					      : stock_enter_anew(stock);
}

static inline void
stock_leave(struct stock_thread *thread)
{
	if (unlikely(thread->transient))
		stock_leave_for_good(thread);
}

/*
 * A new buffer.  Errors: -ENOMEM, -EAGAIN (2^20 of them).
 */
int stock_value_add(struct stock *stock, uint32_t *index);

struct value_buffer {
	struct node node;
	_Atomic(uint64_t) *word;	/* constant once the root named it */
};

static inline _Atomic(uint64_t) *
stock_words(const struct stock *stock, uint32_t index)
{
	const struct value_buffer *buffer = registry_at(&stock->values, index);

	return buffer->word;
}

/* Null: no memory. */
struct warm_node *stock_node_take(struct stock *stock,
				  struct stock_thread *thread);
void stock_node_give(struct stock *stock, struct stock_thread *thread,
		     struct warm_node *node);
/* Without a record at hand. */
void stock_node_release(struct stock *stock, struct warm_node *node);
struct stray *stock_stray_take(struct stock *stock);
void stock_stray_give(struct stock *stock, struct stray *stray);
struct name *stock_name_take(struct stock *stock, size_t length);
void stock_name_give(struct stock *stock, struct name *name);

static inline void
stock_count(struct stock_thread *thread, enum stock_count which)
{
	/* Relaxed: one writer; a reader may be late. */
	store_relaxed(&thread->count[which],
		      load_relaxed(&thread->count[which]) + 1);
}

uint64_t stock_total(const struct stock *stock, enum stock_count which);

#endif
