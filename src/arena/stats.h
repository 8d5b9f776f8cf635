/* SPDX-License-Identifier: MIT */
#ifndef LEND_ARENA_STATS_H
#define LEND_ARENA_STATS_H

#include "arena/state.h"

/* Prints the arena's statistics to standard error, as one line of JSON. */
void stats_print(const struct lend_arena *arena);

#endif
