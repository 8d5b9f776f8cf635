/* SPDX-License-Identifier: MIT */
/*
 * Bytes that become more, in a buffer that an arena lends.  For one thread at
 * a time; zeroes are empty.
 */
#ifndef EXAMPLES_SERVER_BYTES_H
#define EXAMPLES_SERVER_BYTES_H

#include <stddef.h>

#include <lend/arena.h>

struct bytes {
	unsigned char *start;	/* page-aligned; null: no buffer yet */
	size_t size;
	size_t capacity;
};

/*
 * Sees to room for `capacity` bytes in all.  The old buffer is returned once
 * its bytes are in the new one.
 * Errors, after which nothing has changed: those of lend_buffer_borrow().
 */
int bytes_reserve(struct bytes *bytes, lend_arena *arena, size_t capacity);

/*
 * Sees to room for `more` bytes behind those that are there, and for as many
 * again as there was room for, where that is to be had.
 */
int bytes_grow(struct bytes *bytes, lend_arena *arena, size_t more);

/* Returns the buffer. */
void bytes_release(struct bytes *bytes);

#endif
