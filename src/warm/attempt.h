/* SPDX-License-Identifier: MIT */
/*
 * What the operations of the pool share.  Each is a loop of attempts, which
 * root.h tells:
 *
 *	look		read the root's value, shed what has to go first
 *	find		the id in it, or among the strays
 *	(policy)	what the operation does, on the copy
 *	settle		install it; give back what it replaced, or what was
 *			made in vain
 */
#ifndef LEND_WARM_ATTEMPT_H
#define LEND_WARM_ATTEMPT_H

#include <errno.h>

#include "warm/root.h"

/* What has left the list a turn ago goes to the strays, or for good. */
int attempt_shed(struct attempt *attempt);

/*
 * For the calling thread; `id` may be null.  stock_leave(attempt->thread) when
 * done.  Errors: -ENOMEM.
 */
static inline int
attempt_begin(struct attempt *attempt, lend_warm_pool *pool, const char *id)
{
	attempt->pool = pool;
	attempt->lost = 0;
	attempt->thread = stock_enter(&pool->stock);
	if (!attempt->thread)
		return -ENOMEM;
	root_step_back(pool, attempt->thread);
	if (id)
		name_key(&attempt->key, id);
	return 0;
}

/*
 * Reads a value from which nothing is to be shed.
 * Errors: -ENOMEM.
 */
static inline int
attempt_look(struct attempt *attempt)
{
	for (;;) {
		int error;

		if (unlikely(!root_read(attempt))) {
			root_lost(attempt);
			continue;
		}
		if (likely(!policy_sheds(&attempt->thread->value->policy)))
			return 0;
		error = attempt_shed(attempt);
		if (error)
			return error;
	}
}

/* The id's entry in the copy, or POLICY_UNKNOWN. */
static inline uint32_t
attempt_find(const struct attempt *attempt)
{
	const struct policy *policy = &attempt->thread->value->policy;

	for (uint32_t i = 0; i < policy->known; i++) {
		const struct policy_entry *entry = &policy->entry[i];

		if (name_mark_fits(entry->mark, attempt->key.hash) &&
		    name_is(entry->id, &attempt->key))
			return i;
	}
	return POLICY_UNKNOWN;
}

/* The id among the strays; null: it is unknown altogether. */
static inline struct stray *
attempt_find_stray(const struct attempt *attempt)
{
	return stray_find(attempt->thread->value->strays, &attempt->key);
}

/*
 * Puts the leaf among the strays of the copy, or takes it out where it has no
 * fills in flight; it had `before`.  At most once an attempt.
 * Errors, after which there is nothing to settle: -ESTALE (the root has moved:
 * start anew), -ENOMEM (also where a hundred ids have one hash).
 */
int attempt_put_stray(struct attempt *attempt, const struct stray_leaf *leaf,
		      uint32_t before);

/* Installs the copy; false: the root has moved, and nothing has changed. */
bool attempt_settle(struct attempt *attempt);

#endif
