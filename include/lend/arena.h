/* SPDX-License-Identifier: MIT */
/*
 * An arena: one owner of storage, which it lends without a lock.
 *
 * What an arena lends comes back to that arena; another owner never receives
 * storage that still holds its bytes.  There is no process-global arena.
 *
 * Unless a comment says otherwise, every function may be called by any thread
 * at any time (not from a signal handler), returns 0 or a negative errno
 * value, and after an error has changed nothing, but for what a refused growth
 * has trimmed.
 *
 * A child of fork(2) may use every arena of its parent.  The loans of the
 * thread that forked are out there as they were; those of other threads are
 * settled and counted as abandoned.  Buffers are no thread's: see buffer.h.
 */
#ifndef LEND_ARENA_H
#define LEND_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <lend/visibility.h>

LEND_BEGIN_DECLS

typedef struct lend_arena lend_arena;

/*
 * Options of an arena.  Start from LEND_ARENA_OPTIONS_INIT.  What a program
 * sets prevails; a field at its initial value takes what LEND_CONF says.
 */
struct lend_arena_options {
	size_t size;	/* sizeof this struct, as the caller was compiled */
	/*
	 * Ceiling on retained bytes; 0: LEND_CONF's, or none.  A growth
	 * beyond it first trims all that the arena has idle.  Re-entrant
	 * worker loans are not under it.
	 */
	size_t limit;
	bool trace;	/* record every growth of a kept page buffer */
	bool hugetlb;	/* reserved huge pages first, where there are some */
	const char *name; /* for statistics, copied, at most 31 bytes kept */
};

#define LEND_ARENA_OPTIONS_INIT { sizeof(struct lend_arena_options), \
				  0, false, false, NULL }

/*
 * Makes an arena with no storage and writes it to *arena.  `options` may be
 * null, for the defaults.
 * Errors: -EINVAL (null, options of an impossible size, LEND_CONF names a
 * backend that is not there), -ENOMEM, -EAGAIN (more than 2^20 arenas alive,
 * or no thread key to be had).
 */
LEND_API LEND_CHECKED int
lend_arena_create(lend_arena **arena, const struct lend_arena_options *options);

/*
 * Destroys the arena and releases everything that it holds, whichever
 * thread's slot it was.  Threads that worked with it need do nothing.  No
 * other call on this arena may be in progress or follow.  Null is accepted.
 * Errors: -EBUSY (a loan is out; nothing is freed), -EDEADLK (the caller is
 * inside a read section of liburcu's mb flavour, in which the grace period
 * would never end).
 */
LEND_API LEND_CHECKED int
lend_arena_destroy(lend_arena *arena);

/* The arena's key: unique in the process, never used again, never 0. */
LEND_API uint64_t
lend_arena_key(const lend_arena *arena);

/*
 * Releases all idle storage, on every thread's slot, of every idle team set,
 * and all idle buffers, to the operating system.  Loans that are out are
 * untouched.  Several may run at once.
 * Errors: -EINVAL (null), -ENOTSUP (the system refuses membarrier, which it
 * granted when the arena was made: worker slots and threads' caches of buffers
 * are left alone).
 */
LEND_API int
lend_arena_trim(lend_arena *arena);

/* Which protocol guards the worker slots of this process. */
enum lend_protocol {
	LEND_PROTOCOL_FAST,	/* plain stores, membarrier on the trimmer */
	LEND_PROTOCOL_EXCHANGE	/* atomic exchange: membarrier is refused */
};

/*
 * What an arena holds and lends.  The byte counts are exact whenever no loan
 * is out; while one is, a worker slot counts at the capacity that it had when
 * its checkout returned.  leased_bytes <= retained_bytes and panel_bytes <=
 * retained_bytes hold in every snapshot, and for buffer_bytes the same.
 */
struct lend_stats {
	size_t retained_bytes;	/* capacity, idle or lent */
	size_t leased_bytes;	/* the part of it that is lent now */
	size_t panel_bytes;	/* capacity of the team panels alone */
	size_t limit_bytes;	/* ceiling on retained bytes, 0: none */
	size_t slots_idle;	/* worker slots not lent */
	size_t slots_out;
	size_t sets_idle;	/* team sets not lent */
	size_t sets_out;
	uint64_t growths;	/* of kept buffers, since creation */
	uint64_t reentrant;	/* worker loans served by private buffers */
	uint64_t abandoned;	/* loans settled because their thread ended */
	uint64_t adopted;	/* idle slots given to a new thread */
	uint64_t trims;
	uint64_t key;
	enum lend_protocol protocol;
	const char *backend;	/* "jemalloc" or "mmap"; static storage */
	size_t buffer_bytes;	/* capacity of plain buffers alone */
	size_t buffers_idle;	/* plain buffers not lent */
	size_t buffers_out;
	uint64_t reserved[5];	/* 0: room for counters to come */
};

/*
 * Writes a snapshot to *stats.  Takes no lock, stops nobody; the cost grows
 * with the number of slots, sets and buffers.
 * Errors: -EINVAL (null).
 */
LEND_API int
lend_arena_stats(const lend_arena *arena, struct lend_stats *stats);

/*
 * Writes to *bytes how much of the arena's retained storage is backed by huge
 * pages at this moment, as the kernel tells it.  Slow (it asks the kernel
 * about every buffer); for diagnosis.
 * Errors: -EINVAL (null), -ENOSYS (the kernel does not tell), or the errno of
 * a failed read.
 */
LEND_API LEND_CHECKED int
lend_arena_huge_bytes(const lend_arena *arena, size_t *bytes);

/*
 * Writes the statistics, the bytes in huge pages included, as one JSON object
 * with a terminating zero to text[0..size).  Bytes of the name that are not
 * UTF-8 become U+FFFD.
 * Returns the length of the whole text without the zero, as snprintf does
 * (at least `size`: it was cut), or -EINVAL (null arena, null text with a
 * size).
 */
LEND_API LEND_CHECKED ssize_t
lend_arena_stats_json(const lend_arena *arena, char *text, size_t size);

/* Which buffer grew. */
enum lend_buffer {
	LEND_BUFFER_A,
	LEND_BUFFER_TILE,
	LEND_BUFFER_PANEL,
	LEND_BUFFER_PLAIN	/* a buffer loan's, see buffer.h */
};

/* One growth of a page buffer that the arena keeps. */
struct lend_trace_record {
	pid_t thread;			/* kernel id of the thread that grew it */
	enum lend_buffer buffer;
	size_t capacity;		/* new capacity, in bytes */
};

typedef void lend_trace_fn(const struct lend_trace_record *record, void *ctx);

/*
 * Hands this arena's trace records to `fn`, oldest first, and leaves none.
 * An arena keeps up to 2^20 records; a checkout, take or resize that grows
 * beyond that fails with -ENOMEM until they are taken.  `fn` must not throw.
 * Returns the number handed over (0 for an arena without tracing), or
 * -EINVAL (null arena or fn).
 */
LEND_API LEND_CHECKED ssize_t
lend_trace_take(lend_arena *arena, lend_trace_fn *fn, void *ctx);

LEND_END_DECLS

#endif
