/* SPDX-License-Identifier: MIT */
/*
 * fork(2): a child may use every arena that its parent had.
 *
 *   prepare   close the gate: no extent changes hands
 *   parent    open it
 *   child     the forking thread is the only one: its loans stay as they
 *             are; every stack is rebuilt from the registries, all loans of
 *             other threads are settled and counted as abandoned
 *
 * The words of the protocols may have been caught in any state, and need not
 * agree with each other.  What is trusted: extents and their descriptors
 * (the gate), and everything of the forking thread's own.
 */
#ifndef LEND_ARENA_FORK_H
#define LEND_ARENA_FORK_H

/* Installs the handlers, once, after the backend.  Errors: -ENOMEM. */
int fork_init(void);

#endif
