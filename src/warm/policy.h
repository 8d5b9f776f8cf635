/* SPDX-License-Identifier: MIT */
/*
 * Which ids are worth keeping slots for, how many fills a refill owes, and
 * what an eviction hands back.  Plain sequential code over a plain value: no
 * threads, no clock, no allocation.  The pool runs it on a copy (pool.c), the
 * tests run it alone.
 *
 *   entry   [ listed: least .. most recent | departed: latest .. earliest ]
 *            0                       listed                         known
 *
 *            begin            room for one more
 *   (unknown) --> listed <----------------------+
 *                 |  ^                          |
 *    nothing left,|  | begin                    | begin
 *    evicted,     v  |                          |
 *    drained     departed --- shed --> (unknown to the value; its fills in
 *                                       flight, if any, are kept elsewhere)
 *
 * Being listed is the permission to keep slots.  An id that has left the list
 * stays known while at most `cap` others have left after it, one turn of the
 * list, for its counts and to see thrashing; then it is to be shed.  Fills in
 * flight are counted whatever happens to their id: in the entry while it is
 * known, by the caller after that, who brings the count back (`off`).
 *
 * Who an id is, and what a slot is, the caller knows: to the policy both are
 * pointers.  The ready slots of an id are a pile, last in, first out; the
 * caller knows what lies below each.
 *
 * Invariants, policy_holds():
 *	listed <= cap, known <= listed + 2 cap + 1
 *	listed entry:   ready + in_flight > 0 or just begun; top iff ready
 *	departed entry: ready == 0
 */
#ifndef LEND_WARM_POLICY_H
#define LEND_WARM_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct policy_entry {
	void *id;
	uint64_t mark;		/* the caller's, carried along */
	void *top;		/* the latest ready slot, or null */
	uint32_t ready;
	uint32_t in_flight;	/* below 2^31 */
	bool evicted;		/* how it left the list */
	uint64_t claims;	/* that got a slot */
};

struct policy {
	/* Not side by side: compilers would read them as one, see root.h. */
	uint32_t listed;
	uint32_t cap;		/* constant */
	uint32_t known;
	struct policy_entry entry[];	/* POLICY_ROOM(cap) */
};

/* Entries that a value may come to have: a drain of all before any shed. */
#define POLICY_ROOM(cap) (2 * (size_t)(cap) + 2)

/* Where an entry is that is not there. */
#define POLICY_UNKNOWN UINT32_MAX

/* Slots that are handed back: the latest of them, and how many. */
struct policy_pile {
	void *top;
	uint32_t slots;
};

/*
 * The operations.  `at` is the id's entry or POLICY_UNKNOWN.  Before each of
 * them the caller sheds, while policy_sheds().
 */

static inline bool
policy_sheds(const struct policy *policy)
{
	return policy->known - policy->listed > policy->cap;
}

/* The entry that has to go, the earliest departed; it is unknown from now. */
struct policy_entry policy_shed(struct policy *policy);

/*
 * Pops the latest ready slot; null: there is none, and nothing has changed.
 * `below` is what lies below the entry's top.
 */
void *policy_claim(struct policy *policy, uint32_t at, void *below);

struct policy_fill {
	uint32_t spawn;		/* fills that the caller owes now */
	bool thrash;		/* evicted less than a turn of the list ago */
	struct policy_pile pile; /* evicted: for teardown */
	void *evicted;		/* whose pile it was, or null */
	uint64_t mark;
};

/*
 * Plans fills up to `target` > 0.  `fresh` is what an unknown id begins as:
 * its fills in flight come from the caller, who keeps them no longer.
 */
void policy_begin(struct policy *policy, uint32_t at,
		  const struct policy_entry *fresh, uint32_t target,
		  struct policy_fill *fill);

/*
 * One fill in flight less.  True: the slot is ready, and *below is what has
 * come to lie below it.  False: it is handed back.  `off`: fills in flight of
 * an unknown id.
 */
bool policy_offer(struct policy *policy, uint32_t at, void *slot,
		  void **below, uint32_t *off);

/* One fill in flight less. */
void policy_abandon(struct policy *policy, uint32_t at, uint32_t *off);

/* The id leaves the list. */
struct policy_pile policy_drain(struct policy *policy, uint32_t at);

/* All ids leave the list; a pile for each of them, in this order. */
uint32_t policy_drain_all(struct policy *policy, struct policy_pile *pile);

/* The invariants above. */
bool policy_holds(const struct policy *policy);

#endif
