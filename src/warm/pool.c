/* SPDX-License-Identifier: MIT */
/* The pool, its claims and drains.  The protocol is in root.h. */
#include <errno.h>

#include "mem/backend.h"
#include "mem/init.h"
#include "warm/attempt.h"
#include "warm/pile.h"

/* Claim. */

static void
count_miss(const struct attempt *attempt, uint32_t at)
{
	const struct policy *policy = &attempt->thread->value->policy;

	stock_count(attempt->thread, STOCK_MISSES);
	if (at != POLICY_UNKNOWN)
		name_add(policy->entry[at].id, policy->entry[at].mark,
			 NAME_MISSES);
}

static int
claim(struct attempt *attempt, void **slot)
{
	struct policy *policy = &attempt->thread->value->policy;
	struct warm_node *top;

	for (;; root_lost(attempt)) {
		int error = attempt_look(attempt);
		uint32_t at;

		if (error)
			return error;
		at = attempt_find(attempt);
		if (at >= policy->listed || policy->entry[at].ready == 0) {
			if (!root_stands(attempt))
				continue;
			count_miss(attempt, at);
			return -ENOENT;
		}
		top = policy->entry[at].top;
		/* Acquire: as all that is read of the value. */
		top = policy_claim(policy, at, load_acquire(&top->below));
		if (attempt_settle(attempt))
			break;
	}
	*slot = top->slot;
	stock_node_give(&attempt->pool->stock, attempt->thread, top);
	stock_count(attempt->thread, STOCK_CLAIMS);
	return 0;
}

int
lend_warm_pool_claim(lend_warm_pool *pool, const char *id, void **slot)
{
	struct attempt attempt;
	int error;

	if (!pool || !id || !slot)
		return -EINVAL;
	error = attempt_begin(&attempt, pool, id);
	if (error)
		return error;
	error = claim(&attempt, slot);
	stock_leave(attempt.thread);
	return error;
}

/* Drain. */

/* Of one id, or of all; *list is what is handed back. */
static int
drain(struct attempt *attempt, bool all, struct warm_node **list)
{
	struct policy *policy = &attempt->thread->value->policy;
	struct policy_pile *pile = attempt->thread->pile;
	uint32_t piles;

	for (;; root_lost(attempt)) {
		int error = attempt_look(attempt);
		uint32_t at = error || all ? 0 : attempt_find(attempt);

		if (error)
			return error;
		piles = 0;
		if (at >= policy->listed) {
			if (root_stands(attempt))
				break;
			continue;
		}
		if (all) {
			piles = policy_drain_all(policy, pile);
		} else {
			pile[0] = policy_drain(policy, at);
			piles = 1;
		}
		if (attempt_settle(attempt))
			break;
	}
	while (piles > 0)
		*list = pile_reversed(pile[--piles].top, *list);
	return 0;
}

static int
drain_some(lend_warm_pool *pool, const char *id, lend_warm_slot_fn *drained,
	   void *ctx)
{
	struct warm_node *list = NULL;
	struct attempt attempt;
	int error = attempt_begin(&attempt, pool, id);

	if (error)
		return error;
	error = drain(&attempt, !id, &list);
	stock_leave(attempt.thread);
	pile_hand_back(pool, list, drained, ctx);
	return error;
}

int
lend_warm_pool_drain(lend_warm_pool *pool, const char *id,
		     lend_warm_slot_fn *drained, void *ctx)
{
	if (!pool || !id || !drained)
		return -EINVAL;
	return drain_some(pool, id, drained, ctx);
}

int
lend_warm_pool_drain_all(lend_warm_pool *pool, lend_warm_slot_fn *drained,
			 void *ctx)
{
	if (!pool || !drained)
		return -EINVAL;
	return drain_some(pool, NULL, drained, ctx);
}

/* The beginning and the end. */

int
lend_warm_pool_create(lend_warm_pool **made, size_t cap)
{
	lend_warm_pool *pool;
	uint32_t index;
	int error;

	if (!made || cap == 0 || cap > LEND_WARM_CAP_MAX)
		return -EINVAL;
	error = lend__init();
	if (error)
		return error;
	pool = pages_alloc(sizeof(*pool));
	if (!pool)
		return -ENOMEM;
	error = stock_init(&pool->stock, (uint32_t)cap);
	if (error) {
		pages_free(pool, sizeof(*pool));
		return error;
	}
	/* The first value: no ids, all zeroes. */
	error = stock_value_add(&pool->stock, &index);
	if (error) {
		stock_fini(&pool->stock);
		pages_free(pool, sizeof(*pool));
		return error;
	}
	/* Relaxed: nobody knows the pool yet. */
	store_relaxed(&pool->root, root_next(ROOT_NONE, index));
	*made = pool;
	return 0;
}

/* What the caller, who is alone, finds: the ids on the list, and each. */

static const _Atomic(uint64_t) *
alone_words(const lend_warm_pool *pool)
{
	/* Relaxed: alone. */
	return stock_words(&pool->stock,
			   root_index(load_relaxed(&pool->root)));
}

static uint32_t
alone_listed(const lend_warm_pool *pool)
{
	/* Relaxed: alone. */
	return (uint32_t)load_relaxed(&alone_words(pool)[0]);
}

static struct policy_entry
alone_entry(const lend_warm_pool *pool, uint32_t at)
{
	struct policy_entry entry;

	root_read_entry(&entry, alone_words(pool) + ROOT_HEADER +
				at * ROOT_ENTRY);
	return entry;
}

static bool
has_ready_slots(const lend_warm_pool *pool)
{
	for (uint32_t i = 0; i < alone_listed(pool); i++)
		if (alone_entry(pool, i).ready)
			return true;
	return false;
}

static void
free_pool(lend_warm_pool *pool)
{
	stock_fini(&pool->stock);
	pages_free(pool, sizeof(*pool));
}

int
lend_warm_pool_destroy(lend_warm_pool *pool)
{
	if (!pool)
		return 0;
	if (has_ready_slots(pool))
		return -EBUSY;
	free_pool(pool);
	return 0;
}

void
warm_pool_end(lend_warm_pool *pool, lend_warm_slot_fn *drained, void *ctx)
{
	struct warm_node *list = NULL;

	for (uint32_t i = alone_listed(pool); i-- > 0;)
		list = pile_reversed(alone_entry(pool, i).top, list);
	pile_hand_back(pool, list, drained, ctx);
	free_pool(pool);
}
