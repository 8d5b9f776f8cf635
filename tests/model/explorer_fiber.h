/* SPDX-License-Identifier: MIT */
/*
 * Fibers: several stacks in one thread, switched by hand.  A fiber that is
 * not gone on with is simply forgotten: its stack may be started anew.
 */
#ifndef LEND_MODEL_EXPLORER_FIBER_H
#define LEND_MODEL_EXPLORER_FIBER_H

#include <stddef.h>

#define FIBER_STACK ((size_t)256 << 10)

/*
 * x86-64 has its own switch of a dozen instructions; elsewhere, and with
 * LEND_MODEL_UCONTEXT, ucontext does it, at a system call a switch.
 */
#if defined(__x86_64__) && !defined(__ILP32__) && \
	!defined(LEND_MODEL_UCONTEXT)
/* A fiber that does not run is its stack pointer; its registers lie there. */
struct fiber {
	void *sp;
};
#else
#include <ucontext.h>
struct fiber {
	ucontext_t context;
};
#endif

/*
 * Makes the first switch to the fiber call `entry`, which must not return.
 * `stack` has FIBER_STACK bytes and the alignment of 16.
 */
void explorer_fiber_start(struct fiber *fiber, char *stack,
			  void (*entry)(void));

/* Leaves the running fiber in *from and goes on with *to. */
void explorer_fiber_switch(struct fiber *from, struct fiber *to);

#endif
