/* SPDX-License-Identifier: MIT */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench/contenders.h"
#include "bench/peer.h"
#include "bench/sanitized.h"

const char *contender_peer_library;

/* There is one peer: its functions and its arena. */
static struct peer_library peer;
static struct peer_request request;

#define SYMBOL(name, needed) \
	{ "peer_" #name, offsetof(struct peer_library, name), needed }

static const struct symbol {
	const char *name;
	size_t offset;
	bool needed;
} symbols[] = {
	SYMBOL(arena_new, true),
	SYMBOL(arena_free, true),
	SYMBOL(with_worker, true),
	SYMBOL(take_team, true),
	SYMBOL(team_panel, true),
	SYMBOL(team_drop, true),
	SYMBOL(trim, true),
	SYMBOL(arena_stats, true),
	SYMBOL(loop_worker, false),
	SYMBOL(loop_team, false),
};

/* Fills in the functions.  False: one is missing, see dlerror(). */
static bool
find_symbols(void *library)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *symbol = dlsym(library, symbols[i].name);

		if (!symbol && symbols[i].needed)
			return false;
		memcpy((char *)&peer + symbols[i].offset, &symbol,
		       sizeof(symbol));
	}
	return true;
}

bool
contender_peer_open(struct contender *self)
{
	void *library;

	if (!contender_peer_library)
		return contender_refuse(self, "no library given (--peer)");
	if (BENCH_SANITIZED)
		return contender_refuse(self, "a sanitizer is compiled in");
	/* Never closed: its threads' destructors may run after us. */
	library = dlopen(contender_peer_library, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return contender_refuse(self, "%s", dlerror());
	if (!find_symbols(library))
		return contender_refuse(self, "%s", dlerror());
	request = (struct peer_request) {
		.a_bytes = bench_req.a_bytes,
		.tile_bytes = bench_req.tile_bytes,
		.worker_scatter = bench_req.worker_scatter,
		.b_bytes = bench_req.b_bytes,
		.team_scatter = bench_req.team_scatter,
		.barriers = bench_req.barriers,
	};
	self->state = peer.arena_new(0);
	return self->state || contender_refuse(self, "it made no arena");
}

void
contender_peer_close(struct contender *self)
{
	peer.arena_free(self->state);
}

bool
contender_peer_inside_open(struct contender *self)
{
	const struct contender *open = &contenders[PEER];

	self->state = open->state;
	return (open->present && peer.loop_worker && peer.loop_team) ||
	       contender_refuse(self, "no peer, or it has no loops");
}

void
contender_peer_inside_close(struct contender *self)
{
	self->state = NULL;
}

static void
use(void *a, void *tile, int64_t *scatter, size_t capacity, void *ctx)
{
	(void)capacity;
	(void)ctx;
	bench_keep(a);
	bench_keep(tile);
	bench_keep(scatter);
}

uint64_t
contender_peer_callback(void *self, const atomic_bool *stop)
{
	struct peer_arena *arena = ((struct contender *)self)->state;
	uint64_t n = 0;

	do {
		for (int i = 0; i < WORKER_BATCH; i++)
			peer.with_worker(arena, &request, use, NULL);
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_peer_callback_inside(void *self, const atomic_bool *stop)
{
	struct peer_arena *arena = ((struct contender *)self)->state;
	uint64_t n = 0;

	do {
		peer.loop_worker(arena, &request, WORKER_BATCH);
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

static void
use_and_touch(void *a, void *tile, int64_t *scatter, size_t capacity,
	      void *ctx)
{
	(void)capacity;
	(void)ctx;
	contender_touch(a, tile, scatter);
}

uint64_t
contender_peer_touch(void *self, const atomic_bool *stop)
{
	struct peer_arena *arena = ((struct contender *)self)->state;
	uint64_t n = 0;

	do {
		for (int i = 0; i < WORKER_BATCH; i++)
			peer.with_worker(arena, &request, use_and_touch, NULL);
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

static struct peer_lease *
take(struct peer_arena *arena)
{
	struct peer_lease *lease =
		peer.take_team(arena, &request, BENCH_PM, BENCH_PN);

	bench_keep(peer.team_panel(lease, request.b_bytes));
	return lease;
}

uint64_t
contender_peer_team(void *self, const atomic_bool *stop)
{
	struct peer_arena *arena = ((struct contender *)self)->state;
	uint64_t n = 0;

	do {
		for (int i = 0; i < TEAM_BATCH; i++)
			peer.team_drop(take(arena));
		n += TEAM_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_peer_team_inside(void *self, const atomic_bool *stop)
{
	struct peer_arena *arena = ((struct contender *)self)->state;
	uint64_t n = 0;

	do {
		peer.loop_team(arena, &request, BENCH_PM, BENCH_PN,
			       TEAM_BATCH);
		n += TEAM_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

void
contender_peer_stats(void *self)
{
	struct peer_accounts accounts =
		peer.arena_stats(((struct contender *)self)->state);

	bench_keep(&accounts);
}

void
contender_peer_trim(void *self)
{
	peer.trim(((struct contender *)self)->state);
}

void
contender_peer_sets(struct contender *self, size_t n)
{
	struct peer_lease **lease = calloc(n, sizeof(lease[0]));

	if (!lease)
		bench_die("no memory");
	for (size_t i = 0; i < n; i++)
		lease[i] = take(self->state);
	for (size_t i = 0; i < n; i++)
		peer.team_drop(lease[i]);
	free(lease);
}
