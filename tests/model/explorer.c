/* SPDX-License-Identifier: MIT */
/*
 * The search.  What it finds and what not is told in explorer.h.
 *
 * Stateless, depth first: a choice with n outcomes is an entry of the path.
 * An execution takes the outcomes that the path tells, then the first ones,
 * adding to the path.  After it, the last choice that has outcomes left takes
 * its next one, those behind it are forgotten, and all runs from the start.
 *
 * The director is the fiber that runs setup(), lends the processor to the
 * threads until all are done, and runs finish().  A failure leaves whatever
 * fiber it is in for good.
 *
 * A switch to another thread is offered once before a step, and the thread
 * that was switched to makes at least one step: two switches in a row would
 * come to the same as one.  None is offered before a step that no other
 * thread can tell from one made later:
 *  - a plain access: where it is ordered nobody can tell, and where it is not
 *    the clocks tell, whichever comes first.  An interrupt by a heavy barrier
 *    is taken to come before those that follow the last step;
 *  - a store into the thread's own buffer, and a compiler barrier, where no
 *    other thread makes heavy barriers: their interrupts alone would tell.
 *    The search begins with the belief that none does, and again from the
 *    start when it finds one.
 * A thread's beginning is one with its first step; its end is no step, and no
 * barrier: nothing that the other threads do can tell that it was reached.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "explorer_internal.h"

struct search explorer = { .direct = true };

static char stacks[MODEL_THREADS + 1][FIBER_STACK]
	__attribute__((aligned(64)));

/* Failing and choosing. */

/* Ends the execution, leaving the running fiber for good. */
_Noreturn static void
abandon(void)
{
	static struct fiber abandoned;

	explorer_fiber_switch(&abandoned, &explorer.main);
	abort();
}

_Noreturn void
explorer_fail(enum model_failure failure, const char *format, ...)
{
	static char what[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (!explorer.exploring) {
		fprintf(stderr, "outside of any model: %s\n", what);
		abort();
	}
	explorer.result.failed = true;
	explorer.result.failure = failure;
	explorer.result.what = what;
	abandon();
}

void
explorer_expect_heavy(const struct thread *t)
{
	uint32_t bit = 1u << thread_number(t);

	if (explorer.heavy & bit)
		return;
	explorer.heavy |= bit;
	explorer.restart = true;
	abandon();
}

_Noreturn void
model_assert_failed(const char *file, int line, const char *what)
{
	explorer_fail(MODEL_ASSERTION, "%s:%d: %s", file, line, what);
}

unsigned
explorer_choose(unsigned outcomes)
{
	if (outcomes == 1)
		return 0;
	if (explorer.depth == explorer.length) {
		if (explorer.length == PATH)
			explorer_fail(MODEL_UNUSABLE, "too many choices");
		explorer.path[explorer.length++] = (struct choice){
			.outcomes = (uint8_t)outcomes };
	} else if (explorer.path[explorer.depth].outcomes != outcomes) {
		explorer_fail(MODEL_UNUSABLE, "setup() does not set all up");
	}
	return explorer.path[explorer.depth++].taken;
}

/* Turns to the next path; false when there is none. */
static bool
next_path(void)
{
	while (explorer.length) {
		struct choice *last = &explorer.path[explorer.length - 1];

		if (++last->taken < last->outcomes)
			return true;
		explorer.length--;
	}
	return false;
}

void
explorer_record(const struct thread *t, enum deed deed, const char *text,
		uint64_t value)
{
	if (explorer.events < EVENTS)
		explorer.event[explorer.events++] = (struct event){
			text, value, (uint8_t)thread_number(t),
			(uint8_t)deed };
}

/* Scheduling. */

unsigned
model_self(void)
{
	return thread_number(explorer.current);
}

static bool
runnable(const struct thread *t)
{
	return t->state == READY ||
		(t->state == WAITING && t->woken != explorer.changes);
}

static void
count_step(void)
{
	unsigned most = explorer.model.max_steps;

	if (++explorer.steps > (most ? most : STEPS))
		explorer_fail(MODEL_NO_PROGRESS, "no progress: %u steps",
			      explorer.steps);
}

/* The step begins. */
static struct thread *
step(struct thread *t)
{
	t->stepped = ++t->clock.at[thread_number(t)];
	return t;
}

static void
go_on_with(struct thread *from, struct thread *to)
{
	explorer.current = to;
	explorer_fiber_switch(&from->fiber, &to->fiber);
}

static void
offer_preemption(struct thread *t)
{
	struct thread *list[MODEL_THREADS] = { t }, *next;
	unsigned listed = 1;

	for (unsigned n = 0; n < explorer.model.threads; n++)
		if (&explorer.thread[n] != t && runnable(&explorer.thread[n]))
			list[listed++] = &explorer.thread[n];
	next = list[explorer_choose(listed)];
	if (next == t)
		return;
	explorer.preemptions++;
	go_on_with(t, next);
}

struct thread *
explorer_arrive(void)
{
	struct thread *t = explorer.current;

	count_step();
	if (t->resumed)
		t->resumed = false;
	else if (explorer.preemptions < explorer.model.preemptions)
		offer_preemption(t);
	return step(t);
}

struct thread *
explorer_arrive_locally(void)
{
	struct thread *t = explorer.current;

	if (explorer.heavy & ~(1u << thread_number(t)))
		return explorer_arrive();
	count_step();
	/* It was a step all the same: there may be a switch after it. */
	t->resumed = false;
	return step(t);
}

/* Who goes on where the current thread does not; null: all are done. */
static struct thread *
successor(void)
{
	for (;;) {
		struct thread *list[MODEL_THREADS];
		unsigned listed = 0, done = 0;

		for (unsigned n = 0; n < explorer.model.threads; n++) {
			if (runnable(&explorer.thread[n]))
				list[listed++] = &explorer.thread[n];
			done += explorer.thread[n].state == DONE;
		}
		if (listed)
			return list[explorer_choose(listed)];
		if (done == explorer.model.threads)
			return NULL;
		if (!explorer_drain_any())
			explorer_fail(MODEL_NO_PROGRESS,
				      "no progress: every thread waits");
	}
}

void
model_pause(void)
{
	struct thread *t = explorer.current, *next;

	if (explorer.direct)
		return;
	count_step();
	explorer_record(t, PASSED, "model_pause()", 0);
	t->state = WAITING;
	next = successor();
	if (next != t)
		go_on_with(t, next);
	t->state = READY;
	t->resumed = true;
	t->woken = explorer.changes;
}

/* Executions. */

static void
thread_main(void)
{
	struct thread *t = explorer.current, *next;

	explorer_settle(t);
	explorer.model.thread[thread_number(t)]();
	t->state = DONE;
	next = successor();
	if (next)
		go_on_with(t, next);
	else
		explorer_fiber_switch(&t->fiber, &explorer.director);
	abort();
}

static void
director_main(void)
{
	if (explorer.model.setup)
		explorer.model.setup();
	explorer.direct = false;
	explorer.current = successor();
	explorer_fiber_switch(&explorer.director, &explorer.current->fiber);
	explorer_drain_all();
	if (explorer.depth < explorer.length)
		explorer_fail(MODEL_UNUSABLE, "setup() does not set all up");
	explorer.direct = true;
	if (explorer.model.finish)
		explorer.model.finish();
	explorer_fiber_switch(&explorer.director, &explorer.main);
	abort();
}

static void
execute(void)
{
	explorer.direct = true;
	explorer.execution++;
	explorer.depth = explorer.objects = explorer.events = 0;
	explorer.preemptions = explorer.spurious = explorer.steps = 0;
	explorer.changes = 0;
	for (unsigned n = 0; n < explorer.model.threads; n++) {
		struct thread *t = &explorer.thread[n];

		t->state = READY;
		t->resumed = true;
		t->woken = UINT64_MAX;
		t->buffered = t->stepped = 0;
		t->clock = t->settled = t->pending = (struct clock){ { 0 } };
		explorer_fiber_start(&t->fiber, stacks[n], thread_main);
	}
	explorer_fiber_start(&explorer.director, stacks[MODEL_THREADS],
			     director_main);
	explorer_fiber_switch(&explorer.main, &explorer.director);
	explorer.direct = true;
	explorer.result.executions++;
	explorer.result.steps += explorer.steps;
}

static bool
limit_met(void)
{
	explorer.result.truncated = explorer.model.max_executions &&
		explorer.result.executions >= explorer.model.max_executions;
	return explorer.result.truncated;
}

struct model_result
model_explore(const struct model *model)
{
	struct model_result *result = &explorer.result;

	explorer.model = *model;
	explorer.heavy = 0;
	explorer.exploring = true;
	do {
		explorer.restart = false;
		explorer.length = 0;
		*result = (struct model_result){ 0 };
		do
			execute();
		while (!explorer.restart && !result->failed && next_path() &&
		       !limit_met());
	} while (explorer.restart);
	explorer.exploring = false;
	return *result;
}

/* Printing. */

static void
print_event(FILE *out, const struct event *e)
{
	static const char *const deeds[] = {
		[READ] = "found", [STORED] = "value",
		[ARRIVED] = "is in memory: value",
		[SWAPPED] = "done, found", [NOT_SWAPPED] = "failed, found" };

	fprintf(out, "  %*sthread %u  %s", e->deed == ARRIVED ? 8 : 0, "",
		(unsigned)e->thread, e->text);
	if (e->deed != PASSED)
		fprintf(out, "  %s %#llx", deeds[e->deed],
			(unsigned long long)e->value);
	fputc('\n', out);
}

void
model_print_schedule(FILE *out)
{
	static const char *const memories[] = {
		[MODEL_SC] = "sequentially consistent",
		[MODEL_TSO] = "TSO", [MODEL_RELAXED] = "relaxed" };
	const struct model *model = &explorer.model;

	fprintf(out, "%s, %s memory, execution %llu: %s\n", model->name,
		memories[model->memory],
		(unsigned long long)explorer.result.executions,
		explorer.result.failed ? explorer.result.what : "passed");
	for (unsigned i = 0; i < explorer.events; i++)
		print_event(out, &explorer.event[i]);
}
