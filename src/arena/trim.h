/* SPDX-License-Identifier: MIT */
/* Releasing what is idle. */
#ifndef LEND_ARENA_TRIM_H
#define LEND_ARENA_TRIM_H

#include "arena/state.h"

/*
 * Releases all idle storage of the arena.  Inside the gate.
 * Errors: -ENOTSUP (membarrier was refused although it served before: worker
 * slots are left alone).
 */
int trim(struct lend_arena *arena);

/* Releases the three buffers; the descriptor is then empty. */
void bufs_release(struct lend_arena *arena, struct bufs *bufs);

#endif
