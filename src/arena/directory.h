/* SPDX-License-Identifier: MIT */
/*
 * All arenas of the process, by their small index.
 *
 * An index names a place in every thread's table, so it is used again when
 * its arena is gone; the arena's key is not, and tells the two apart.
 *
 * directory_at: inside a read section (sync/reclaim.h), which keeps the arena
 * from being freed.  Everything else: any thread, inside the gate.
 */
#ifndef LEND_ARENA_DIRECTORY_H
#define LEND_ARENA_DIRECTORY_H

#include <stdint.h>

#include "arena/state.h"

/* Once, before anything else. */
void directory_init(void);

/* Reserves a place.  Errors: -ENOMEM, -EAGAIN (too many arenas). */
int directory_reserve(uint32_t *index);
/* The arena is to be found from now on. */
void directory_publish(struct lend_arena *arena);
/* It is ending: read sections that begin from now on do not find it. */
void directory_withdraw(struct lend_arena *arena);
/* The place may be used again; its arena is gone, or never was. */
void directory_recycle(uint32_t index);
/* The arena at the place that is ending, or null.  For a child of fork. */
struct lend_arena *directory_ending_at(uint32_t index);

uint32_t directory_count(void);
/* The arena at the place, or null. */
struct lend_arena *directory_at(uint32_t index);

#endif
