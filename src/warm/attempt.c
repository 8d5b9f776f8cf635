/* SPDX-License-Identifier: MIT */
#include "warm/attempt.h"

#include <errno.h>

/* The strays' nodes come from the pool's stock. */
static struct stray *
stray_source_stock(void *ctx)
{
	return stock_stray_take(ctx);
}

static void
give_strays(struct stock *stock, struct stray *const *stray, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		stock_stray_give(stock, stray[i]);
}

bool
attempt_settle(struct attempt *attempt)
{
	struct stock *stock = &attempt->pool->stock;
	struct stray_change *change = &attempt->thread->change;
	bool done = root_install(attempt);

	if (done)
		give_strays(stock, change->old, change->dropped);
	else
		give_strays(stock, change->fresh, change->made);
	change->made = change->dropped = 0;
	return done;
}

int
attempt_put_stray(struct attempt *attempt, const struct stray_leaf *leaf,
		  uint32_t before)
{
	struct stock *stock = &attempt->pool->stock;
	struct stray_change *change = &attempt->thread->change;
	struct value *value = attempt->thread->value;
	int error = stray_put(&value->strays, leaf, change,
			      stray_source_stock, stock);

	if (error) {
		/* It may have been changed in part. */
		attempt->thread->copy_of = ROOT_NONE;
		give_strays(stock, change->fresh, change->made);
		change->made = change->dropped = 0;
		return root_stands(attempt) ? -ENOMEM : -ESTALE;
	}
	value->stray_fills += leaf->in_flight;
	value->stray_fills -= before;
	return 0;
}

int
attempt_shed(struct attempt *attempt)
{
	struct value *value = attempt->thread->value;
	struct policy_entry entry = policy_shed(&value->policy);
	struct name *name = entry.id;
	int error = 0;

	if (entry.in_flight) {
		struct stray_leaf leaf = {
			.name = name, .mark = entry.mark,
			.claims = entry.claims, .in_flight = entry.in_flight,
			/* Acquire: as all that is read of a name. */
			.hash = load_acquire(&name->hash),
		};

		error = attempt_put_stray(attempt, &leaf, 0);
	}
	if (!error && attempt_settle(attempt) && entry.in_flight == 0)
		stock_name_give(&attempt->pool->stock, name);
	return error == -ESTALE ? 0 : error;
}
