/* SPDX-License-Identifier: MIT */
/*
 * When buffered stores reach memory, as far as that can be told.
 *
 * Only a step that touches a store's address can tell when it arrived.  An
 * arrival can be put off past every step that does not touch it, and past
 * every other arrival but those that it must precede and its rivals, which
 * have the same address.  Put off as far as that goes, each arrival comes
 * directly before a step that touches it, or before such an arrival.  So
 * arrivals are chosen just there, and before most steps there is no choice.
 *
 * Among the arrivals before one step, those that do not depend on each other
 * are tried in one order alone: by thread, in a thread the oldest first.
 *
 * The random programs of test_explorer_outcomes.c check that no outcome is
 * missed.
 */
#include "explorer_internal.h"

/* Entries of one thread that arrive together, for the last one's sake. */
struct arrival {
	struct thread *thread;
	uint32_t set;
};

/* The arrival that was chosen last, before the same step. */
struct latest {
	const struct thread *thread;	/* null: none was */
	unsigned older;		/* entries of the thread that it overtook */
	unsigned count;
	const void *address[BUFFER];
};

static bool
holds(const struct thread *t, uint32_t set, const void *address)
{
	for (unsigned i = 0; i < t->buffered; i++)
		if (set >> i & 1 && t->buffer[i].address == address)
			return true;
	return false;
}

/* What a step drains from its thread's buffer. */
static uint32_t
drained_set(const struct touch *touch)
{
	const struct thread *t = touch->actor;
	uint32_t set = 0;

	if (touch->drained == NONE)
		return 0;
	for (unsigned i = 0; i < t->buffered; i++)
		if (touch->drained == ALL ||
		    (touch->drained == SETTLED && t->buffer[i].settled) ||
		    (touch->drained == OF_ADDRESS &&
		     t->buffer[i].address == touch->address))
			set |= explorer_with_preceding(t, i);
	return set;
}

void
explorer_drain(const struct touch *touch)
{
	explorer_drain_set(touch->actor, drained_set(touch));
}

/* The entries of t that the step touches. */
static uint32_t
touched(const struct touch *touch, const struct thread *t)
{
	uint32_t drained = drained_set(touch), set = 0;

	for (unsigned i = 0; i < t->buffered; i++)
		if (t->buffer[i].address == touch->address ||
		    holds(touch->actor, drained, t->buffer[i].address))
			set |= 1u << i;
	return set;
}

/* Whether another thread has a store on its way that the step touches. */
static bool
exposed(const struct touch *touch)
{
	for (unsigned n = 0; n < explorer.model.threads; n++) {
		const struct thread *t = &explorer.thread[n];

		if (t != touch->actor && t->buffered && touched(touch, t))
			return true;
	}
	return false;
}

/* The entries of thread n with a rival in the other threads' sets. */
static uint32_t
rivals(unsigned n, const uint32_t *sets)
{
	const struct thread *t = &explorer.thread[n];
	uint32_t set = 0;

	for (unsigned i = 0; i < t->buffered; i++)
		for (unsigned m = 0; m < explorer.model.threads; m++)
			if (m != n && holds(&explorer.thread[m], sets[m],
					    t->buffer[i].address))
				set |= 1u << i;
	return set;
}

/* Adds to the sets what must precede their entries, and all rivals. */
static void
extend(uint32_t *sets)
{
	bool grown = true;

	while (grown) {
		grown = false;
		for (unsigned n = 0; n < explorer.model.threads; n++) {
			const struct thread *t = &explorer.thread[n];
			uint32_t set = sets[n] | rivals(n, sets);

			for (unsigned i = 0; set >> i; i++)
				if (set >> i & 1)
					set |= explorer_with_preceding(t, i);
			grown |= set != sets[n];
			sets[n] = set;
		}
	}
}

/* Whether the arrival might as well have come before the latest one. */
static bool
out_of_order(const struct arrival *a, unsigned last,
	     const struct latest *latest)
{
	if (!latest->thread || a->thread > latest->thread)
		return false;
	if (a->thread == latest->thread)
		return last < latest->older;
	for (unsigned i = 0; i < latest->count; i++)
		if (holds(a->thread, a->set, latest->address[i]))
			return false;
	return true;
}

/*
 * Lists the arrivals for the sake of the sets' entries, but for those that
 * would take another such entry along: they come later.
 */
static unsigned
list_arrivals(struct arrival *list, const uint32_t *sets,
	      const struct latest *latest)
{
	unsigned listed = 0;

	for (unsigned n = 0; n < explorer.model.threads; n++) {
		struct thread *t = &explorer.thread[n];

		for (unsigned i = 0; i < t->buffered; i++) {
			struct arrival *a = &list[listed];

			a->thread = t;
			a->set = explorer_with_preceding(t, i);
			if ((a->set & sets[n]) == 1u << i &&
			    !out_of_order(a, i, latest))
				listed++;
		}
	}
	return listed;
}

static void
take(const struct arrival *a, struct latest *latest)
{
	const struct thread *t = a->thread;

	latest->thread = t;
	latest->count = latest->older = 0;
	for (unsigned i = 0; a->set >> i; i++)
		if (a->set >> i & 1)
			latest->address[latest->count++] =
				t->buffer[i].address;
		else
			latest->older++;
	explorer_drain_set(a->thread, a->set);
}

void
explorer_offer_drains(const struct touch *touch)
{
	struct arrival list[MODEL_THREADS * BUFFER + 1];
	struct latest latest = { .thread = NULL };
	/* The step itself may follow, but not an arrival that it ignores. */
	bool ready = true;

	while (exposed(touch)) {
		uint32_t relevant[MODEL_THREADS] = { 0 };
		uint32_t direct[MODEL_THREADS] = { 0 };
		unsigned listed, taken;

		for (unsigned n = 0; n < explorer.model.threads; n++)
			relevant[n] = direct[n] =
				touched(touch, &explorer.thread[n]);
		extend(relevant);
		for (unsigned n = 0; n < explorer.model.threads; n++)
			relevant[n] &= direct[n] | rivals(n, relevant);
		listed = list_arrivals(list, relevant, &latest);
		if (!listed)
			return;
		taken = explorer_choose(listed + ready);
		if (ready && !taken--)
			return;
		ready = list[taken].set &
			direct[list[taken].thread - explorer.thread];
		take(&list[taken], &latest);
	}
}

bool
explorer_drain_any(void)
{
	static const uint32_t all[MODEL_THREADS] = { ~0u, ~0u, ~0u, ~0u };
	struct arrival list[MODEL_THREADS * BUFFER + 1];
	struct latest latest = { .thread = NULL };
	unsigned listed = list_arrivals(list, all, &latest);

	if (!listed)
		return false;
	take(&list[explorer_choose(listed)], &latest);
	return true;
}

void
explorer_drain_all(void)
{
	static const uint32_t all[MODEL_THREADS] = { ~0u, ~0u, ~0u, ~0u };
	struct arrival list[MODEL_THREADS * BUFFER + 1];
	struct latest latest = { .thread = NULL };
	uint32_t contended[MODEL_THREADS];
	unsigned listed;

	do {
		for (unsigned n = 0; n < explorer.model.threads; n++)
			contended[n] = rivals(n, all);
		listed = list_arrivals(list, contended, &latest);
		if (listed)
			take(&list[explorer_choose(listed)], &latest);
	} while (listed);
	for (unsigned n = 0; n < explorer.model.threads; n++)
		explorer_drain_set(&explorer.thread[n], ~0u);
}
