/* SPDX-License-Identifier: MIT */
/*
 * The fork gate: a lock that is never taken to lend.
 *
 * A child of fork(2) sees the other threads' work in whatever state it was.
 * Words of the lock-free protocols can be rebuilt from the registries; an
 * extent that is half allocated cannot.  So everything that changes which
 * extents there are (growth, trim, making and ending of arenas and slots)
 * passes the gate as one of many, and fork(2) closes it for its length.
 *
 * It is a reader-writer lock that prefers writers, so that a fork is not kept
 * waiting by a stream of growth.  Hence passing must not nest.
 *
 * Order: RCU first, then the gate, as callers may be inside read sections of
 * their own.  So nobody waits for a grace period behind the gate.
 */
#ifndef LEND_ARENA_GATE_H
#define LEND_ARENA_GATE_H

void gate_enter(void);
void gate_leave(void);

/* Around fork(2): in the forking thread, in the parent, in the child. */
void gate_close(void);
void gate_open(void);
void gate_reset(void);

#endif
