/* SPDX-License-Identifier: MIT */
/*
 * How kept buffers grow (or a scatter vector shrinks): all or nothing.
 *
 *   plan      sizes are computed, nothing has changed
 *   acquire   trace records, the limit's reservation, the new extents
 *   commit    the new extents take their places, the old ones are released
 *
 * A failure while acquiring gives everything back: the caller's buffers are
 * as they were.  Where the limit has room for the new extents only in the
 * place of the old ones, the old ones go first; if the system has no memory
 * then, the buffers get extents of their old sizes again.  Should it refuse
 * even what it has just been given back, they are left empty.
 */
#ifndef LEND_ARENA_GROWTH_H
#define LEND_ARENA_GROWTH_H

#include <stdbool.h>
#include <stddef.h>

#include "arena/bufs.h"
#include "arena/state.h"

#define GROWTH_STEPS 3

struct growth_step {
	struct page_buf *buf;
	size_t bytes;		/* the new extent's; 0: only released */
	size_t keep;		/* bytes of content that move along */
	int trace;		/* enum lend_buffer, or -1: not a page buffer */
	bool grows;		/* it is no shrinkage */
	void *start;		/* the new extent, once acquired */
	struct record *record;
};

/*
 * A compact growth is what remains when the limit has refused a plain one: it
 * cuts every buffer down to what the request needs, those that it does not
 * need to nothing.  For buffers that were idle when the call began, so that
 * what they hold is storage that a trim would have released.
 */
struct growth {
	bool compact;
	unsigned steps;
	struct growth_step step[GROWTH_STEPS];
};

/*
 * Adds a step where `buf` is smaller than `bytes`: to the next power of two,
 * at least a page.  Errors: -EOVERFLOW.
 */
int growth_plan_bytes(struct growth *growth, struct page_buf *buf,
		      size_t bytes, enum lend_buffer trace);
/*
 * Adds a step where `buf` holds fewer than `elements`: to twice its present
 * capacity or to the need, whichever is more; `keep` elements move along.
 * Errors: -EOVERFLOW.
 */
int growth_plan_elements(struct growth *growth, struct page_buf *buf,
			 size_t elements, size_t keep);
/* Adds a step to just the size that `elements`, all kept, need. */
int growth_plan_shrink(struct growth *growth, struct page_buf *buf,
		       size_t elements);
/* Adds a step to at least `bytes`, nothing kept, not traced. */
int growth_plan_exact(struct growth *growth, struct page_buf *buf,
		      size_t bytes);

/*
 * Carries the plan out.  The caller is alone with the buffers and settles its
 * account afterwards, whatever the result.  A null arena stands for private
 * buffers: no limit, no trace, no count.
 * Errors: -ENOMEM, -EDQUOT.
 */
int growth_run(struct lend_arena *arena, struct growth *growth);

/* Releases the buffer's extent; its account is the caller's. */
void buf_release(struct lend_arena *arena, struct page_buf *buf);

/* Moves the extent, if any, to a buffer that is empty. */
static inline void
buf_move(struct page_buf *to, struct page_buf *from)
{
	/* Relaxed: the holder is alone; see bufs.h. */
	store_relaxed(&to->start, buf_start(from));
	store_relaxed(&to->bytes, buf_bytes(from));
	store_relaxed(&from->start, NULL);
	store_relaxed(&from->bytes, 0);
}

#endif
