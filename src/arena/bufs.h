/* SPDX-License-Identifier: MIT */
/*
 * The buffers of one worker loan.
 *
 * Whoever has the loan, or has taken the idle buffers, is alone with them.
 * The fields are atomic because statistics about huge pages read them from
 * elsewhere: relaxed, a stale pair only misreports a moment.
 */
#ifndef LEND_ARENA_BUFS_H
#define LEND_ARENA_BUFS_H

#include <stddef.h>
#include <stdint.h>

#include "base/atomic.h"
#include "sync/registry.h"

/* One extent, or none: start null and bytes 0. */
struct page_buf {
	_Atomic(void *) start;
	_Atomic(size_t) bytes;
};

struct bufs {
	struct node node;		/* spare descriptors */
	_Atomic(size_t) bytes;		/* the sum of the three below */
	struct page_buf a;
	struct page_buf tile;
	struct page_buf scatter;	/* bytes / 8 elements */
};

/* The holder's view: its own stores. */
static inline void *
buf_start(const struct page_buf *buf)
{
	return load_relaxed(&buf->start);
}

static inline size_t
buf_bytes(const struct page_buf *buf)
{
	return load_relaxed(&buf->bytes);
}

static inline size_t
buf_elements(const struct page_buf *buf)
{
	return buf_bytes(buf) / sizeof(int64_t);
}

static inline size_t
bufs_bytes(const struct bufs *bufs)
{
	return load_relaxed(&bufs->bytes);
}

#endif
