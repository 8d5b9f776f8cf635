/* SPDX-License-Identifier: MIT */
#include "bench/mutex_arena.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)4096)
/* The hash is at most half full; a power of two. */
#define FIRST_PLACES ((size_t)64)

struct buffer {
	void *p;
	size_t capacity;
};

struct mutex_slot {
	pthread_t thread;
	/* Guarded by the mutex; a slot that is out is its thread's alone. */
	bool out;
	/* A second loan's buffers: in no hash, in no account. */
	bool fresh;
	struct buffer a, tile, scatter;
	size_t billed;	/* what the accounts have for it */
};

struct mutex_set {
	struct mutex_set *next;	/* idle: guarded by the mutex */
	struct buffer panel, scatter;
	pthread_barrier_t *barriers;
	size_t n_barriers, pm, pn;
	size_t billed;
};

struct mutex_arena {
	pthread_mutex_t lock;
	/* All guarded by the lock. */
	struct mutex_slot **place;
	size_t places, used;
	struct mutex_set *idle;
	struct mutex_stats stats;
};

/*
 * Room for `bytes`.  The old content is not kept.  *growths counts.
 */
static int
buffer_ensure(struct buffer *buffer, size_t bytes, uint64_t *growths)
{
	size_t capacity = PAGE;

	if (bytes <= buffer->capacity)
		return 0;
	while (capacity < bytes)
		capacity *= 2;
	free(buffer->p);
	buffer->capacity = 0;
	buffer->p = aligned_alloc(PAGE, capacity);
	if (!buffer->p)
		return -ENOMEM;
	buffer->capacity = capacity;
	++*growths;
	return 0;
}

static void
buffer_release(struct buffer *buffer)
{
	free(buffer->p);
	buffer->p = NULL;
	buffer->capacity = 0;
}

static size_t
slot_bytes(const struct mutex_slot *slot)
{
	return slot->a.capacity + slot->tile.capacity + slot->scatter.capacity;
}

static void
slot_release(struct mutex_slot *slot)
{
	buffer_release(&slot->a);
	buffer_release(&slot->tile);
	buffer_release(&slot->scatter);
}

static size_t
set_bytes(const struct mutex_set *set)
{
	return set->panel.capacity + set->scatter.capacity +
	       set->n_barriers * sizeof(set->barriers[0]);
}

static void
barriers_release(struct mutex_set *set)
{
	for (size_t i = 0; i < set->n_barriers; i++)
		pthread_barrier_destroy(&set->barriers[i]);
	free(set->barriers);
	set->barriers = NULL;
	set->n_barriers = 0;
}

static void
set_destroy(struct mutex_set *set)
{
	barriers_release(set);
	buffer_release(&set->panel);
	buffer_release(&set->scatter);
	free(set);
}

struct mutex_arena *
mutex_arena_create(void)
{
	struct mutex_arena *arena = calloc(1, sizeof(*arena));

	if (!arena)
		return NULL;
	arena->place = calloc(FIRST_PLACES, sizeof(arena->place[0]));
	if (!arena->place) {
		free(arena);
		return NULL;
	}
	arena->places = FIRST_PLACES;
	pthread_mutex_init(&arena->lock, NULL);
	return arena;
}

void
mutex_arena_destroy(struct mutex_arena *arena)
{
	struct mutex_set *set;

	for (size_t i = 0; i < arena->places; i++) {
		if (!arena->place[i])
			continue;
		slot_release(arena->place[i]);
		free(arena->place[i]);
	}
	while ((set = arena->idle)) {
		arena->idle = set->next;
		set_destroy(set);
	}
	pthread_mutex_destroy(&arena->lock);
	free(arena->place);
	free(arena);
}

void
mutex_arena_stats(struct mutex_arena *arena, struct mutex_stats *stats)
{
	pthread_mutex_lock(&arena->lock);
	*stats = arena->stats;
	pthread_mutex_unlock(&arena->lock);
}

void
mutex_arena_trim(struct mutex_arena *arena)
{
	struct mutex_set *set;

	pthread_mutex_lock(&arena->lock);
	for (size_t i = 0; i < arena->places; i++) {
		struct mutex_slot *slot = arena->place[i];

		if (!slot || slot->out)
			continue;
		slot_release(slot);
		arena->stats.retained_bytes -= slot->billed;
		slot->billed = 0;
	}
	while ((set = arena->idle)) {
		arena->idle = set->next;
		arena->stats.retained_bytes -= set->billed;
		arena->stats.panel_bytes -= set->panel.capacity;
		set_destroy(set);
	}
	pthread_mutex_unlock(&arena->lock);
}

/* The place of the thread's slot, or the free one where it belongs. */
static struct mutex_slot **
find_place(struct mutex_slot **place, size_t places, pthread_t thread)
{
	/* The golden ratio spreads what are mostly multiples of pages. */
	uint64_t hash = (uint64_t)thread * UINT64_C(0x9e3779b97f4a7c15) >> 32;
	size_t i = hash & (places - 1);

	while (place[i] && !pthread_equal(place[i]->thread, thread))
		i = (i + 1) & (places - 1);
	return &place[i];
}

static int
grow_hash(struct mutex_arena *arena)
{
	size_t places = arena->places * 2;
	struct mutex_slot **place = calloc(places, sizeof(place[0]));

	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < arena->places; i++) {
		struct mutex_slot *slot = arena->place[i];

		if (slot)
			*find_place(place, places, slot->thread) = slot;
	}
	free(arena->place);
	arena->place = place;
	arena->places = places;
	return 0;
}

/* The thread's slot, made on its first call.  Under the lock. */
static struct mutex_slot *
slot_of(struct mutex_arena *arena, pthread_t thread)
{
	struct mutex_slot **place =
		find_place(arena->place, arena->places, thread);

	if (*place)
		return *place;
	if (arena->used * 2 >= arena->places) {
		if (grow_hash(arena))
			return NULL;
		place = find_place(arena->place, arena->places, thread);
	}
	*place = calloc(1, sizeof(**place));
	if (!*place)
		return NULL;
	(*place)->thread = thread;
	arena->used++;
	return *place;
}

/* A slot that is the caller's alone, or null: no memory. */
static struct mutex_slot *
slot_check_out(struct mutex_arena *arena)
{
	struct mutex_slot *slot;

	pthread_mutex_lock(&arena->lock);
	slot = slot_of(arena, pthread_self());
	if (slot && !slot->out) {
		slot->out = true;
		arena->stats.leased_bytes += slot->billed;
		pthread_mutex_unlock(&arena->lock);
		return slot;
	}
	pthread_mutex_unlock(&arena->lock);
	if (!slot)
		return NULL;
	slot = calloc(1, sizeof(*slot));
	if (slot)
		slot->fresh = true;
	return slot;
}

static void
slot_give_back(struct mutex_arena *arena, struct mutex_slot *slot,
	       uint64_t growths)
{
	size_t bytes = slot_bytes(slot);

	if (slot->fresh) {
		slot_release(slot);
		free(slot);
		return;
	}
	pthread_mutex_lock(&arena->lock);
	arena->stats.leased_bytes -= slot->billed;
	arena->stats.retained_bytes += bytes - slot->billed;
	arena->stats.growths += growths;
	slot->billed = bytes;
	slot->out = false;
	pthread_mutex_unlock(&arena->lock);
}

/* What a checkout grew is in the accounts at once, as in lend. */
static void
settle_growth(struct mutex_arena *arena, struct mutex_slot *slot,
	      uint64_t growths)
{
	size_t more = slot_bytes(slot) - slot->billed;

	if (growths == 0 || slot->fresh)
		return;
	pthread_mutex_lock(&arena->lock);
	arena->stats.leased_bytes += more;
	arena->stats.retained_bytes += more;
	arena->stats.growths += growths;
	slot->billed += more;
	pthread_mutex_unlock(&arena->lock);
}

int
mutex_worker_checkout(struct mutex_arena *arena, const struct lend_req *req,
		      struct mutex_worker *loan)
{
	struct mutex_slot *slot = slot_check_out(arena);
	uint64_t growths = 0;

	if (!slot)
		return -ENOMEM;
	if (buffer_ensure(&slot->a, req->a_bytes, &growths) ||
	    buffer_ensure(&slot->tile, req->tile_bytes, &growths) ||
	    buffer_ensure(&slot->scatter,
			  req->worker_scatter * sizeof(int64_t), &growths)) {
		slot_give_back(arena, slot, growths);
		return -ENOMEM;
	}
	settle_growth(arena, slot, growths);
	loan->a = slot->a.p;
	loan->tile = slot->tile.p;
	loan->scatter = slot->scatter.p;
	loan->scatter_capacity = slot->scatter.capacity / sizeof(int64_t);
	loan->slot = slot;
	return 0;
}

void
mutex_worker_return(struct mutex_arena *arena, struct mutex_worker *loan)
{
	slot_give_back(arena, loan->slot, 0);
	memset(loan, 0, sizeof(*loan));
}

int
mutex_with_worker(struct mutex_arena *arena, const struct lend_req *req,
		  mutex_worker_fn *fn, void *ctx)
{
	struct mutex_worker loan;
	int error = mutex_worker_checkout(arena, req, &loan);

	if (error)
		return error;
	fn(&loan, ctx);
	mutex_worker_return(arena, &loan);
	return 0;
}

static int
barriers_make(struct mutex_set *set, size_t n, size_t pm)
{
	barriers_release(set);
	if (n == 0)
		return 0;
	set->barriers = calloc(n, sizeof(set->barriers[0]));
	if (!set->barriers)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		if (pthread_barrier_init(&set->barriers[i], NULL,
					 (unsigned)pm))
			return -ENOMEM;
		set->n_barriers++;
	}
	return 0;
}

static int
set_prepare(struct mutex_set *set, const struct lend_req *req, size_t pm,
	    size_t pn)
{
	uint64_t growths = 0;
	int error = buffer_ensure(&set->scatter,
				  req->team_scatter * sizeof(int64_t),
				  &growths);

	if (!error && (set->pm != pm || set->pn != pn ||
		       set->n_barriers != req->barriers))
		error = barriers_make(set, req->barriers, pm);
	set->pm = pm;
	set->pn = pn;
	return error;
}

/* The set is not idle any more: out of the accounts, and gone. */
static int
set_abandon(struct mutex_arena *arena, struct mutex_set *set)
{
	pthread_mutex_lock(&arena->lock);
	arena->stats.retained_bytes -= set->billed;
	arena->stats.panel_bytes -= set->panel.capacity;
	pthread_mutex_unlock(&arena->lock);
	set_destroy(set);
	return -ENOMEM;
}

int
mutex_team_take(struct mutex_arena *arena, const struct lend_req *req,
		size_t pm, size_t pn, struct mutex_team *lease)
{
	struct mutex_set *set;
	size_t bytes;

	pthread_mutex_lock(&arena->lock);
	set = arena->idle;
	if (set)
		arena->idle = set->next;
	pthread_mutex_unlock(&arena->lock);
	if (!set)
		set = calloc(1, sizeof(*set));
	if (!set)
		return -ENOMEM;
	if (set_prepare(set, req, pm, pn))
		return set_abandon(arena, set);
	bytes = set_bytes(set);
	pthread_mutex_lock(&arena->lock);
	arena->stats.retained_bytes += bytes - set->billed;
	arena->stats.leased_bytes += bytes;
	pthread_mutex_unlock(&arena->lock);
	set->billed = bytes;
	lease->panel = set->panel.p;
	lease->scatter = set->scatter.p;
	lease->scatter_capacity = set->scatter.capacity / sizeof(int64_t);
	lease->set = set;
	return 0;
}

int
mutex_team_panel(struct mutex_arena *arena, struct mutex_team *lease,
		 size_t bytes)
{
	struct mutex_set *set = lease->set;
	size_t before = set->panel.capacity, change;
	uint64_t growths = 0;
	int error = buffer_ensure(&set->panel, bytes, &growths);

	lease->panel = set->panel.p;
	/* Wraps when it shrank, and the sums below wrap back. */
	change = set->panel.capacity - before;
	if (change == 0)
		return error;
	pthread_mutex_lock(&arena->lock);
	arena->stats.retained_bytes += change;
	arena->stats.leased_bytes += change;
	arena->stats.panel_bytes += change;
	arena->stats.growths += growths;
	pthread_mutex_unlock(&arena->lock);
	set->billed += change;
	return error;
}

void
mutex_team_return(struct mutex_arena *arena, struct mutex_team *lease)
{
	struct mutex_set *set = lease->set;

	pthread_mutex_lock(&arena->lock);
	arena->stats.leased_bytes -= set->billed;
	set->next = arena->idle;
	arena->idle = set;
	pthread_mutex_unlock(&arena->lock);
	memset(lease, 0, sizeof(*lease));
}
