/* SPDX-License-Identifier: MIT */
#include "arena/team.h"

#include <errno.h>
#include <string.h>

#include <lend/team.h>

#include "arena/gate.h"
#include "arena/growth.h"
#include "arena/loan.h"
#include "arena/thread.h"
#include "base/assert.h"
#include "mem/poison.h"
#include "sync/barrier.h"
#include "sync/stack.h"

static void
set_poison(const struct team_set *set, void (*mark)(void *, size_t))
{
	const struct page_buf *const buf[] = {
		&set->panel, &set->scatter, &set->barrier
	};

	for (int i = 0; i < 3; i++)
		if (buf_bytes(buf[i]))
			mark(buf_start(buf[i]), buf_bytes(buf[i]));
}

/* The first meeting of each is as good as any, but must be known. */
static void
zero_barriers(struct team_set *set)
{
	set->prepared = 0;
	if (buf_bytes(&set->barrier))
		memset(buf_start(&set->barrier), 0, buf_bytes(&set->barrier));
}

void
team_set_empty(struct team_set *set, struct team_storage *storage)
{
	buf_move(&storage->buf[0], &set->panel);
	buf_move(&storage->buf[1], &set->scatter);
	buf_move(&storage->buf[2], &set->barrier);
	set->prepared = 0;
	team_set_settle(set);
}

void
team_storage_release(struct lend_arena *arena, struct team_storage *storage)
{
	for (int i = 0; i < 3; i++)
		buf_release(arena, &storage->buf[i]);
}

static int
plan(struct growth *growth, struct team_set *set, const struct lend_req *req)
{
	size_t bytes;
	int error;

	if (__builtin_mul_overflow(req->barriers, sizeof(struct lend_barrier),
				   &bytes))
		return -EOVERFLOW;
	error = growth_plan_elements(growth, &set->scatter,
				     req->team_scatter, 0);
	if (!error)
		error = growth_plan_exact(growth, &set->barrier, bytes);
	/* The panel is not sized by a take; a compact growth lets it go. */
	if (!error && growth->compact)
		error = growth_plan_exact(growth, &set->panel, 0);
	return error;
}

static int
set_try_grow(struct lend_arena *arena, struct team_set *set,
	     const struct lend_req *req, bool compact)
{
	struct growth growth = { .compact = compact };
	int error = plan(&growth, set, req);

	return error ? error : growth_run(arena, &growth);
}

/*
 * Makes an idle set serve, and the account follow.  As with a slot, what it
 * holds goes where the limit leaves no other room.
 */
static int
set_grow(struct lend_arena *arena, struct team_set *set,
	 const struct lend_req *req)
{
	void *start = buf_start(&set->barrier);
	size_t bytes = buf_bytes(&set->barrier);
	int error = set_try_grow(arena, set, req, false);

	if (error == -EDQUOT)
		error = set_try_grow(arena, set, req, true);
	/* A failure may have replaced them in place: see growth.h. */
	if (error)
		set->prepared = 0;
	if (buf_start(&set->barrier) != start ||
	    buf_bytes(&set->barrier) != bytes)
		zero_barriers(set);
	team_set_settle(set);
	return error;
}

static __attribute__((noinline)) int
set_new(struct lend_arena *arena, const struct lend_req *req,
	struct node **node)
{
	struct team_set none = { 0 };
	struct growth growth = { 0 };
	/* A request that no set can serve shall not make one. */
	int error = plan(&growth, &none, req);

	if (error)
		return error;
	gate_enter();
	error = registry_add(&arena->sets, node);
	if (!error)
		/* Relaxed: the taker is alone with it. */
		store_relaxed(&((struct team_set *)*node)->number,
			      number_first());
	gate_leave();
	return error;
}

/* An idle set, a spare one, or a new one. */
static inline int
set_get(struct lend_arena *arena, const struct lend_req *req,
	struct team_set **set)
{
	struct node *node = team_set_take(arena);
	int error = 0;

	if (unlikely(!node))
		node = stack_pop(&arena->spare_sets, &arena->sets);
	if (unlikely(!node))
		error = set_new(arena, req, &node);
	*set = (struct team_set *)node;
	return error;
}

static inline bool
set_covers(const struct team_set *set, const struct lend_req *req)
{
	return buf_elements(&set->scatter) >= req->team_scatter &&
	       buf_bytes(&set->barrier) / sizeof(struct lend_barrier) >=
	       req->barriers;
}

static inline void
fill(struct lend_team *lease, const struct lend_arena *arena,
     struct team_set *set)
{
	lease->panel = buf_start(&set->panel);
	lease->panel_capacity = buf_bytes(&set->panel);
	lease->scatter = buf_start(&set->scatter);
	lease->scatter_length = 0;
	lease->scatter_capacity = buf_elements(&set->scatter);
	lease->barrier = buf_start(&set->barrier);
	lease->set = set;
	lease->key = arena->key;
	/* Relaxed: the taker's own store. */
	lease->number = load_relaxed(&set->number);
}

static __attribute__((noinline)) void
prepare_barriers(struct team_set *set, size_t barriers, uint32_t parties)
{
	struct lend_barrier *barrier = buf_start(&set->barrier);

	for (size_t i = 0; i < barriers; i++)
		barrier_init(&barrier[i], parties);
	set->parties = parties;
	set->prepared = (uint32_t)barriers;
}

/*
 * Makes sure that nobody is counted at the barriers any more.  They are looked
 * at here rather than written at each take, so that the lines of a set that
 * goes from thread to thread stay shared.
 */
static inline void
clear_barriers(struct team_set *set)
{
	struct lend_barrier *barrier = buf_start(&set->barrier);

	for (uint32_t i = 0; i < set->prepared; i++)
		/* Relaxed: the parties have come back to the returner. */
		if (unlikely(load_relaxed(&barrier[i].arrived)))
			store_relaxed(&barrier[i].arrived, 0);
}

int
lend_team_take(lend_arena *arena, const struct lend_req *req, size_t pm,
	       size_t pn, struct lend_team *lease)
{
	struct team_set *set;
	int error;

	if (unlikely(!arena) || unlikely(!req) || unlikely(!lease) ||
	    unlikely(pm == 0) || unlikely(pn == 0))
		return -EINVAL;
	if (unlikely(pm > UINT32_MAX) || unlikely(req->barriers > UINT32_MAX))
		return -EOVERFLOW;
	error = set_get(arena, req, &set);
	if (unlikely(error))
		return error;
	if (unlikely(!set_covers(set, req))) {
		error = set_grow(arena, set, req);
		if (error) {
			team_set_put(arena, set);
			return error;
		}
	}
	if (unlikely(lend__poison)) {
		set_poison(set, poison_lent);
		zero_barriers(set);
	}
	/* Relaxed, both: others look at them for statistics or in a fork. */
	store_relaxed(&set->taker, thread_self());
	store_relaxed(&set->number, load_relaxed(&set->number) | NUMBER_OUT);
	fill(lease, arena, set);
	lease->barriers = req->barriers;
	lease->pm = pm;
	lease->pn = pn;
	if (unlikely(set->parties != pm) ||
	    unlikely(set->prepared < req->barriers))
		prepare_barriers(set, req->barriers, (uint32_t)pm);
	return 0;
}

/*
 * The set behind the lease, if it is out.  A set lives as long as its arena,
 * so a lease of this arena, however old, may be followed to it.
 */
static inline int
find(struct lend_arena *arena, const struct lend_team *lease,
     struct team_set **set)
{
	if (unlikely(!arena) || unlikely(!lease))
		return -EINVAL;
	if (unlikely(lease->key != arena->key))
		return lease->key ? -EXDEV : -EALREADY;
	*set = lease->set;
	/* Relaxed: a lease that is out was handed to us by its taker. */
	if (unlikely(load_relaxed(&(*set)->number) != lease->number))
		return -EALREADY;
	return 0;
}

static __attribute__((noinline)) int
panel_grow(struct lend_arena *arena, struct lend_team *lease,
	   struct team_set *set, size_t bytes)
{
	struct growth growth = { 0 };
	int error = growth_plan_bytes(&growth, &set->panel, bytes,
				      LEND_BUFFER_PANEL);

	if (!error)
		error = growth_run(arena, &growth);
	/* After a failure too: see growth.h.  Relaxed: as in settle. */
	store_relaxed(&set->panel_bytes, buf_bytes(&set->panel));
	lease->panel = buf_start(&set->panel);
	lease->panel_capacity = buf_bytes(&set->panel);
	return error;
}

int
lend_team_panel(lend_arena *arena, struct lend_team *lease, size_t bytes)
{
	struct team_set *set;
	int error = find(arena, lease, &set);

	if (unlikely(error))
		return error;
	if (unlikely(bytes > buf_bytes(&set->panel)))
		return panel_grow(arena, lease, set, bytes);
	/* A copy of the lease may have grown it. */
	lease->panel = buf_start(&set->panel);
	lease->panel_capacity = buf_bytes(&set->panel);
	return 0;
}

/* The account follows at the return. */
static void
refill_scatter(struct lend_team *lease, struct team_set *set)
{
	set->resized = true;
	lease->scatter = buf_start(&set->scatter);
	lease->scatter_capacity = buf_elements(&set->scatter);
}

static size_t
kept_elements(const struct lend_team *lease, const struct team_set *set)
{
	return size_min(lease->scatter_length, buf_elements(&set->scatter));
}

int
lend_team_scatter_resize(lend_arena *arena, struct lend_team *lease,
			 size_t length)
{
	struct growth growth = { 0 };
	struct team_set *set;
	int error = find(arena, lease, &set);

	if (!error)
		error = growth_plan_elements(&growth, &set->scatter, length,
					     kept_elements(lease, set));
	if (error)
		return error;
	error = growth_run(arena, &growth);
	/* After a failure too: see growth.h. */
	refill_scatter(lease, set);
	if (!error)
		lease->scatter_length = length;
	return error;
}

int
lend_team_scatter_shrink(lend_arena *arena, struct lend_team *lease)
{
	struct growth growth = { 0 };
	struct team_set *set;
	int error = find(arena, lease, &set);

	if (error)
		return error;
	growth_plan_shrink(&growth, &set->scatter, kept_elements(lease, set));
	error = growth_run(arena, &growth);
	if (!error)
		refill_scatter(lease, set);
	/* No room for the move: the storage stays until the return. */
	return error == -EDQUOT ? 0 : error;
}

int
lend_team_return(lend_arena *arena, struct lend_team *lease)
{
	struct team_set *set;
	uint64_t number;
	int error = find(arena, lease, &set);

	if (unlikely(error))
		return error;
	/*
	 * The one that moves the number on has returned the lease.  Relaxed:
	 * what the holder wrote came to us with the lease, and goes on with
	 * the push.
	 */
	number = lease->number;
	while (!cas_relaxed(&set->number, &number, number_after(number)))
		if (number != lease->number)
			return -EALREADY;
	clear_barriers(set);
	if (unlikely(set->resized))
		team_set_settle(set);
	if (unlikely(lend__poison))
		set_poison(set, poison_idle);
	team_set_put(arena, set);
	return 0;
}

struct lend_barrier *
lend_team_barrier(const struct lend_team *lease, size_t i)
{
	return lease && i < lease->barriers ? &lease->barrier[i] : NULL;
}
