/* SPDX-License-Identifier: MIT */
/*
 * How an arena ends.
 *
 *   alive -- withdrawn, all loans in --> ending -- grace period --> released
 *
 * The grace period is waited for outside the gate (see gate.h), so a child of
 * fork(2) may find an arena that is ending: nobody will come to release it
 * there but the child's handler.
 */
#ifndef LEND_ARENA_ENDING_H
#define LEND_ARENA_ENDING_H

#include "arena/state.h"

/* Frees all of an arena that is ending.  Inside the gate. */
void ending_release(struct lend_arena *arena);

#endif
