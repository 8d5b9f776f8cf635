/* SPDX-License-Identifier: MIT */
#include "support/warm_table.h"

#include <check.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "support/fault.h"

struct warm_table warm;

void
warm_take_back(void *slot, void *ctx)
{
	ck_assert_ptr_eq(ctx, &warm.pool);
	ck_assert_uint_lt(warm.backs, WARM_TABLE_BACK);
	warm.back[warm.backs++] = (uintptr_t)slot;
}

void
warm_make(size_t cap)
{
	ck_assert_int_eq(lend_warm_pool_create(&warm.pool, cap), 0);
	warm.backs = 0;
}

void
warm_drain_all(void)
{
	warm.backs = 0;
	ck_assert_int_eq(lend_warm_pool_drain_all(warm.pool, warm_take_back,
						  &warm.pool), 0);
}

void
warm_end(void)
{
	warm_drain_all();
	ck_assert_int_eq(lend_warm_pool_destroy(warm.pool), 0);
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}

size_t
warm_begin(const char *id, size_t target)
{
	size_t spawn = 77;

	warm.backs = 0;
	ck_assert_int_eq(lend_warm_pool_begin_fill(warm.pool, id, target,
						   &spawn, warm_take_back,
						   &warm.pool), 0);
	return spawn;
}

bool
warm_offer(const char *id, uintptr_t slot)
{
	int result = lend_warm_pool_offer(warm.pool, id, (void *)slot);

	ck_assert(result == 0 || result == -ECANCELED);
	return result == 0;
}

uintptr_t
warm_claim(const char *id)
{
	void *slot = NULL;
	int result = lend_warm_pool_claim(warm.pool, id, &slot);

	ck_assert_int_eq(result, slot ? 0 : -ENOENT);
	return (uintptr_t)slot;
}

void
warm_abandon(const char *id)
{
	ck_assert_int_eq(lend_warm_pool_abandon_fill(warm.pool, id), 0);
}

void
warm_drain(const char *id)
{
	warm.backs = 0;
	ck_assert_int_eq(lend_warm_pool_drain(warm.pool, id, warm_take_back,
					      &warm.pool), 0);
}

void
warm_must_be_back(uintptr_t slot, ...)
{
	unsigned n = 0;
	va_list list;

	va_start(list, slot);
	for (; slot; slot = va_arg(list, uintptr_t)) {
		ck_assert_uint_lt(n, warm.backs);
		ck_assert_uint_eq(warm.back[n++], slot);
	}
	va_end(list);
	ck_assert_uint_eq(warm.backs, n);
}

struct lend_warm_stats
warm_stats(const char *id)
{
	struct lend_warm_stats stats;

	memset(&stats, 0xff, sizeof(stats));
	ck_assert_int_eq(id ? lend_warm_pool_id_stats(warm.pool, id, &stats)
			    : lend_warm_pool_stats(warm.pool, &stats), 0);
	return stats;
}

bool
warm_knows(const char *id)
{
	struct lend_warm_stats stats;
	int result = lend_warm_pool_id_stats(warm.pool, id, &stats);

	ck_assert(result == 0 || result == -ENOENT);
	return result == 0;
}

void
warm_fill(const char *id, size_t target, uintptr_t first)
{
	size_t spawn = warm_begin(id, target);

	ck_assert_uint_eq(warm.backs, 0);
	for (size_t i = 0; i < spawn; i++)
		ck_assert(warm_offer(id, first + i));
}
