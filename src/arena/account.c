/* SPDX-License-Identifier: MIT */
#include "arena/account.h"

#include "base/assert.h"

bool
account_reserve(struct lend_arena *arena, size_t bytes)
{
	size_t reserved, sum;

	if (arena->limit == 0)
		return true;
	/*
	 * Relaxed: the count is all that matters, and the CAS makes it exact;
	 * extents are handed over by other means.
	 */
	reserved = load_relaxed(&arena->reserved);
	do {
		if (__builtin_add_overflow(reserved, bytes, &sum) ||
		    sum > arena->limit)
			return false;
	} while (!cas_relaxed(&arena->reserved, &reserved, sum));
	return true;
}

void
account_release(struct lend_arena *arena, size_t bytes)
{
	size_t was;

	if (arena->limit == 0)
		return;
	/* Relaxed: as above. */
	was = fetch_sub_relaxed(&arena->reserved, bytes);
	lend_check(was >= bytes);
}
