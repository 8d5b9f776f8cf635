/* SPDX-License-Identifier: MIT */
/* What a pool holds, at one moment. */
#include <errno.h>

#include "warm/attempt.h"

static void
count_value(const struct value *value, struct lend_warm_stats *stats)
{
	const struct policy *policy = &value->policy;

	stats->pooled = policy->listed;
	stats->in_flight = value->stray_fills;
	for (uint32_t i = 0; i < policy->known; i++) {
		stats->ready += policy->entry[i].ready;
		stats->in_flight += policy->entry[i].in_flight;
	}
}

int
lend_warm_pool_stats(lend_warm_pool *pool, struct lend_warm_stats *stats)
{
	struct attempt attempt;
	int error;

	if (!pool || !stats)
		return -EINVAL;
	error = attempt_begin(&attempt, pool, NULL);
	if (error)
		return error;
	while (!root_read(&attempt))
		root_lost(&attempt);
	memset(stats, 0, sizeof(*stats));
	count_value(attempt.thread->value, stats);
	stock_leave(attempt.thread);
	stats->claims = stock_total(&pool->stock, STOCK_CLAIMS);
	stats->misses = stock_total(&pool->stock, STOCK_MISSES);
	stats->evictions = stock_total(&pool->stock, STOCK_EVICTIONS);
	stats->rejected = stock_total(&pool->stock, STOCK_REJECTED);
	stats->thrash = stock_total(&pool->stock, STOCK_THRASH);
	return 0;
}

/* The id in the copy, or as a stray; false: it is unknown. */
static bool
find_known(const struct attempt *attempt, struct policy_entry *entry,
	   bool *pooled)
{
	const struct policy *policy = &attempt->thread->value->policy;
	uint32_t at = attempt_find(attempt);
	struct stray *stray;
	struct stray_leaf leaf;

	*pooled = at < policy->listed;
	if (at != POLICY_UNKNOWN) {
		*entry = policy->entry[at];
		return true;
	}
	stray = attempt_find_stray(attempt);
	if (!stray)
		return false;
	leaf = stray_read(stray);
	*entry = (struct policy_entry) {
		.id = leaf.name, .mark = leaf.mark, .claims = leaf.claims,
		.in_flight = leaf.in_flight & INT32_MAX,
	};
	return true;
}

int
lend_warm_pool_id_stats(lend_warm_pool *pool, const char *id,
			struct lend_warm_stats *stats)
{
	struct policy_entry entry = { .id = NULL };
	struct attempt attempt;
	bool known, pooled = false;
	int error;

	if (!pool || !id || !stats)
		return -EINVAL;
	error = attempt_begin(&attempt, pool, id);
	if (error)
		return error;
	do {
		error = attempt_look(&attempt);
		known = !error && find_known(&attempt, &entry, &pooled);
	} while (!error && !root_stands(&attempt));
	stock_leave(attempt.thread);
	if (error || !known)
		return error ? error : -ENOENT;
	*stats = (struct lend_warm_stats) {
		.ready = entry.ready, .in_flight = entry.in_flight,
		.pooled = pooled, .claims = entry.claims,
		.misses = name_read(entry.id, entry.mark, NAME_MISSES),
		.evictions = name_read(entry.id, entry.mark, NAME_EVICTIONS),
		.rejected = name_read(entry.id, entry.mark, NAME_REJECTED),
		.thrash = name_read(entry.id, entry.mark, NAME_THRASH),
	};
	return 0;
}
