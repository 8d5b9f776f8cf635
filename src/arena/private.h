/* SPDX-License-Identifier: MIT */
/*
 * Private worker loans: what a re-entrant checkout gets.  Their buffers are
 * allocated for the loan and freed at its return; they are not in the arena's
 * accounts, not under its limit and not traced.  Nesting has no
 * depth limit but that of a registry (2^20 at once in an arena).
 *
 * Synchronization: the head (loan.h) is atomic, the buffers are the owner's
 * alone while the loan is out; an idle one is on the arena's stack.
 */
#ifndef LEND_ARENA_PRIVATE_H
#define LEND_ARENA_PRIVATE_H

#include <stdbool.h>

#include <lend/worker.h>

#include "arena/state.h"

/* Errors: as lend_worker_checkout(). */
int private_checkout(struct lend_arena *arena, const struct lend_req *req,
		     struct lend_worker *handle);
/* The same, from outside the gate. */
void private_return(struct lend_arena *arena, struct private_loan *private);

/* Whether any is out. */
bool private_any_out(struct lend_arena *arena);
/* Settles and counts those of a thread that has ended. */
void private_abandon(struct lend_arena *arena, void *owner);
/*
 * Frees the buffers and makes the loan idle.  The caller is alone with it, and
 * inside the gate.
 */
void private_settle(struct lend_arena *arena, struct private_loan *loan);

#endif
