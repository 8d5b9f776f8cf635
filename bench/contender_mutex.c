/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "bench/contenders.h"
#include "bench/mutex_arena.h"

bool
contender_mutex_open(struct contender *self)
{
	self->state = mutex_arena_create();
	return self->state || contender_refuse(self, "no memory");
}

void
contender_mutex_close(struct contender *self)
{
	mutex_arena_destroy(self->state);
}

static void
check(int error, const char *what)
{
	if (__builtin_expect(error, 0))
		bench_die("mutex: %s: %s", what, strerror(-error));
}

static void
keep(const struct mutex_worker *loan)
{
	bench_keep(loan->a);
	bench_keep(loan->tile);
	bench_keep(loan->scatter);
}

uint64_t
contender_mutex_worker(void *self, const atomic_bool *stop)
{
	struct mutex_arena *arena = ((struct contender *)self)->state;
	struct mutex_worker loan;
	uint64_t n = 0;

	do {
		for (int i = 0; i < WORKER_BATCH; i++) {
			check(mutex_worker_checkout(arena, &bench_req, &loan),
			      "checkout");
			keep(&loan);
			mutex_worker_return(arena, &loan);
		}
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_mutex_touch(void *self, const atomic_bool *stop)
{
	struct mutex_arena *arena = ((struct contender *)self)->state;
	struct mutex_worker loan;
	uint64_t n = 0;

	do {
		for (int i = 0; i < WORKER_BATCH; i++) {
			check(mutex_worker_checkout(arena, &bench_req, &loan),
			      "checkout");
			contender_touch(loan.a, loan.tile, loan.scatter);
			mutex_worker_return(arena, &loan);
		}
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

static void
use(struct mutex_worker *loan, void *ctx)
{
	(void)ctx;
	keep(loan);
}

uint64_t
contender_mutex_callback(void *self, const atomic_bool *stop)
{
	struct mutex_arena *arena = ((struct contender *)self)->state;
	uint64_t n = 0;

	do {
		for (int i = 0; i < WORKER_BATCH; i++)
			check(mutex_with_worker(arena, &bench_req, use, NULL),
			      "with_worker");
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

static void
take(struct mutex_arena *arena, struct mutex_team *lease)
{
	check(mutex_team_take(arena, &bench_req, BENCH_PM, BENCH_PN, lease),
	      "take");
	check(mutex_team_panel(arena, lease, bench_req.b_bytes), "panel");
	bench_keep(lease->panel);
}

uint64_t
contender_mutex_team(void *self, const atomic_bool *stop)
{
	struct mutex_arena *arena = ((struct contender *)self)->state;
	struct mutex_team lease;
	uint64_t n = 0;

	do {
		for (int i = 0; i < TEAM_BATCH; i++) {
			take(arena, &lease);
			mutex_team_return(arena, &lease);
		}
		n += TEAM_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

void
contender_mutex_stats(void *self)
{
	struct mutex_stats stats;

	mutex_arena_stats(((struct contender *)self)->state, &stats);
	bench_keep(&stats);
}

void
contender_mutex_trim(void *self)
{
	mutex_arena_trim(((struct contender *)self)->state);
}

void
contender_mutex_sets(struct contender *self, size_t n)
{
	struct mutex_team *lease = calloc(n, sizeof(*lease));

	if (!lease)
		bench_die("no memory");
	for (size_t i = 0; i < n; i++)
		take(self->state, &lease[i]);
	for (size_t i = 0; i < n; i++)
		mutex_team_return(self->state, &lease[i]);
	free(lease);
}
