/* SPDX-License-Identifier: MIT */
#include "warm/policy.h"

#include <string.h>

/* Moves the entry to another place; those in between close up. */
static void
move(struct policy *policy, uint32_t from, uint32_t to)
{
	struct policy_entry *entry = policy->entry, moved;

	if (from == to)
		return;
	moved = entry[from];
	if (from < to)
		memmove(&entry[from], &entry[from + 1],
			(to - from) * sizeof(*entry));
	else
		memmove(&entry[to + 1], &entry[to],
			(from - to) * sizeof(*entry));
	entry[to] = moved;
}

/* The listed entry becomes the most recent one. */
static struct policy_entry *
touch(struct policy *policy, uint32_t at)
{
	move(policy, at, policy->listed - 1);
	return &policy->entry[policy->listed - 1];
}

/* The listed entry leaves the list, and its slots with it. */
static struct policy_pile
leave(struct policy *policy, uint32_t at, bool evicted)
{
	struct policy_entry *entry = touch(policy, at);
	struct policy_pile pile = { entry->top, entry->ready };

	entry->top = NULL;
	entry->ready = 0;
	entry->evicted = evicted;
	policy->listed--;
	return pile;
}

static bool
is_spent(const struct policy_entry *entry)
{
	return entry->ready == 0 && entry->in_flight == 0;
}

static bool
is_listed(const struct policy *policy, uint32_t at)
{
	return at < policy->listed;
}

struct policy_entry
policy_shed(struct policy *policy)
{
	return policy->entry[--policy->known];
}

void *
policy_claim(struct policy *policy, uint32_t at, void *below)
{
	struct policy_entry *entry;
	void *slot;

	if (!is_listed(policy, at) || policy->entry[at].ready == 0)
		return NULL;
	entry = touch(policy, at);
	slot = entry->top;
	entry->top = below;
	entry->ready--;
	entry->claims++;
	if (is_spent(entry))
		(void)leave(policy, policy->listed - 1, false);
	return slot;
}

/* The id is listed, most recent; true: it thrashes. */
static bool
join(struct policy *policy, uint32_t at, const struct policy_entry *fresh)
{
	struct policy_entry *entry;
	bool thrash;

	if (is_listed(policy, at)) {
		(void)touch(policy, at);
		return false;
	}
	if (at == POLICY_UNKNOWN) {
		at = policy->known++;
		policy->entry[at] = *fresh;
	}
	move(policy, at, policy->listed);
	entry = &policy->entry[policy->listed++];
	thrash = entry->evicted;
	entry->evicted = false;
	return thrash;
}

void
policy_begin(struct policy *policy, uint32_t at,
	     const struct policy_entry *fresh, uint32_t target,
	     struct policy_fill *fill)
{
	struct policy_entry *entry;

	fill->thrash = join(policy, at, fresh);
	entry = &policy->entry[policy->listed - 1];
	fill->spawn = 0;
	if (target > entry->ready && target - entry->ready > entry->in_flight)
		fill->spawn = target - entry->ready - entry->in_flight;
	entry->in_flight += fill->spawn;
	fill->evicted = NULL;
	fill->pile.top = NULL;
	/* One has joined, so one is too many at most. */
	if (policy->listed > policy->cap) {
		fill->evicted = policy->entry[0].id;
		fill->mark = policy->entry[0].mark;
		fill->pile = leave(policy, 0, true);
	}
}

bool
policy_offer(struct policy *policy, uint32_t at, void *slot, void **below,
	     uint32_t *off)
{
	struct policy_entry *entry;

	if (at == POLICY_UNKNOWN) {
		*off -= *off > 0;
		return false;
	}
	entry = &policy->entry[at];
	if (entry->in_flight)
		entry->in_flight--;
	if (!is_listed(policy, at))
		return false;
	*below = entry->top;
	entry->top = slot;
	entry->ready++;
	return true;
}

void
policy_abandon(struct policy *policy, uint32_t at, uint32_t *off)
{
	struct policy_entry *entry;

	if (at == POLICY_UNKNOWN) {
		*off -= *off > 0;
		return;
	}
	entry = &policy->entry[at];
	if (entry->in_flight)
		entry->in_flight--;
	if (is_listed(policy, at) && is_spent(entry))
		(void)leave(policy, at, false);
}

struct policy_pile
policy_drain(struct policy *policy, uint32_t at)
{
	struct policy_pile none = { NULL, 0 };

	return is_listed(policy, at) ? leave(policy, at, false) : none;
}

uint32_t
policy_drain_all(struct policy *policy, struct policy_pile *pile)
{
	uint32_t piles = policy->listed;

	for (uint32_t i = 0; i < piles; i++)
		pile[i] = leave(policy, 0, false);
	return piles;
}

bool
policy_holds(const struct policy *policy)
{
	if (policy->listed > policy->cap ||
	    policy->known < policy->listed ||
	    policy->known - policy->listed > 2 * policy->cap + 1)
		return false;
	for (uint32_t i = 0; i < policy->known; i++) {
		const struct policy_entry *entry = &policy->entry[i];

		if ((entry->top != NULL) != (entry->ready > 0) ||
		    (i >= policy->listed && entry->ready > 0))
			return false;
		for (uint32_t j = 0; j < i; j++)
			if (policy->entry[j].id == entry->id)
				return false;
	}
	return true;
}
