/* SPDX-License-Identifier: MIT */
#include "support/flat.h"

#include <check.h>
#include <stdbool.h>

#include "support/fault.h"
#include "support/process.h"
#include "support/scale.h"

#define STACK_BYTES ((size_t)256 << 10)

static struct flat
measure(void)
{
	struct fault_counts counts = fault_counts();
	struct flat flat = {
		.extents = counts.extent_bytes,
		.pages = counts.pages_bytes,
		.mapped = process_mapped(),
		.resident = process_resident(),
	};

	return flat;
}

/* Tools keep books of their own in the process. */
static bool
under_a_tool(void)
{
	return scale(1000) < 1000;
}

void
flat_begin(struct flat *flat)
{
	*flat = measure();
}

void
flat_end(const struct flat *flat)
{
	struct flat now = measure();

	ck_assert_uint_eq(now.extents, flat->extents);
	ck_assert_uint_eq(now.pages, flat->pages);
	if (under_a_tool())
		return;
	ck_assert_uint_le(now.mapped, flat->mapped + FLAT_MAPPED);
	ck_assert_uint_le(now.resident, flat->resident + FLAT_RESIDENT);
}

pthread_t
flat_thread(void *(*fn)(void *arg), void *arg)
{
	pthread_attr_t attr;
	pthread_t thread;

	ck_assert_int_eq(pthread_attr_init(&attr), 0);
	ck_assert_int_eq(pthread_attr_setstacksize(&attr, STACK_BYTES), 0);
	ck_assert_int_eq(pthread_create(&thread, &attr, fn, arg), 0);
	pthread_attr_destroy(&attr);
	return thread;
}
