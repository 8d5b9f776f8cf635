/* SPDX-License-Identifier: MIT */
#include "support/loans.h"

#include <pthread.h>
#include <string.h>

#include "base/os.h"
#include "mem/extent.h"
#include "mem/init.h"
#include "support/suite.h"

static void
setup(void)
{
	/* First: it chooses the backend that the wrapper stands before. */
	ck_assert_int_eq(lend__init(), 0);
	fault_install(NULL);
}

static void
teardown(void)
{
	struct fault_counts counts = fault_counts();

	fault_uninstall();
	ck_assert_uint_eq(counts.extent_bytes, 0);
	ck_assert_uint_eq(counts.extent_allocs, counts.extent_frees);
}

TCase *
watched_case(Suite *suite, const char *name)
{
	TCase *tcase = suite_case(suite, name);

	tcase_add_checked_fixture(tcase, setup, teardown);
	return tcase;
}

void
counts_same(const struct fault_counts *a, const struct fault_counts *b)
{
	ck_assert_uint_eq(a->extent_allocs, b->extent_allocs);
	ck_assert_uint_eq(a->extent_frees, b->extent_frees);
	ck_assert_uint_eq(a->extent_bytes, b->extent_bytes);
	ck_assert_uint_eq(a->pages_allocs, b->pages_allocs);
	ck_assert_uint_eq(a->pages_frees, b->pages_frees);
	ck_assert_uint_eq(a->pages_bytes, b->pages_bytes);
	ck_assert_uint_eq(a->failed, b->failed);
}

lend_arena *
arena_of(const struct lend_arena_options *options)
{
	lend_arena *arena = NULL;

	ck_assert_int_eq(lend_arena_create(&arena, options), 0);
	ck_assert_ptr_nonnull(arena);
	return arena;
}

lend_arena *
arena_limited(size_t limit)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;

	options.limit = limit;
	return arena_of(&options);
}

void
arena_end(lend_arena *arena)
{
	ck_assert_int_eq(lend_arena_destroy(arena), 0);
}

struct lend_stats
stats_of(const lend_arena *arena)
{
	struct lend_stats stats;

	/* What is not written is seen.  No assertion: any thread may ask. */
	memset(&stats, 0xff, sizeof(stats));
	(void)lend_arena_stats(arena, &stats);
	return stats;
}

void
stats_same_but_trims(const struct lend_stats *a, const struct lend_stats *b)
{
	ck_assert_uint_eq(a->retained_bytes, b->retained_bytes);
	ck_assert_uint_eq(a->leased_bytes, b->leased_bytes);
	ck_assert_uint_eq(a->panel_bytes, b->panel_bytes);
	ck_assert_uint_eq(a->limit_bytes, b->limit_bytes);
	ck_assert_uint_eq(a->slots_idle, b->slots_idle);
	ck_assert_uint_eq(a->slots_out, b->slots_out);
	ck_assert_uint_eq(a->sets_idle, b->sets_idle);
	ck_assert_uint_eq(a->sets_out, b->sets_out);
	ck_assert_uint_eq(a->buffer_bytes, b->buffer_bytes);
	ck_assert_uint_eq(a->buffers_idle, b->buffers_idle);
	ck_assert_uint_eq(a->buffers_out, b->buffers_out);
	ck_assert_uint_eq(a->growths, b->growths);
	ck_assert_uint_eq(a->reentrant, b->reentrant);
	ck_assert_uint_eq(a->abandoned, b->abandoned);
	ck_assert_uint_eq(a->adopted, b->adopted);
	ck_assert_uint_eq(a->key, b->key);
	ck_assert_int_eq(a->protocol, b->protocol);
	ck_assert_str_eq(a->backend, b->backend);
}

void
stats_same(const struct lend_stats *a, const struct lend_stats *b)
{
	stats_same_but_trims(a, b);
	ck_assert_uint_eq(a->trims, b->trims);
}

void
stats_settled(const lend_arena *arena)
{
	struct lend_stats stats = stats_of(arena);

	ck_assert_uint_eq(stats.slots_out, 0);
	ck_assert_uint_eq(stats.sets_out, 0);
	ck_assert_uint_eq(stats.buffers_out, 0);
	ck_assert_uint_eq(stats.leased_bytes, 0);
	ck_assert_uint_eq(stats.retained_bytes, fault_counts().extent_bytes);
}

struct lend_worker
checkout(lend_arena *arena, const struct lend_req *req)
{
	struct lend_worker loan;

	ck_assert_int_eq(lend_worker_checkout(arena, req, &loan), 0);
	return loan;
}

void
checkin(lend_arena *arena, struct lend_worker *loan)
{
	ck_assert_int_eq(lend_worker_return(arena, loan), 0);
}

struct lend_team
take(lend_arena *arena, const struct lend_req *req)
{
	struct lend_team lease;

	ck_assert_int_eq(lend_team_take(arena, req, 1, 1, &lease), 0);
	return lease;
}

void
give_back(lend_arena *arena, struct lend_team *lease)
{
	ck_assert_int_eq(lend_team_return(arena, lease), 0);
}

struct lend_worker
lent(lend_arena *arena, size_t a_bytes, size_t tile_bytes,
     size_t worker_scatter)
{
	struct lend_req req = worker_req(a_bytes, tile_bytes, worker_scatter);
	struct lend_worker loan;

	memset(&loan, 0xff, sizeof(loan));
	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan), 0);
	return loan;
}

void
returned(lend_arena *arena, struct lend_worker *loan)
{
	ck_assert_int_eq(lend_worker_return(arena, loan), 0);
}

void
use(struct lend_worker *loan, const struct lend_req *req)
{
	if (req->a_bytes)
		memset(loan->a, 0xa5, req->a_bytes);
	if (req->tile_bytes)
		memset(loan->tile, 0x5a, req->tile_bytes);
	for (size_t i = 0; i < req->worker_scatter; i++)
		loan->scatter[i] = (int64_t)i;
}

size_t
page_buffer_bytes(size_t bytes)
{
	size_t size = LEND_PAGE;

	if (bytes == 0)
		return 0;
	while (size < bytes)
		size *= 2;
	return size;
}

size_t
scatter_bytes(size_t elements)
{
	return extent_size(elements * sizeof(int64_t));
}

void *
in_thread(void *(*fn)(void *), void *arg)
{
	void *result = NULL;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, fn, arg), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	return result;
}

size_t
outstanding(void)
{
	return fault_counts().extent_bytes;
}

lend_arena *
arena_new(void)
{
	return arena_of(NULL);
}

lend_arena *
arena_traced(void)
{
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;

	options.trace = true;
	return arena_of(&options);
}
