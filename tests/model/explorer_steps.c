/* SPDX-License-Identifier: MIT */
/*
 * The operations that the code under test calls, each a step of the search.
 *
 * In setup() and finish() they act at once on memory.  A step counts on its
 * thread's clock when it begins; a plain access counts too, so that what
 * follows a release in program order is not taken for published by it.
 */
#include "explorer_internal.h"

uint64_t
model_load(const void *address, size_t size, enum model_order order,
	   const char *text)
{
	struct thread *t;
	uint64_t value;

	if (explorer.direct)
		return explorer_get(address, size);
	t = explorer_arrive();
	explorer_offer_drains(&(struct touch){ t, address, NONE });
	value = explorer_look(t, address, size, order);
	explorer_record(t, READ, text, value);
	return value;
}

void
model_store(void *address, size_t size, uint64_t value,
	    enum model_order order, const char *text)
{
	struct entry e = { .address = address, .text = text, .size = size,
			   .value = explorer_cut(value, size),
			   .release = order & MODEL_ORDER_RELEASE };
	struct thread *t;

	if (explorer.direct) {
		explorer_put(address, size, e.value);
		return;
	}
	t = explorer.model.memory == MODEL_SC ? explorer_arrive() :
		explorer_arrive_locally();
	if (e.release)
		e.clock = t->clock;
	explorer_issue(t, &e);
}

/* Read-modify-writes. */

static struct touch
touch_modify(struct thread *t, const void *address, enum model_order order)
{
	bool all = explorer.model.memory == MODEL_TSO ||
		order & MODEL_ORDER_RELEASE;

	return (struct touch){ t, address, all ? ALL : OF_ADDRESS };
}

/* Returns the value that a read-modify-write finds. */
static uint64_t
find(struct thread *t, const void *address, size_t size,
     enum model_order order)
{
	struct touch touch = touch_modify(t, address, order);

	explorer_offer_drains(&touch);
	/* A compare that fails is no release: it drains its address alone. */
	touch = touch_modify(t, address, MODEL_ORDER_RELAXED);
	explorer_drain(&touch);
	return explorer_get(address, size);
}

/* Ends it with the new value. */
static void
replace(struct thread *t, void *address, size_t size, uint64_t value,
	enum model_order order)
{
	struct touch touch = touch_modify(t, address, order);
	struct object *o = explorer_object(address);

	explorer_drain(&touch);
	if (order & MODEL_ORDER_ACQUIRE)
		explorer_join(&t->clock, &o->released);
	/* Even a relaxed one leaves what an earlier release began. */
	if (order & MODEL_ORDER_RELEASE)
		explorer_join(&o->released, &t->clock);
	explorer_put(address, size, explorer_cut(value, size));
}

uint64_t
model_modify(void *address, size_t size, bool add, uint64_t value,
	     enum model_order order, const char *text)
{
	struct thread *t;
	uint64_t old;

	if (explorer.direct) {
		old = explorer_get(address, size);
		value = add ? old + value : value;
		explorer_put(address, size, explorer_cut(value, size));
		return old;
	}
	t = explorer_arrive();
	old = find(t, address, size, order);
	replace(t, address, size, add ? old + value : value, order);
	explorer_record(t, READ, text, old);
	return old;
}

static bool
fails_spuriously(void)
{
	if (explorer.spurious >= explorer.model.spurious || !explorer_choose(2))
		return false;
	explorer.spurious++;
	return true;
}

bool
model_cas(void *address, size_t size, void *expected, uint64_t value,
	  enum model_order order, enum model_order failure, const char *text)
{
	uint64_t wanted = explorer_get(expected, size), old;
	struct thread *t;

	if (explorer.direct) {
		old = explorer_get(address, size);
		explorer_put(old == wanted ? address : expected, size,
			     old == wanted ? explorer_cut(value, size) : old);
		return old == wanted;
	}
	t = explorer_arrive();
	old = find(t, address, size, order);
	if (old == wanted && !fails_spuriously()) {
		replace(t, address, size, value, order);
		explorer_record(t, SWAPPED, text, old);
		return true;
	}
	if (failure & MODEL_ORDER_ACQUIRE)
		explorer_join(&t->clock, &explorer_object(address)->released);
	explorer_record(t, NOT_SWAPPED, text, old);
	explorer_put(expected, size, old);
	return false;
}

/* Barriers. */

void
model_compiler_barrier(void)
{
	/* The other memories take each step as a compiler barrier. */
	if (explorer.direct || explorer.model.memory != MODEL_RELAXED)
		return;
	explorer_settle(explorer_arrive_locally());
}

static void
drain(struct thread *t, enum drained drained)
{
	struct touch touch = { t, NULL, drained };

	explorer_offer_drains(&touch);
	explorer_drain(&touch);
}

void
model_fence(void)
{
	struct thread *t;

	if (explorer.direct)
		return;
	t = explorer_arrive();
	explorer_record(t, PASSED, "model_fence()", 0);
	explorer_settle(t);
	drain(t, ALL);
}

void
model_step(void)
{
	if (!explorer.direct)
		explorer_record(explorer_arrive(), PASSED, "model_step()", 0);
}

/*
 * The interrupt of the heavy barrier in one thread.  What the thread did
 * before its last compiler barrier is learnt from it; what it does after its
 * next one knows of what the caller did before the heavy barrier.  Except under
 * MODEL_RELAXED, the code is taken as compiled step by step: the barriers are
 * then where the interrupt is, behind the last step and before the plain
 * accesses that follow it.
 */
static void
interrupt(struct thread *t, const struct clock *caller, struct clock *learnt)
{
	bool in_order = explorer.model.memory != MODEL_RELAXED;

	if (in_order) {
		explorer_settle(t);
		t->settled.at[thread_number(t)] = t->stepped;
	}
	explorer_record(t, PASSED, "(interrupted by the heavy barrier)", 0);
	drain(t, SETTLED);
	explorer_join(learnt, &t->settled);
	explorer_join(&t->pending, caller);
	if (in_order)
		explorer_settle(t);
}

void
model_membarrier(void)
{
	struct clock before, learnt = { { 0 } };
	struct thread *t;

	if (explorer.direct)
		return;
	explorer_expect_heavy(explorer.current);
	t = explorer_arrive();
	explorer_record(t, PASSED, "model_membarrier()", 0);
	explorer_settle(t);
	drain(t, ALL);
	before = t->clock;
	for (unsigned n = 0; n < explorer.model.threads; n++)
		if (&explorer.thread[n] != t) {
			explorer_arrive();
			interrupt(&explorer.thread[n], &before, &learnt);
		}
	explorer_join(&t->clock, &learnt);
	explorer_settle(t);
}

/* Plain accesses. */

/* Fails if the access is not after the one by `other` at `time`. */
static void
check_race(const struct thread *t, unsigned other, uint32_t time,
	   const char *text)
{
	if (time > t->clock.at[other])
		explorer_fail(MODEL_RACE, "data race: %s in thread %u, "
			      "with thread %u", text, thread_number(t), other);
}

uint64_t
model_plain_load(const void *address, size_t size, const char *text)
{
	struct thread *t = explorer.current;
	struct object *o;
	uint64_t value;

	if (explorer.direct)
		return explorer_get(address, size);
	o = explorer_object(address);
	value = explorer_look(t, address, size, MODEL_ORDER_RELAXED);
	explorer_record(t, READ, text, value);
	check_race(t, o->writer, o->written, text);
	o->reads.at[thread_number(t)] = ++t->clock.at[thread_number(t)];
	return value;
}

void
model_plain_store(void *address, size_t size, uint64_t value,
		  const char *text)
{
	struct entry e = { .address = address, .text = text, .size = size,
			   .value = explorer_cut(value, size) };
	struct thread *t = explorer.current;
	struct object *o;

	if (explorer.direct) {
		explorer_put(address, size, e.value);
		return;
	}
	o = explorer_object(address);
	explorer_issue(t, &e);
	check_race(t, o->writer, o->written, text);
	for (unsigned n = 0; n < MODEL_THREADS; n++)
		check_race(t, n, o->reads.at[n], text);
	o->writer = thread_number(t);
	o->written = ++t->clock.at[o->writer];
	o->reads = (struct clock){ { 0 } };
}
