/* SPDX-License-Identifier: MIT */
/* What becomes of fills: begun, offered, abandoned.  See root.h. */
#include <errno.h>

#include "warm/attempt.h"
#include "warm/pile.h"

/* Begin. */

/*
 * What an unknown id begins as: a stray, which is taken from the strays, or a
 * new name, which is made once.
 */
static int
make_fresh(struct attempt *attempt, struct name **name, uint64_t *mark,
	   struct policy_entry *fresh)
{
	struct stray *stray = attempt_find_stray(attempt);

	memset(fresh, 0, sizeof(*fresh));
	if (stray) {
		struct stray_leaf leaf = stray_read(stray);
		uint32_t in_flight = leaf.in_flight;

		fresh->id = leaf.name;
		fresh->mark = leaf.mark;
		fresh->claims = leaf.claims;
		fresh->in_flight = in_flight & INT32_MAX;
		leaf.in_flight = 0;
		return attempt_put_stray(attempt, &leaf, in_flight);
	}
	if (!*name) {
		*name = stock_name_take(&attempt->pool->stock,
					attempt->key.length);
		if (!*name)
			return -ENOMEM;
		*mark = name_write(*name, &attempt->key);
	}
	fresh->id = *name;
	fresh->mark = *mark;
	return 0;
}

/* Nothing would change: most recent already, and all that is wanted. */
static bool
is_full(const struct policy *policy, uint32_t at, uint32_t target)
{
	const struct policy_entry *entry = &policy->entry[at];

	return at < policy->listed && at == policy->listed - 1 &&
	       (uint64_t)entry->ready + entry->in_flight >= target;
}

static int
begin_fill(struct attempt *attempt, uint32_t target, struct policy_fill *fill,
	   bool *used, struct name **name)
{
	struct policy *policy = &attempt->thread->value->policy;
	struct policy_entry fresh = { .id = NULL };
	uint64_t mark = 0;

	for (;; root_lost(attempt)) {
		int error = attempt_look(attempt);
		uint32_t at = error ? 0 : attempt_find(attempt);

		if (!error && at == POLICY_UNKNOWN)
			error = make_fresh(attempt, name, &mark, &fresh);
		if (error == -ESTALE)
			continue;
		if (error)
			return error;
		if (is_full(policy, at, target)) {
			if (root_stands(attempt))
				return 0;
			continue;
		}
		policy_begin(policy, at, &fresh, target, fill);
		*used = at == POLICY_UNKNOWN && fresh.id == *name;
		if (attempt_settle(attempt))
			break;
		*used = false;
		memset(fill, 0, sizeof(*fill));
	}
	if (fill->thrash) {
		const struct policy_entry *entry =
			&policy->entry[policy->listed - 1];

		stock_count(attempt->thread, STOCK_THRASH);
		name_add(entry->id, entry->mark, NAME_THRASH);
	}
	if (fill->evicted) {
		stock_count(attempt->thread, STOCK_EVICTIONS);
		name_add(fill->evicted, fill->mark, NAME_EVICTIONS);
	}
	return 0;
}

int
lend_warm_pool_begin_fill(lend_warm_pool *pool, const char *id, size_t target,
			  size_t *spawn, lend_warm_slot_fn *evicted, void *ctx)
{
	struct policy_fill fill = { .spawn = 0 };
	struct attempt attempt;
	struct name *name = NULL;
	bool used = false;
	int error;

	if (!pool || !id || !spawn || !evicted)
		return -EINVAL;
	if (target > LEND_WARM_TARGET_MAX)
		return -EOVERFLOW;
	*spawn = 0;
	if (target == 0)
		return 0;
	error = attempt_begin(&attempt, pool, id);
	if (error)
		return error;
	error = begin_fill(&attempt, (uint32_t)target, &fill, &used, &name);
	if (name && !used)
		stock_name_give(&pool->stock, name);
	stock_leave(attempt.thread);
	*spawn = fill.spawn;
	pile_hand_back(pool, pile_reversed(fill.pile.top, NULL), evicted, ctx);
	return error;
}

/* Offer and abandon. */

/* One fill less of a stray.  *gone: the name that nothing leads to then. */
static int
end_stray_fill(struct attempt *attempt, struct stray *stray,
	       struct name **gone)
{
	struct stray_leaf leaf = stray_read(stray);
	uint32_t in_flight = leaf.in_flight;

	if (in_flight == 0)
		return -ESTALE;
	leaf.in_flight--;
	*gone = leaf.in_flight == 0 ? leaf.name : NULL;
	return attempt_put_stray(attempt, &leaf, in_flight);
}

/*
 * The end of a fill, with a slot in `node` or without (null).  1: the slot is
 * ready, 0: it is not, or there is none.
 */
static int
end_fill(struct attempt *attempt, struct warm_node *node)
{
	struct policy *policy = &attempt->thread->value->policy;
	struct policy_entry ended = { .id = NULL };
	struct name *gone = NULL;
	bool ready = false;

	for (;; root_lost(attempt)) {
		int error = attempt_look(attempt);
		uint32_t at = error ? 0 : attempt_find(attempt), off = 0;
		struct stray *stray = NULL;
		void *below = NULL;

		if (error)
			return error;
		gone = NULL;
		if (at == POLICY_UNKNOWN)
			stray = attempt_find_stray(attempt);
		if (stray)
			error = end_stray_fill(attempt, stray, &gone);
		else if (at >= policy->listed &&
			 (at == POLICY_UNKNOWN ||
			  policy->entry[at].in_flight == 0) &&
			 root_stands(attempt))
			break;	/* nothing changes */
		if (error == -ESTALE)
			continue;
		if (error)
			return error;
		if (at != POLICY_UNKNOWN)
			ended = policy->entry[at];
		if (!node)
			policy_abandon(policy, at, &off);
		else if ((ready = policy_offer(policy, at, node, &below, &off)))
			/* Release: as all that can be read of the value. */
			store_release(&node->below, (struct warm_node *)below);
		if (attempt_settle(attempt))
			break;
		ready = false;
	}
	if (gone)
		stock_name_give(&attempt->pool->stock, gone);
	if (node && !ready) {
		stock_count(attempt->thread, STOCK_REJECTED);
		if (ended.id)
			name_add(ended.id, ended.mark, NAME_REJECTED);
	}
	return ready;
}

int
lend_warm_pool_offer(lend_warm_pool *pool, const char *id, void *slot)
{
	struct attempt attempt;
	struct warm_node *node;
	int result;

	if (!pool || !id || !slot)
		return -EINVAL;
	result = attempt_begin(&attempt, pool, id);
	if (result)
		return result;
	node = stock_node_take(&pool->stock, attempt.thread);
	if (node) {
		node->slot = slot;
		result = end_fill(&attempt, node);
		if (result != 1)
			stock_node_give(&pool->stock, attempt.thread, node);
	} else {
		result = -ENOMEM;
	}
	stock_leave(attempt.thread);
	if (result < 0)
		return result;
	return result ? 0 : -ECANCELED;
}

int
lend_warm_pool_abandon_fill(lend_warm_pool *pool, const char *id)
{
	struct attempt attempt;
	int error;

	if (!pool || !id)
		return -EINVAL;
	error = attempt_begin(&attempt, pool, id);
	if (error)
		return error;
	error = end_fill(&attempt, NULL);
	stock_leave(attempt.thread);
	return error;
}
