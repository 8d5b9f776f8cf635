/* SPDX-License-Identifier: MIT */
#include "support/buffers.h"

#include <check.h>

#include "arena/buffer.h"

void *
borrowed(lend_arena *arena, size_t bytes)
{
	void *buffer = NULL;

	ck_assert_int_eq(lend_buffer_borrow(arena, bytes, &buffer), 0);
	ck_assert_ptr_nonnull(buffer);
	return buffer;
}

void
given_back(void *buffer)
{
	ck_assert_int_eq(lend_buffer_return(buffer), 0);
}

void
give_back_all(lend_arena *arena)
{
	for (uint32_t i = 0; i < registry_count(&arena->buffers); i++) {
		const struct buffer *buffer = registry_at(&arena->buffers, i);

		if (buffer_is_out(buffer))
			given_back(buf_start(&buffer->buf));
	}
}

size_t
capacity_of(const void *buffer)
{
	size_t bytes = 0;

	return lend_buffer_capacity(buffer, &bytes) ? 0 : bytes;
}

bool
listed(lend_arena *arena, size_t bytes)
{
	struct stack *list = &arena->idle_buffers[buffer_class(bytes)];

	return stack_index(load_relaxed(&list->head)) != 0;
}
