/* SPDX-License-Identifier: MIT */
#include "stress/lender.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "support/demand.h"
#include "support/fault.h"
#include "support/pattern.h"
#include "support/random.h"

#define HELD_MAX 8
#define LIFE_MAX 400

/* A worker loan that is out, and what its buffers hold. */
struct held {
	struct lend_worker loan;
	int arena;
	bool nested;			/* the slot was out */
	uint64_t seed;
	size_t a, tile, scatter;	/* in bytes */
};

struct lender {
	struct world *world;
	uint64_t random;
	int held;
	struct held loan[HELD_MAX];
};

/* A lease on its way, and what it holds. */
struct parcel {
	struct lend_team lease;
	int arena;
	uint64_t seed;
	size_t panel, scatter;		/* in bytes */
};

/* A plain buffer on its way. */
struct crate {
	void *buffer;
	int arena;
	size_t bytes;
	uint64_t seed;
};

/* Whether it was had: the limit or the memory may be in the way. */
static bool
had(int error)
{
	demand(error == 0 || error == -EDQUOT || error == -ENOMEM);
	return error == 0;
}

/* A multiple of 8, so that patterns fill it. */
static size_t
some(struct lender *me, size_t most)
{
	return random_size(&me->random, most) & ~(size_t)7;
}

/*
 * The first word of each marked buffer names the arena.  What an arena lends
 * may hold its own old bytes, never another's.
 */
#define MARK UINT64_C(0x1e4dedb0ff)

static uint64_t
mark_of(const lend_arena *arena)
{
	return MARK << 24 | (lend_arena_key(arena) & 0xffffff);
}

static void
mark(const lend_arena *arena, void *buffer, size_t bytes, uint64_t seed)
{
	uint64_t *word = buffer;

	if (bytes == 0)
		return;
	demand((uintptr_t)buffer % 4096 == 0);
	demand(*word >> 24 != MARK || *word == mark_of(arena));
	*word = mark_of(arena);
	pattern_write(word + 1, bytes - 8, seed);
}

static bool
marked(const lend_arena *arena, const void *buffer, size_t bytes,
       uint64_t seed)
{
	const uint64_t *word = buffer;

	return bytes == 0 || (*word == mark_of(arena) &&
			      pattern_holds(word + 1, bytes - 8, seed));
}

/* Worker loans. */

/* Whether this thread's slot is out: another loan is re-entrant then. */
static bool
slot_is_lent(const struct lender *me, int arena)
{
	for (int i = 0; i < me->held; i++)
		if (me->loan[i].arena == arena && !me->loan[i].nested)
			return true;
	return false;
}

static void
take_loan(struct lender *me)
{
	struct held *held = &me->loan[me->held];
	struct lend_req req = { .a_bytes = 0 };
	lend_arena *arena;

	held->arena = (int)random_below(&me->random, ARENAS);
	held->seed = random_next(&me->random);
	req.a_bytes = held->a = some(me, 64 * KIB);
	req.tile_bytes = held->tile = some(me, 16 * KIB);
	held->scatter = some(me, 16 * KIB);
	req.worker_scatter = held->scatter / sizeof(int64_t);
	arena = me->world->arena[held->arena];
	held->nested = slot_is_lent(me, held->arena);
	if (!had(lend_worker_checkout(arena, &req, &held->loan)))
		return;
	demand(held->loan.scatter_length == 0);
	demand(held->loan.scatter_capacity >= req.worker_scatter);
	held->loan.scatter_length = req.worker_scatter;
	mark(arena, held->loan.a, held->a, held->seed);
	mark(arena, held->loan.tile, held->tile, held->seed + 1);
	mark(arena, held->loan.scatter, held->scatter, held->seed + 2);
	/* Relaxed: see lender.h. */
	if (held->nested)
		fetch_add_relaxed(&me->world->reentrant[held->arena], 1);
	me->held++;
}

static void
check_loan(const struct lender *me, const struct held *held)
{
	const lend_arena *arena = me->world->arena[held->arena];

	demand(marked(arena, held->loan.a, held->a, held->seed));
	demand(marked(arena, held->loan.tile, held->tile, held->seed + 1));
	demand(marked(arena, held->loan.scatter, held->scatter,
		      held->seed + 2));
}

static void
give_loan(struct lender *me)
{
	int i = (int)random_below(&me->random, (unsigned)me->held);
	struct held *held = &me->loan[i];
	lend_arena *arena = me->world->arena[held->arena];
	lend_arena *other = me->world->arena[(held->arena + 1) % ARENAS];

	check_loan(me, held);
	demand(lend_worker_return(other, &held->loan) == -EXDEV);
	demand(lend_worker_return(arena, &held->loan) == 0);
	demand(lend_worker_return(arena, &held->loan) == -EALREADY);
	*held = me->loan[--me->held];
}

static void
resize_loan(struct lender *me)
{
	unsigned i = random_below(&me->random, (unsigned)me->held);
	struct held *held = &me->loan[i];
	lend_arena *arena = me->world->arena[held->arena];
	size_t bytes = some(me, 32 * KIB);

	if (!had(lend_worker_scatter_resize(arena, &held->loan,
					    bytes / sizeof(int64_t))))
		return;
	/* What both lengths cover is kept: all but a cut last part. */
	if (bytes >= held->scatter)
		check_loan(me, held);
	demand(held->loan.scatter_length == bytes / sizeof(int64_t));
	held->scatter = bytes;
	mark(arena, held->loan.scatter, bytes, held->seed + 2);
}

static void
use_callback(struct lend_worker *loan, void *ctx)
{
	struct lender *me = ctx;

	if (loan->scatter_capacity)
		loan->scatter[0] = 0;
	/* Some end here, and the loan is returned all the same. */
	if (random_below(&me->random, 8) == 0)
		pthread_exit(NULL);
}

static void
lend_by_callback(struct lender *me)
{
	struct lend_req req = { .worker_scatter = 64 };
	int i = (int)random_below(&me->random, ARENAS);
	bool nested = slot_is_lent(me, i);
	int error;

	/* Before it: the callback may be the thread's end. */
	if (nested)
		fetch_add_relaxed(&me->world->reentrant[i], 1);
	error = lend_with_worker(me->world->arena[i], &req, use_callback, me);
	if (!had(error) && nested)
		fetch_sub_relaxed(&me->world->reentrant[i], 1);
}

/* Team loans. */

static void
return_parcel(struct world *world, struct parcel *parcel)
{
	lend_arena *arena = world->arena[parcel->arena];
	lend_arena *other = world->arena[(parcel->arena + 1) % ARENAS];

	demand(marked(arena, parcel->lease.panel, parcel->panel,
		      parcel->seed));
	demand(marked(arena, parcel->lease.scatter, parcel->scatter,
		      parcel->seed + 1));
	demand(lend_team_return(other, &parcel->lease) == -EXDEV);
	demand(lend_team_return(arena, &parcel->lease) == 0);
	demand(lend_team_return(arena, &parcel->lease) == -EALREADY);
	free(parcel);
}

static void
fill_parcel(struct lender *me, struct parcel *parcel)
{
	lend_arena *arena = me->world->arena[parcel->arena];
	struct lend_team *lease = &parcel->lease;
	size_t bytes = some(me, 64 * KIB);

	parcel->panel = parcel->scatter = 0;
	if (had(lend_team_panel(arena, lease, bytes))) {
		parcel->panel = bytes;
		mark(arena, lease->panel, bytes, parcel->seed);
	}
	bytes = some(me, 16 * KIB);
	if (had(lend_team_scatter_resize(arena, lease,
					 bytes / sizeof(int64_t)))) {
		parcel->scatter = bytes;
		mark(arena, lease->scatter, bytes, parcel->seed + 1);
	}
	if (random_below(&me->random, 2))
		(void)had(lend_team_scatter_shrink(arena, lease));
}

static void
lend_to_team(struct lender *me)
{
	struct lend_req req = {
		.team_scatter = some(me, 1024),
		.barriers = random_below(&me->random, 8)
	};
	size_t pm = 1 + random_below(&me->random, 4);
	struct parcel *parcel = malloc(sizeof(*parcel)), *old;

	demand(parcel);
	parcel->arena = (int)random_below(&me->random, ARENAS);
	parcel->seed = random_next(&me->random);
	if (!had(lend_team_take(me->world->arena[parcel->arena], &req, pm, 2,
				&parcel->lease))) {
		free(parcel);
		return;
	}
	demand(parcel->lease.barriers == req.barriers);
	for (size_t i = 0; i < req.barriers; i++)
		demand(lend_barrier_parties(
			lend_team_barrier(&parcel->lease, i)) == pm);
	fill_parcel(me, parcel);
	/* Acquire and release: the lease comes and goes with its content. */
	old = exchange_acq_rel(&me->world->parcel[
		random_below(&me->random, PARCELS)], parcel);
	if (old)
		return_parcel(me->world, old);
}

/* Plain buffers. */

static void
return_crate(struct world *world, struct crate *crate)
{
	demand(marked(world->arena[crate->arena], crate->buffer, crate->bytes,
		      crate->seed));
	demand(lend_buffer_return((char *)crate->buffer + 8) == -EINVAL);
	demand(lend_buffer_return(crate->buffer) == 0);
	free(crate);
}

static void
lend_plain(struct lender *me)
{
	struct crate *crate = malloc(sizeof(*crate)), *old;
	lend_arena *arena;

	demand(crate);
	crate->arena = (int)random_below(&me->random, ARENAS);
	crate->seed = random_next(&me->random);
	crate->bytes = 8 + some(me, 96 * KIB);
	arena = me->world->arena[crate->arena];
	if (!had(lend_buffer_borrow(arena, crate->bytes, &crate->buffer))) {
		free(crate);
		return;
	}
	mark(arena, crate->buffer, crate->bytes, crate->seed);
	/* Acquire and release: as with parcels. */
	old = exchange_acq_rel(&me->world->crate[
		random_below(&me->random, PARCELS)], crate);
	if (old)
		return_crate(me->world, old);
}

void
lender_return_crates(struct world *world)
{
	for (int i = 0; i < PARCELS; i++) {
		struct crate *crate =
			exchange_acq_rel(&world->crate[i], NULL);

		if (crate)
			return_crate(world, crate);
	}
}

void
lender_clear(struct world *world)
{
	for (int i = 0; i < PARCELS; i++) {
		struct parcel *old =
			exchange_acq_rel(&world->parcel[i], NULL);

		if (old)
			return_parcel(world, old);
	}
	lender_return_crates(world);
}

/* Owners. */

static void
own_arena(void)
{
	struct lend_req req = { .a_bytes = 8 * KIB, .team_scatter = 64 };
	struct lend_worker loan;
	struct lend_team lease;
	lend_arena *arena;
	void *buffer;

	if (!had(lend_arena_create(&arena, NULL)))
		return;
	if (had(lend_worker_checkout(arena, &req, &loan))) {
		mark(arena, loan.a, req.a_bytes, 1);
		demand(lend_worker_return(arena, &loan) == 0);
	}
	if (had(lend_team_take(arena, &req, 1, 1, &lease))) {
		if (had(lend_team_panel(arena, &lease, 8 * KIB)))
			mark(arena, lease.panel, 8 * KIB, 2);
		demand(lend_team_return(arena, &lease) == 0);
	}
	if (had(lend_buffer_borrow(arena, 8 * KIB, &buffer))) {
		mark(arena, buffer, 8 * KIB, 3);
		demand(lend_buffer_return(buffer) == 0);
	}
	demand(lend_arena_destroy(arena) == 0);
}

static void
count_record(const struct lend_trace_record *record, void *ctx)
{
	struct world *world = ctx;

	demand(record->thread > 0 && record->capacity >= 4096);
	demand(record->buffer <= LEND_BUFFER_PLAIN);
	fetch_add_relaxed(&world->records, 1);
}

void
lender_take_trace(struct world *world)
{
	demand(lend_trace_take(world->arena[TRACED], count_record,
			       world) >= 0);
}

/* A life. */

static void
step(struct lender *me)
{
	unsigned kind = random_below(&me->random, 100);

	if (kind < 35 && me->held < HELD_MAX)
		take_loan(me);
	else if (kind < 65 && me->held > 0)
		give_loan(me);
	else if (kind < 75 && me->held > 0)
		resize_loan(me);
	else if (kind < 80)
		lend_by_callback(me);
	else if (kind < 88)
		lend_plain(me);
	else if (kind < 97)
		lend_to_team(me);
	else if (kind == 97)
		own_arena();
	else if (kind == 98)
		lender_take_trace(me->world);
	else
		fault_fail_nth(FAULT_ANY, 1 + random_below(&me->random, 8));
}

/* Whatever ends the thread: loans that are still out are abandoned. */
static void
count_abandoned(void *arg)
{
	struct lender *me = arg;

	for (int i = 0; i < me->held; i++) {
		check_loan(me, &me->loan[i]);
		fetch_add_relaxed(&me->world->abandoned[me->loan[i].arena],
				  1);
	}
}

void
lender_live(struct world *world, uint64_t seed)
{
	struct lender me = { .world = world, .random = seed };
	unsigned life = 1 + random_below(&me.random, LIFE_MAX);

	pthread_cleanup_push(count_abandoned, &me);
	while (life-- > 0 && fetch_sub_relaxed(&world->left, 1) > 0)
		step(&me);
	/* One in two leaves as it should. */
	while (me.held > 0 && seed % 2)
		give_loan(&me);
	pthread_cleanup_pop(1);
}
