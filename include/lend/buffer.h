/* SPDX-License-Identifier: MIT */
/*
 * A buffer loan: plain storage of any size, for intermediates and for programs
 * that route their allocator here.
 *
 * A buffer is known by its start alone.  Any thread may return it, once; it
 * outlives the thread that borrowed it.  Sizes are rounded to classes, four
 * per doubling and whole pages of 4096 bytes, so that up to a quarter more
 * than was asked for is there, from 16 KiB on.
 *
 * An idle buffer waits in a cache of the thread that returned it, which keeps
 * a bounded number of bytes (LEND_CONF's buffer_cache), then in lists that all
 * threads of the arena share.
 *
 * In a child of fork(2) all buffers that are out in the parent are out as well,
 * whoever borrowed them, and may be returned there.  Those of threads that the
 * child has not got, and whose address it does not know, stay out: they keep
 * their arena from being destroyed there.
 */
#ifndef LEND_BUFFER_H
#define LEND_BUFFER_H

#include <stddef.h>

#include <lend/arena.h>
#include <lend/visibility.h>

LEND_BEGIN_DECLS

/*
 * Writes to *buffer the page-aligned start of a buffer of at least `bytes`
 * bytes, which is never zeroed.  After an error *buffer is as it was.
 * Errors: -EINVAL (null, 0 bytes), -EOVERFLOW (a size that no buffer can
 * have), -ENOMEM, -EDQUOT (the arena's limit), -EAGAIN (more than 2^20 buffers
 * at once, or as many trace records).
 */
LEND_API LEND_CHECKED int
lend_buffer_borrow(lend_arena *arena, size_t bytes, void **buffer);

/*
 * Returns the buffer to the arena that lent it.  Any address may be given, also
 * one of a buffer whose arena is gone: what is not the start of a buffer that
 * is out is refused without being looked at.  As with free(), a second return
 * is told from the first only until the same buffer is lent again.  Never
 * fails for want of memory.
 * Errors, each of which changes nothing: -EINVAL (null, not the start of a
 * buffer of a living arena), -EALREADY (it is idle: returned before).
 */
LEND_API int
lend_buffer_return(void *buffer);

/*
 * How large a buffer of so many bytes is when it is made, and so what it counts
 * in the arena's accounts: `bytes` rounded up to a class.  One that was idle may
 * be larger, by a quarter of `bytes` at most.  0 for 0 bytes, and for a size
 * that no buffer can have.
 */
LEND_API size_t
lend_buffer_size(size_t bytes);

/*
 * Writes to *bytes how large the buffer is, at least what was asked for; all
 * of it may be used.
 * Errors: as lend_buffer_return(), -EINVAL for a null `bytes` as well.
 */
LEND_API LEND_CHECKED int
lend_buffer_capacity(const void *buffer, size_t *bytes);

LEND_END_DECLS

#endif
