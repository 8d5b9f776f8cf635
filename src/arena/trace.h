/* SPDX-License-Identifier: MIT */
/*
 * Growth records of one arena.  A record's place is made sure of before the
 * growth, so that a growth that happened is never missing from the trace.
 *
 *   free  -- trace_prepare --> in hand -- trace_record --> recorded
 *     ^                          |                            |
 *     +------- trace_drop -------+      lend_trace_take ------+
 */
#ifndef LEND_ARENA_TRACE_H
#define LEND_ARENA_TRACE_H

#include <stddef.h>

#include "arena/state.h"

/* A place for one record.  Errors: -ENOMEM. */
int trace_prepare(struct lend_arena *arena, struct record **record);
/* Gives the place back unused. */
void trace_drop(struct lend_arena *arena, struct record *record);
/* Records a growth by the calling thread. */
void trace_record(struct lend_arena *arena, struct record *record,
		  enum lend_buffer buffer, size_t capacity);

#endif
