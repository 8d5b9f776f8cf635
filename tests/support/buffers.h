/* SPDX-License-Identifier: MIT */
/*
 * Plain buffers that must be had, and be taken back.  Those that assert, all
 * but the last, are for the main thread.
 */
#ifndef TESTS_SUPPORT_BUFFERS_H
#define TESTS_SUPPORT_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>

#include "lend/lend.h"

void *borrowed(lend_arena *arena, size_t bytes);
void given_back(void *buffer);
/* All of the arena that are out. */
void give_back_all(lend_arena *arena);

/* 0: it is not out. */
size_t capacity_of(const void *buffer);
/* Whether the list of that size's class has any.  No other is at work. */
bool listed(lend_arena *arena, size_t bytes);

#endif
