/* SPDX-License-Identifier: MIT */
/*
 * A team loan: what the pm x pn threads of one team share for one call.
 *
 * The lease is taken exclusively.  It is a value, usually on the stack of the
 * thread that leads the team, read by the others through a pointer.  Any
 * thread may return it; of all copies exactly one return succeeds.  It
 * outlives the thread that took it.  The functions that resize want one caller
 * at a time; a copy does not learn of a resize.  Buffers start at multiples of
 * 4096.
 */
#ifndef LEND_TEAM_H
#define LEND_TEAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/arena.h>
#include <lend/request.h>
#include <lend/visibility.h>

LEND_BEGIN_DECLS

struct lend_barrier;

struct lend_team {
	void *panel;		/* shared B panel, null without storage */
	size_t panel_capacity;	/* in bytes */
	int64_t *scatter;	/* at least team_scatter elements, or null */
	size_t scatter_length;	/* elements in use: 0 at take, yours */
	size_t scatter_capacity;
	struct lend_barrier *barrier; /* private: see lend_team_barrier() */
	size_t barriers;	/* how many there are */
	size_t pm, pn;		/* the team's shape: pm x pn threads */
	void *set;		/* private: what was taken */
	uint64_t key;		/* private: which arena */
	uint64_t number;	/* private: which loan of it */
};

/*
 * Takes one team set and fills *lease: the panel as it is (size it with
 * lend_team_panel()), a scatter vector of length 0 with at least
 * req->team_scatter elements of capacity, and exactly req->barriers barriers
 * of pm parties each (one per column group; pn is for the caller's use).  The
 * worker's components of `req` are ignored.
 * Errors: -EINVAL (null, pm or pn of 0), -EOVERFLOW (a size that no buffer can
 * have, pm above 2^32 - 1), -ENOMEM, -EDQUOT (the arena's limit), -EAGAIN
 * (more than 2^20 team loans at once).
 */
LEND_API LEND_CHECKED int
lend_team_take(lend_arena *arena, const struct lend_req *req, size_t pm,
	       size_t pn, struct lend_team *lease);

/*
 * Makes the shared panel at least `bytes` long; lease->panel is then its
 * page-aligned start.  Its content does not survive growth.  The arena's
 * accounts know the growth at once.
 * Errors: -EINVAL (null), -EXDEV (a lease of another arena), -EALREADY
 * (returned before), -EOVERFLOW, -ENOMEM, -EDQUOT.  After -ENOMEM under a
 * limit the panel may be elsewhere, or gone: lease->panel and panel_capacity
 * tell.  The same holds for the scatter vector below.
 */
LEND_API LEND_CHECKED int
lend_team_panel(lend_arena *arena, struct lend_team *lease, size_t bytes);

/*
 * Sets the length of the scatter vector, growing its storage where needed;
 * elements below both lengths keep their values.  Growth and shrinkage reach
 * the arena's accounts at the return.
 * Errors: as lend_team_panel().
 */
LEND_API LEND_CHECKED int
lend_team_scatter_resize(lend_arena *arena, struct lend_team *lease,
			 size_t length);

/*
 * Gives back the scatter storage that the present length does not need; the
 * elements keep their values.  Where the limit has no room to move them, the
 * storage stays, and that is no error.
 * Errors: as lend_team_panel(), without -EDQUOT.
 */
LEND_API LEND_CHECKED int
lend_team_scatter_shrink(lend_arena *arena, struct lend_team *lease);

/*
 * Returns the lease and settles what changed since the take.  *lease keeps
 * its pointers: they are not yours any more.  Every party must have come back
 * from its last lend_barrier_wait(), as a trim may then unmap the barriers.
 * Errors, each of which changes nothing: -EINVAL (null), -EXDEV (a lease of
 * another arena), -EALREADY (returned before).
 */
LEND_API int
lend_team_return(lend_arena *arena, struct lend_team *lease);

/* Barrier i of the lease, null when there is none such. */
LEND_API struct lend_barrier *
lend_team_barrier(const struct lend_team *lease, size_t i);

/*
 * Makes a barrier of `parties` threads in storage of the caller's, which is
 * LEND_BARRIER_BYTES long and starts at a multiple of that; returns it, or
 * null for a null storage or a count of 0 or above 2^32 - 1.  The storage may
 * go when every party has come back from its last wait.
 */
LEND_API struct lend_barrier *
lend_barrier_init(void *storage, size_t parties);

/* How many threads meet at the barrier.  Not null. */
LEND_API size_t
lend_barrier_parties(const struct lend_barrier *barrier);

/*
 * Waits until all parties have called it: what any of them wrote before is
 * seen by all of them after.  It can be used again at once.  Returns true to
 * exactly one of them.  Spins shortly, then sleeps; not a cancellation point.
 * Not null.
 */
LEND_API bool
lend_barrier_wait(struct lend_barrier *barrier);

LEND_END_DECLS

#endif
