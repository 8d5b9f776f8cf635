/* SPDX-License-Identifier: MIT */
/*
 * fork(2) and plain buffers: what is out, whoever has it, is out in the child;
 * what waited in any cache serves again.
 */
#include "lend/buffer.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>

#include "lend/lend.h"
#include "support/buffers.h"
#include "support/crew.h"
#include "support/demand.h"
#include "support/family.h"
#include "support/pattern.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define KIB ((size_t)1024)
#define OTHERS 3
#define BYTES (20 * KIB)

struct others {
	struct crew crew;
	lend_arena *arena;
	void *own;
	void *buffer[OTHERS];
	_Atomic(int) over;
};

static void *
must_borrow(lend_arena *arena, size_t bytes)
{
	void *buffer = NULL;

	demand(lend_buffer_borrow(arena, bytes, &buffer) == 0);
	return buffer;
}

static void
must_return(void *buffer)
{
	demand(lend_buffer_return(buffer) == 0);
}

/* One out, one idle in the own cache. */
static void
lend_and_wait(size_t index, void *ctx)
{
	struct others *others = ctx;
	void *idle = must_borrow(others->arena, BYTES);

	others->buffer[index] = must_borrow(others->arena, BYTES);
	pattern_write(others->buffer[index], BYTES, index);
	crew_step(&others->crew);
	must_return(idle);
	crew_step(&others->crew);
	crew_step(&others->crew);
	demand(pattern_holds(others->buffer[index], BYTES, index));
	must_return(others->buffer[index]);
}

static void
all_stay_out(void *arg)
{
	struct others *others = arg;
	lend_arena *arena = others->arena;
	struct lend_stats stats = stats_now(arena);
	void *again[OTHERS + 1];
	uint64_t growths = stats.growths;

	demand_accounts();
	demand(stats.abandoned == 0);
	demand(stats.buffers_out == OTHERS + 1);
	demand(stats.buffers_idle == OTHERS + 1);
	demand(capacity_of(others->own) == BYTES);
	/* All that is idle serves, and nothing else. */
	for (int i = 0; i < OTHERS + 1; i++) {
		again[i] = must_borrow(arena, BYTES);
		pattern_write(again[i], BYTES, 9);
	}
	demand(stats_now(arena).growths == growths);
	demand(stats_now(arena).buffers_idle == 0);
	demand_accounts();
	demand(pattern_holds(others->own, BYTES, 77));
	must_return(others->own);
	for (int i = 0; i < OTHERS + 1; i++)
		must_return(again[i]);
	/* The others' are as they were, and may be returned here too. */
	for (int i = 0; i < OTHERS; i++) {
		demand(lend_arena_destroy(arena) == -EBUSY);
		demand(pattern_holds(others->buffer[i], BYTES, (size_t)i));
		must_return(others->buffer[i]);
		demand(lend_buffer_return(others->buffer[i]) == -EALREADY);
	}
	demand_accounts();
	demand_end(arena);
}

START_TEST(others_buffers_stay_out)
{
	struct others others = { .arena = NULL };
	void *idle;

	ck_assert_int_eq(lend_arena_create(&others.arena, NULL), 0);
	others.own = borrowed(others.arena, BYTES);
	pattern_write(others.own, BYTES, 77);
	idle = borrowed(others.arena, BYTES);
	crew_start(&others.crew, OTHERS, lend_and_wait, &others);
	crew_step(&others.crew);
	crew_step(&others.crew);
	given_back(idle);
	ck_assert_int_eq(family_fork(all_stay_out, &others), 0);
	/* To the parent nothing has happened. */
	ck_assert_uint_eq(stats_now(others.arena).abandoned, 0);
	ck_assert_uint_eq(stats_now(others.arena).buffers_out, 1 + OTHERS);
	crew_step(&others.crew);
	crew_join(&others.crew);
	given_back(others.own);
	demand_accounts();
	demand_end(others.arena);
}
END_TEST

/* Threads that are caught at anything. */
static void
lend_at_random(size_t index, void *ctx)
{
	struct others *others = ctx;
	uint64_t random = index;

	while (!others->over) {
		void *buffer = must_borrow(others->arena,
			1 + random_size(&random, 200 * KIB));

		*(char *)buffer = 1;
		must_return(buffer);
		if (random_below(&random, 20) == 0)
			demand(lend_arena_trim(others->arena) == 0);
	}
}

static void
all_is_in_order(void *arg)
{
	struct others *others = arg;
	uint64_t out;
	void *buffer;

	if (!BUSY_CHILD_LIVES)
		return;
	demand_accounts();
	/* Each other thread may have one, at an address that nobody knows. */
	out = stats_now(others->arena).buffers_out;
	demand(out >= 1 && out <= 1 + OTHERS);
	demand(pattern_holds(others->own, BYTES, 77));
	for (size_t i = 1; i < 100; i++) {
		buffer = must_borrow(others->arena, i * KIB);
		pattern_write(buffer, i * KIB, i);
		must_return(buffer);
	}
	must_return(others->own);
	demand_accounts();
	demand(stats_now(others->arena).buffers_out == out - 1);
	if (out == 1)
		demand_end(others->arena);
	else
		demand(lend_arena_destroy(others->arena) == -EBUSY);
}

START_TEST(threads_may_be_busy)
{
	struct others others = { .arena = NULL };

	ck_assert_int_eq(lend_arena_create(&others.arena, NULL), 0);
	others.own = borrowed(others.arena, BYTES);
	pattern_write(others.own, BYTES, 77);
	crew_start(&others.crew, OTHERS, lend_at_random, &others);
	for (unsigned i = scale(60); i > 0; i--)
		ck_assert_int_eq(family_fork(all_is_in_order, &others), 0);
	others.over = 1;
	crew_join(&others.crew);
	given_back(others.own);
	demand_accounts();
	demand_end(others.arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = {
		"membarrier:false", "buffer_cache:0", NULL
	};
	Suite *suite = suite_create("fork and buffers");
	TCase *tcase = family_case(suite, "buffers");

	tcase_add_test(tcase, others_buffers_stay_out);
	tcase_add_test(tcase, threads_may_be_busy);
	return suite_run_also(suite, confs);
}
