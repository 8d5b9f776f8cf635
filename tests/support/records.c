/* SPDX-License-Identifier: MIT */
#include "support/records.h"

#include <check.h>

#define RECORDS_MAX 65536

static struct lend_trace_record kept[RECORDS_MAX];
static size_t kept_n;

static void
keep(const struct lend_trace_record *record, void *ctx)
{
	(void)ctx;
	if (kept_n < RECORDS_MAX)
		kept[kept_n] = *record;
	kept_n++;
}

size_t
taken(lend_arena *arena)
{
	ssize_t n;

	kept_n = 0;
	n = lend_trace_take(arena, keep, NULL);
	ck_assert_int_ge(n, 0);
	ck_assert_uint_eq(kept_n, (size_t)n);
	ck_assert_uint_le(kept_n, RECORDS_MAX);
	return kept_n;
}

const struct lend_trace_record *
taken_record(size_t i)
{
	ck_assert_uint_lt(i, kept_n);
	return &kept[i];
}
