/* SPDX-License-Identifier: MIT */
#include "arena/growth.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "arena/account.h"
#include "arena/gate.h"
#include "arena/trace.h"
#include "arena/trim.h"
#include "base/assert.h"
#include "base/os.h"
#include "mem/extent.h"

/* Sizes above half the address space wrap somewhere: refuse them early. */
#define BYTES_MAX (SIZE_MAX / 2)

static void
add_step(struct growth *growth, struct page_buf *buf, size_t bytes,
	 size_t keep, int trace)
{
	struct growth_step *step = &growth->step[growth->steps++];

	lend_check(growth->steps <= GROWTH_STEPS);
	step->buf = buf;
	step->bytes = bytes;
	step->keep = keep;
	step->trace = trace;
	step->grows = bytes > buf_bytes(buf);
	step->start = NULL;
	step->record = NULL;
}

/*
 * A step to an extent of at least `bytes`; `enough`: the buffer serves as it
 * is.  0 bytes are an empty buffer.
 */
static int
plan(struct growth *growth, struct page_buf *buf, size_t bytes, bool enough,
     size_t keep, int trace)
{
	size_t size = 0;

	if (enough && !growth->compact)
		return 0;
	if (bytes > BYTES_MAX)
		return -EOVERFLOW;
	if (bytes) {
		size = extent_size(bytes);
		if (size == 0)
			return -EOVERFLOW;
	}
	if (size != buf_bytes(buf))
		add_step(growth, buf, size, keep, trace);
	return 0;
}

int
growth_plan_bytes(struct growth *growth, struct page_buf *buf, size_t bytes,
		  enum lend_buffer trace)
{
	bool enough = bytes <= buf_bytes(buf);

	if (bytes > BYTES_MAX)
		return -EOVERFLOW;
	if (bytes)
		bytes = round_up_power(size_max(bytes, LEND_PAGE));
	return plan(growth, buf, bytes, enough, 0, (int)trace);
}

int
growth_plan_exact(struct growth *growth, struct page_buf *buf, size_t bytes)
{
	return plan(growth, buf, bytes, bytes <= buf_bytes(buf), 0, -1);
}

int
growth_plan_elements(struct growth *growth, struct page_buf *buf,
		     size_t elements, size_t keep)
{
	size_t bytes, doubled = growth->compact ? 0 : 2 * buf_bytes(buf);

	if (__builtin_mul_overflow(elements, sizeof(int64_t), &bytes))
		return -EOVERFLOW;
	return plan(growth, buf, size_max(bytes, doubled),
		    elements <= buf_elements(buf), keep * sizeof(int64_t),
		    -1);
}

int
growth_plan_shrink(struct growth *growth, struct page_buf *buf,
		   size_t elements)
{
	size_t size = 0;

	/* No overflow: the elements are there. */
	if (elements)
		size = extent_size(elements * sizeof(int64_t));
	if (size < buf_bytes(buf))
		add_step(growth, buf, size, elements * sizeof(int64_t), -1);
	return 0;
}

/* The sum of the new sizes, and of the sizes that they replace. */
static int
sum_sizes(const struct growth *growth, size_t *after, size_t *before)
{
	*after = 0;
	*before = 0;
	for (unsigned i = 0; i < growth->steps; i++) {
		if (__builtin_add_overflow(*after, growth->step[i].bytes,
					   after))
			return -EOVERFLOW;
		*before += buf_bytes(growth->step[i].buf);
	}
	return 0;
}

static int
acquire_records(struct lend_arena *arena, struct growth *growth)
{
	for (unsigned i = 0; i < growth->steps; i++) {
		struct growth_step *step = &growth->step[i];
		int error;

		if (step->trace < 0 || !step->grows)
			continue;
		error = trace_prepare(arena, &step->record);
		if (error)
			return error;
	}
	return 0;
}

static void
drop_records(struct lend_arena *arena, struct growth *growth)
{
	for (unsigned i = 0; i < growth->steps; i++)
		if (growth->step[i].record)
			trace_drop(arena, growth->step[i].record);
}

static int
acquire_extents(struct lend_arena *arena, struct growth *growth)
{
	bool hugetlb = arena && arena->hugetlb;

	for (unsigned i = 0; i < growth->steps; i++) {
		struct growth_step *step = &growth->step[i];

		if (step->bytes == 0)
			continue;
		step->start = extent_alloc(step->bytes, hugetlb);
		if (!step->start)
			return -ENOMEM;
	}
	return 0;
}

static void
drop_extents(struct growth *growth)
{
	for (unsigned i = 0; i < growth->steps; i++) {
		struct growth_step *step = &growth->step[i];

		if (step->start)
			extent_free(step->start, step->bytes);
		step->start = NULL;
	}
}

/*
 * Forgets the extent, then releases it: a child of fork, or statistics, never
 * meet a reference to what is gone.
 */
static void
buf_drop(struct page_buf *buf)
{
	void *start = buf_start(buf);
	size_t bytes = buf_bytes(buf);

	/* Relaxed, here and below: the holder is alone; see bufs.h. */
	store_relaxed(&buf->start, NULL);
	store_relaxed(&buf->bytes, 0);
	if (start)
		extent_free(start, bytes);
}

static void
commit(struct lend_arena *arena, struct growth *growth)
{
	for (unsigned i = 0; i < growth->steps; i++) {
		struct growth_step *step = &growth->step[i];

		if (step->keep)
			memcpy(step->start, buf_start(step->buf), step->keep);
		buf_drop(step->buf);
		store_relaxed(&step->buf->bytes, step->bytes);
		store_relaxed(&step->buf->start, step->start);
		if (step->record)
			trace_record(arena, step->record,
				     (enum lend_buffer)step->trace,
				     step->bytes);
		if (arena && step->grows)
			count(&arena->growths);
	}
}

static bool
keeps_content(const struct growth *growth)
{
	for (unsigned i = 0; i < growth->steps; i++)
		if (growth->step[i].keep)
			return true;
	return false;
}

/* There is room for both, the new and the old: nothing can be lost. */
static int
run_beside(struct lend_arena *arena, struct growth *growth, size_t after,
	   size_t before)
{
	int error = acquire_extents(arena, growth);

	if (error) {
		drop_extents(growth);
		if (arena)
			account_release(arena, after);
		return error;
	}
	commit(arena, growth);
	if (arena)
		account_release(arena, before);
	return 0;
}

/* Gives the emptied buffers extents of their old sizes: how many bytes. */
static size_t
restore(struct lend_arena *arena, struct growth *growth, const size_t *old)
{
	size_t restored = 0;

	for (unsigned i = 0; i < growth->steps; i++) {
		struct page_buf *buf = growth->step[i].buf;
		void *start = NULL;

		if (old[i])
			start = extent_alloc(old[i], arena->hugetlb);
		if (!start)
			continue;
		store_relaxed(&buf->start, start);
		store_relaxed(&buf->bytes, old[i]);
		restored += old[i];
	}
	return restored;
}

/*
 * The old ones make room for the new: what those have more is reserved, what
 * they have less is given back.
 */
static int
run_in_place(struct lend_arena *arena, struct growth *growth, size_t after,
	     size_t before)
{
	size_t old[GROWTH_STEPS];
	int error;

	for (unsigned i = 0; i < growth->steps; i++) {
		old[i] = buf_bytes(growth->step[i].buf);
		buf_drop(growth->step[i].buf);
	}
	error = acquire_extents(arena, growth);
	if (error) {
		drop_extents(growth);
		account_release(arena, size_max(after, before) -
				restore(arena, growth, old));
		return error;
	}
	commit(arena, growth);
	account_release(arena, size_max(after, before) - after);
	return 0;
}

/* Reserves what `after` is more than `before`. */
static bool
reserve_more(struct lend_arena *arena, size_t after, size_t before)
{
	return after <= before || account_reserve(arena, after - before);
}

static int
run(struct lend_arena *arena, struct growth *growth)
{
	size_t after, before;
	int error = sum_sizes(growth, &after, &before);

	if (error)
		return error;
	if (growth->compact)
		return reserve_more(arena, after, before) ?
		       run_in_place(arena, growth, after, before) : -EDQUOT;
	if (!arena || account_reserve(arena, after))
		return run_beside(arena, growth, after, before);
	if (keeps_content(growth)) {
		/* A shrinkage is not worth what others have idle. */
		if (after < before)
			return -EDQUOT;
		trim(arena);
		return account_reserve(arena, after) ?
		       run_beside(arena, growth, after, before) : -EDQUOT;
	}
	if (!reserve_more(arena, after, before)) {
		trim(arena);
		if (!reserve_more(arena, after, before))
			return -EDQUOT;
	}
	return run_in_place(arena, growth, after, before);
}

int
growth_run(struct lend_arena *arena, struct growth *growth)
{
	int error = 0;

	if (growth->steps == 0)
		return 0;
	gate_enter();
	if (arena && arena->trace)
		error = acquire_records(arena, growth);
	if (!error)
		error = run(arena, growth);
	if (error)
		drop_records(arena, growth);
	gate_leave();
	return error;
}

void
buf_release(struct lend_arena *arena, struct page_buf *buf)
{
	size_t bytes = buf_bytes(buf);

	buf_drop(buf);
	if (arena)
		account_release(arena, bytes);
}
