/* SPDX-License-Identifier: MIT */
#include "bytes.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <lend/buffer.h>

int
bytes_reserve(struct bytes *bytes, lend_arena *arena, size_t capacity)
{
	size_t have;
	void *start;
	int error;

	if (capacity <= bytes->capacity)
		return 0;
	error = lend_buffer_borrow(arena, capacity, &start);
	if (error)
		return error;
	error = lend_buffer_capacity(start, &have);
	assert(!error);
	if (bytes->start) {
		memcpy(start, bytes->start, bytes->size);
		lend_buffer_return(bytes->start);
	}
	bytes->start = start;
	bytes->capacity = have;
	return 0;
}

int
bytes_grow(struct bytes *bytes, lend_arena *arena, size_t more)
{
	size_t need;
	int error;

	if (__builtin_add_overflow(bytes->size, more, &need))
		return -EOVERFLOW;
	if (need <= bytes->capacity)
		return 0;
	error = -EDQUOT;
	if (bytes->capacity > need / 2)
		error = bytes_reserve(bytes, arena, 2 * bytes->capacity);
	/* What is needed may fit where twice as much does not. */
	return error ? bytes_reserve(bytes, arena, need) : 0;
}

void
bytes_release(struct bytes *bytes)
{
	int error = bytes->start ? lend_buffer_return(bytes->start) : 0;

	assert(!error);
	(void)error;
	*bytes = (struct bytes){ NULL, 0, 0 };
}
