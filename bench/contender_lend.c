/* SPDX-License-Identifier: MIT */
#include <lend/lend.h>

#include <stdlib.h>
#include <string.h>

#include "bench/contenders.h"

bool
contender_lend_open(struct contender *self)
{
	lend_arena *arena;
	int error = lend_arena_create(&arena, NULL);

	if (error)
		return contender_refuse(self, "%s", strerror(-error));
	self->state = arena;
	return true;
}

void
contender_lend_close(struct contender *self)
{
	int error = lend_arena_destroy(self->state);

	if (error)
		bench_die("lend: destroy: %s", strerror(-error));
}

static void
check(int error, const char *what)
{
	if (__builtin_expect(error, 0))
		bench_die("lend: %s: %s", what, strerror(-error));
}

static void
keep(const struct lend_worker *loan)
{
	bench_keep(loan->a);
	bench_keep(loan->tile);
	bench_keep(loan->scatter);
}

uint64_t
contender_lend_worker(void *self, const atomic_bool *stop)
{
	lend_arena *arena = ((struct contender *)self)->state;
	struct lend_worker loan;
	uint64_t n = 0;

	do {
		for (int i = 0; i < WORKER_BATCH; i++) {
			check(lend_worker_checkout(arena, &bench_req, &loan),
			      "checkout");
			keep(&loan);
			check(lend_worker_return(arena, &loan), "return");
		}
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_lend_touch(void *self, const atomic_bool *stop)
{
	lend_arena *arena = ((struct contender *)self)->state;
	struct lend_worker loan;
	uint64_t n = 0;

	do {
		for (int i = 0; i < WORKER_BATCH; i++) {
			check(lend_worker_checkout(arena, &bench_req, &loan),
			      "checkout");
			contender_touch(loan.a, loan.tile, loan.scatter);
			check(lend_worker_return(arena, &loan), "return");
		}
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

static void
use(struct lend_worker *loan, void *ctx)
{
	(void)ctx;
	keep(loan);
}

uint64_t
contender_lend_callback(void *self, const atomic_bool *stop)
{
	lend_arena *arena = ((struct contender *)self)->state;
	uint64_t n = 0;

	do {
		for (int i = 0; i < WORKER_BATCH; i++)
			check(lend_with_worker(arena, &bench_req, use, NULL),
			      "with_worker");
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

static void
take(lend_arena *arena, struct lend_team *lease)
{
	check(lend_team_take(arena, &bench_req, BENCH_PM, BENCH_PN, lease),
	      "take");
	check(lend_team_panel(arena, lease, bench_req.b_bytes), "panel");
	bench_keep(lease->panel);
}

uint64_t
contender_lend_team(void *self, const atomic_bool *stop)
{
	lend_arena *arena = ((struct contender *)self)->state;
	struct lend_team lease;
	uint64_t n = 0;

	do {
		for (int i = 0; i < TEAM_BATCH; i++) {
			take(arena, &lease);
			check(lend_team_return(arena, &lease), "team return");
		}
		n += TEAM_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_lend_buffer(void *self, const atomic_bool *stop)
{
	lend_arena *arena = ((struct contender *)self)->state;
	size_t bytes = contender_buffer_bytes;
	uint64_t n = 0;
	void *p;

	do {
		for (int i = 0; i < BUFFER_BATCH; i++) {
			check(lend_buffer_borrow(arena, bytes, &p), "borrow");
			bench_keep(p);
			check(lend_buffer_return(p), "return");
		}
		n += BUFFER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_lend_buffer_fill(void *self, const atomic_bool *stop)
{
	lend_arena *arena = ((struct contender *)self)->state;
	size_t bytes = contender_buffer_bytes;
	uint64_t n = 0;
	void *p;

	do {
		check(lend_buffer_borrow(arena, bytes, &p), "borrow");
		bench_keep(p);
		contender_fill(p, bytes);
		check(lend_buffer_return(p), "return");
		n++;
	} while (!bench_stopped(stop));
	return n;
}

void
contender_lend_stats(void *self)
{
	lend_arena *arena = ((struct contender *)self)->state;
	struct lend_stats stats;

	check(lend_arena_stats(arena, &stats), "stats");
	bench_keep(&stats);
}

void
contender_lend_trim(void *self)
{
	check(lend_arena_trim(((struct contender *)self)->state), "trim");
}

void
contender_lend_sets(struct contender *self, size_t n)
{
	struct lend_team *lease = calloc(n, sizeof(*lease));

	if (!lease)
		bench_die("no memory");
	for (size_t i = 0; i < n; i++)
		take(self->state, &lease[i]);
	for (size_t i = 0; i < n; i++)
		check(lend_team_return(self->state, &lease[i]), "team return");
	free(lease);
}
