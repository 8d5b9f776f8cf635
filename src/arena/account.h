/* SPDX-License-Identifier: MIT */
/*
 * The ceiling on what an arena retains.
 *
 * Invariant, at every moment:  capacity held  <=  reserved  <=  limit.
 * Bytes are reserved before an extent is asked for and given back after it
 * was released.  Without a limit nothing is counted: what an arena retains is
 * the sum over its slots and sets, so that no line is shared.
 */
#ifndef LEND_ARENA_ACCOUNT_H
#define LEND_ARENA_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>

#include "arena/state.h"

/* Reserves; false: the limit would be exceeded, nothing changed. */
bool account_reserve(struct lend_arena *arena, size_t bytes);
/* Gives back what was reserved. */
void account_release(struct lend_arena *arena, size_t bytes);

#endif
