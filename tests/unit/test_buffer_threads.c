/* SPDX-License-Identifier: MIT */
/*
 * Plain buffers among threads: who borrows is often not who returns.  What is
 * lent is nobody else's, the accounts are exact, what is retained is bounded
 * by the peak of what was out and what the caches keep.
 */
#include "lend/buffer.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "mem/init.h"
#include "support/audit.h"
#include "support/buffers.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/workers.h"

#define KIB ((size_t)1024)
#define HANDS 8
#define ROUNDS 5
/* Buffers that lie about for anybody to return. */
#define TABLE 64
#define MOST (256 * KIB)

struct crowd {
	lend_arena *arena;
	size_t limit;
	bool starve;		/* allocations fail now and then */
	bool trim;
	unsigned operations;	/* of each hand */
	unsigned round;
	size_t bytes;		/* of each buffer; 0: any size */
	_Atomic(uint64_t *) table[TABLE];
	atomic_int at_work;
	atomic_int errors;	/* others than may be */
	atomic_int refused;
	atomic_int spoilt;	/* buffers that somebody else wrote to */
	struct gauge out;	/* bytes that may be out, at most */
	/* The sampler's. */
	unsigned wrong;
	size_t most_out;
};

/* First and last word tell whose it is; the size says where the last one is. */
static void
mark_buffer(uint64_t *buffer, size_t bytes)
{
	uint64_t mark = (uint64_t)(uintptr_t)buffer ^ bytes;

	buffer[0] = mark;
	buffer[bytes / 8 - 1] = mark;
}

static void
lay_down(struct crowd *crowd, uint64_t *buffer)
{
	size_t bytes = capacity_of(buffer);

	if (bytes == 0 || buffer[0] != ((uint64_t)(uintptr_t)buffer ^ bytes) ||
	    buffer[bytes / 8 - 1] != buffer[0])
		atomic_fetch_add(&crowd->spoilt, 1);
	buffer[0] = 0;
	if (lend_buffer_return(buffer))
		atomic_fetch_add(&crowd->errors, 1);
	gauge_sub(&crowd->out, bytes);
}

static uint64_t *
pick_up(struct crowd *crowd, size_t bytes)
{
	void *buffer = NULL;
	int error;

	/* More than it may come to, until it is known. */
	gauge_add(&crowd->out, bytes + bytes / 4 + 4096);
	error = lend_buffer_borrow(crowd->arena, bytes, &buffer);
	if (error == 0) {
		gauge_add(&crowd->out, capacity_of(buffer));
		mark_buffer(buffer, capacity_of(buffer));
	}
	gauge_sub(&crowd->out, bytes + bytes / 4 + 4096);
	if (error == -EDQUOT && crowd->limit)
		atomic_fetch_add(&crowd->refused, 1);
	else if (error && (error != -ENOMEM || !crowd->starve))
		atomic_fetch_add(&crowd->errors, 1);
	return buffer;
}

/* Exchanges what lies in a place of the table for another, or for nothing. */
static void
do_something(struct crowd *crowd, uint64_t *random)
{
	unsigned at = random_below(random, TABLE);
	uint64_t *buffer = NULL;

	if (crowd->trim && random_below(random, 200) == 0 &&
	    lend_arena_trim(crowd->arena))
		atomic_fetch_add(&crowd->errors, 1);
	if (crowd->starve && random_below(random, 50) == 0)
		fault_fail_nth(FAULT_ANY, 1 + random_below(random, 5));
	if (random_below(random, 2))
		buffer = pick_up(crowd, crowd->bytes ? crowd->bytes :
				 1 + random_size(random, MOST));
	buffer = atomic_exchange(&crowd->table[at], buffer);
	if (buffer)
		lay_down(crowd, buffer);
}

static void
sample(struct crowd *crowd)
{
	do {
		struct lend_stats stats = stats_of(crowd->arena);

		if (stats.leased_bytes > stats.retained_bytes ||
		    stats.buffer_bytes > stats.retained_bytes ||
		    (crowd->limit && stats.retained_bytes > crowd->limit) ||
		    stats.retained_bytes > SIZE_MAX / 2 ||
		    stats.buffers_out > TABLE + HANDS)
			crowd->wrong++;
		if (stats.buffers_out > crowd->most_out)
			crowd->most_out = stats.buffers_out;
		sched_yield();
	} while (atomic_load(&crowd->at_work) > 0);
}

static void
hand_main(size_t index, void *ctx)
{
	struct crowd *crowd = ctx;
	uint64_t random = (uint64_t)crowd->round << 8 | index;

	if (index == HANDS) {
		sample(crowd);
		return;
	}
	for (unsigned i = 0; i < crowd->operations; i++)
		do_something(crowd, &random);
	atomic_fetch_sub(&crowd->at_work, 1);
}

/* The rest, by the main thread. */
static void
clear_table(struct crowd *crowd)
{
	for (int i = 0; i < TABLE; i++) {
		uint64_t *buffer = atomic_exchange(&crowd->table[i], NULL);

		if (buffer)
			lay_down(crowd, buffer);
	}
}

static void
crowd_run(struct crowd *crowd)
{
	struct audit audit;

	atomic_store(&crowd->at_work, HANDS);
	crew_run(HANDS + 1, hand_main, crowd);
	fault_fail_nth(0, 0);
	audit = audit_arena(crowd->arena);
	ck_assert_ptr_null(audit.wrong);
	ck_assert_uint_eq(stats_of(crowd->arena).leased_bytes,
			  atomic_load(&crowd->out.sum));
	clear_table(crowd);
	ck_assert_int_eq(atomic_load(&crowd->errors), 0);
	ck_assert_int_eq(atomic_load(&crowd->spoilt), 0);
	ck_assert_uint_eq(crowd->wrong, 0);
	stats_settled(crowd->arena);
	audit = audit_arena(crowd->arena);
	ck_assert_ptr_null(audit.wrong);
	ck_assert_uint_eq(audit.buffers, outstanding());
	crowd->round++;
}

START_TEST(the_accounts_are_exact_after_a_crowd)
{
	struct crowd crowd = {
		.arena = arena_new(), .starve = true, .trim = true,
		.operations = scale(100000) / (HANDS * ROUNDS) + 1,
	};

	for (int i = 0; i < ROUNDS; i++)
		crowd_run(&crowd);
	ck_assert_uint_ge(crowd.most_out, 1);
	ck_assert_uint_ge(fault_counts().failed, 1);
	ck_assert_int_eq(lend_arena_trim(crowd.arena), 0);
	ck_assert_uint_eq(outstanding(), 0);
	arena_end(crowd.arena);
}
END_TEST

/* Without a trim nothing is ever refused, and nothing is asked for twice. */
START_TEST(what_is_retained_is_bounded)
{
	struct crowd crowd = {
		.arena = arena_new(), .bytes = 64 * KIB,
		.operations = scale(40000) / HANDS,
	};
	size_t out, bound;

	for (int i = 0; i < 3; i++)
		crowd_run(&crowd);
	/* The peak of this class, the caches of eight threads and of main. */
	out = atomic_load(&crowd.out.most);
	bound = out + (HANDS + 1) * lend__conf.buffer_cache;
	ck_assert_uint_le(stats_of(crowd.arena).retained_bytes, bound);
	ck_assert_uint_gt(stats_of(crowd.arena).retained_bytes, 0);
	arena_end(crowd.arena);
}
END_TEST

/* "It never exceeds the ceiling, not for a moment, under any concurrency." */
START_TEST(a_limit_is_not_exceeded)
{
	struct crowd crowd = {
		.limit = 1024 * KIB, .arena = arena_limited(1024 * KIB),
		.starve = true, .operations = scale(20000) / HANDS,
	};

	for (int i = 0; i < 3; i++)
		crowd_run(&crowd);
	ck_assert_int_ge(atomic_load(&crowd.refused), 1);
	/* Nothing of it is lost. */
	given_back(borrowed(crowd.arena, 1024 * KIB));
	arena_end(crowd.arena);
}
END_TEST

/* One thread borrows, another returns: nothing piles up. */
struct pipe {
	lend_arena *arena;
	_Atomic(void *) buffer;
	unsigned rounds;
	size_t most;
	atomic_int errors;
};

static void
pipe_main(size_t index, void *ctx)
{
	struct pipe *pipe = ctx;

	for (unsigned i = 0; i < pipe->rounds; i++) {
		void *buffer = NULL;

		if (index == 0) {
			if (lend_buffer_borrow(pipe->arena, 64 * KIB, &buffer))
				atomic_fetch_add(&pipe->errors, 1);
			while (atomic_load(&pipe->buffer))
				sched_yield();
			atomic_store(&pipe->buffer, buffer);
			continue;
		}
		while (!(buffer = atomic_load(&pipe->buffer)))
			sched_yield();
		atomic_store(&pipe->buffer, NULL);
		if (lend_buffer_return(buffer))
			atomic_fetch_add(&pipe->errors, 1);
	}
}

START_TEST(a_pipe_holds_what_a_cache_does)
{
	struct pipe pipe = { .arena = arena_new(), .rounds = scale(20000) };

	crew_run(2, pipe_main, &pipe);
	ck_assert_int_eq(atomic_load(&pipe.errors), 0);
	stats_settled(pipe.arena);
	ck_assert_ptr_null(audit_arena(pipe.arena).wrong);
	ck_assert_uint_le(stats_of(pipe.arena).retained_bytes,
			  3 * 64 * KIB + 2 * lend__conf.buffer_cache);
	arena_end(pipe.arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = {
		"membarrier:false", "buffer_cache:0", "buffer_cache:1M", NULL
	};
	Suite *suite = suite_create("buffers of threads");
	TCase *crowd = watched_case(suite, "crowd");

	tcase_add_test(crowd, the_accounts_are_exact_after_a_crowd);
	tcase_add_test(crowd, what_is_retained_is_bounded);
	tcase_add_test(crowd, a_limit_is_not_exceeded);
	tcase_add_test(crowd, a_pipe_holds_what_a_cache_does);
	return suite_run_also(suite, confs);
}
