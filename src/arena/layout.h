/* SPDX-License-Identifier: MIT */
/* What the bookkeeping costs, in bytes: for the benchmark and the docs. */
#ifndef LEND_ARENA_LAYOUT_H
#define LEND_ARENA_LAYOUT_H

#include "arena/slot.h"
#include "arena/state.h"
#include "arena/thread.h"

/* A worker slot with the descriptor of its buffers. */
#define LEND_SLOT_BYTES (sizeof(struct slot) + sizeof(struct bufs))
#define LEND_SET_BYTES (sizeof(struct team_set))
#define LEND_TABLE_ENTRY_BYTES (sizeof(struct thread_entry))

#endif
