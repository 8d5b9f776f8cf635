/* SPDX-License-Identifier: MIT */
/* Fibers; see the header. */
#include <stdint.h>

#include "explorer_fiber.h"

#if defined(__x86_64__) && !defined(__ILP32__) && \
	!defined(LEND_MODEL_UCONTEXT)

/* What a call preserves is pushed; the return address is there already. */
__asm__(".text\n"
	".p2align 4\n"
	".globl explorer_fiber_switch\n"
	".type explorer_fiber_switch, @function\n"
	"explorer_fiber_switch:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq (%rsi), %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size explorer_fiber_switch, .-explorer_fiber_switch\n");

void
explorer_fiber_start(struct fiber *fiber, char *stack, void (*entry)(void))
{
	void **sp = (void **)(void *)(stack + FIBER_STACK);

	*--sp = NULL;			/* where entry would return to */
	*--sp = (void *)(uintptr_t)entry;
	for (int i = 0; i < 6; i++)	/* the registers that are popped */
		*--sp = NULL;
	fiber->sp = sp;
}

#else

void
explorer_fiber_start(struct fiber *fiber, char *stack, void (*entry)(void))
{
	getcontext(&fiber->context);
	fiber->context.uc_stack.ss_sp = stack;
	fiber->context.uc_stack.ss_size = FIBER_STACK;
	fiber->context.uc_link = NULL;
	makecontext(&fiber->context, entry, 0);
}

void
explorer_fiber_switch(struct fiber *from, struct fiber *to)
{
	swapcontext(&from->context, &to->context);
}

#endif
