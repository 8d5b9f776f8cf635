/* SPDX-License-Identifier: MIT */
#include "support/warm_crowd.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "support/crew.h"
#include "support/random.h"

#define SLOTS 64		/* of each thread */
#define IDS 64

enum { WITH_A_THREAD, IN_THE_POOL };

struct slot {
	_Atomic(unsigned) place;
	unsigned number;	/* plain: whose hands it is in may write it */
};

struct member {
	struct crowd *crowd;
	uint64_t random;
	unsigned held;
	struct slot *hand[16 * SLOTS];	/* slots that it has */
	unsigned owed[IDS];		/* fills that it has begun */
	uint64_t claims, backs, rejected;
};

static struct crowd {
	struct warm_crowd *wish;
	struct slot slot[16 * SLOTS];
	struct member member[16];
	_Atomic(const char *) wrong;
} crowd;

static void
complain(const char *what)
{
	/* Release: the text is constant. */
	store_release(&crowd.wrong, what);
}

static void
leave_hands(struct slot *slot)
{
	slot->number++;
	/* Relaxed: that the pool orders it is what is tested. */
	if (exchange_relaxed(&slot->place, IN_THE_POOL) != WITH_A_THREAD)
		complain("a slot was offered that was in the pool");
}

static void
come_back(struct member *member, struct slot *slot)
{
	/* Relaxed: as above. */
	if (exchange_relaxed(&slot->place, WITH_A_THREAD) != IN_THE_POOL)
		complain("a slot came out twice");
	slot->number++;
	member->hand[member->held++] = slot;
}

static void
handed_back(void *slot, void *ctx)
{
	struct member *member = ctx;

	member->backs++;
	come_back(member, slot);
}

static void
claim(struct member *member, const char *id)
{
	void *slot;
	int result = lend_warm_pool_claim(crowd.wish->pool, id, &slot);

	if (result == 0) {
		member->claims++;
		come_back(member, slot);
	} else if (result != -ENOENT) {
		complain("a claim failed");
	}
}

static void
begin(struct member *member, const char *id, unsigned which)
{
	size_t spawn;

	if (lend_warm_pool_begin_fill(crowd.wish->pool, id,
				      random_below(&member->random, 6), &spawn,
				      handed_back, member))
		complain("a fill was not begun");
	else
		member->owed[which] += (unsigned)spawn;
}

static void
end_fill(struct member *member, const char *id, unsigned which)
{
	struct slot *slot;
	int result;

	if (member->owed[which] == 0)
		return;
	member->owed[which]--;
	if (member->held == 0 || random_below(&member->random, 5) == 0) {
		if (lend_warm_pool_abandon_fill(crowd.wish->pool, id))
			complain("a fill was not abandoned");
		return;
	}
	slot = member->hand[--member->held];
	leave_hands(slot);
	result = lend_warm_pool_offer(crowd.wish->pool, id, slot);
	if (result == -ECANCELED) {
		member->rejected++;
		come_back(member, slot);
	} else if (result) {
		complain("an offer failed");
	}
}

static void
look(void)
{
	struct lend_warm_stats stats;

	if (lend_warm_pool_stats(crowd.wish->pool, &stats))
		complain("no statistics");
	else if (stats.ready > crowd.wish->threads * SLOTS)
		complain("more slots are ready than there are");
	else if (stats.in_flight > UINT32_MAX)
		complain("fills in flight have wrapped");
}

static void
one(struct member *member)
{
	unsigned dice = random_below(&member->random, 1000);
	/* A few are asked for as often as all the others, so that some stay. */
	unsigned few = crowd.wish->ids < 4 ? crowd.wish->ids : 4;
	unsigned which = random_below(&member->random,
				      random_below(&member->random, 2) ? few :
				      crowd.wish->ids);
	char id[24];

	snprintf(id, sizeof(id), "%u of the crowd", which);
	if (dice < 350)
		claim(member, id);
	else if (dice < 600)
		begin(member, id, which);
	else if (dice < 950)
		end_fill(member, id, which);
	else if (dice < 980)
		look();
	else if (dice < 999 && lend_warm_pool_drain(crowd.wish->pool, id,
						    handed_back, member))
		complain("a drain failed");
	else if (dice == 999 && lend_warm_pool_drain_all(crowd.wish->pool,
							 handed_back, member))
		complain("a drain of all failed");
}

static void
work(size_t self, void *ctx)
{
	struct member *member = &crowd.member[self];

	(void)ctx;
	for (unsigned i = 0; i < crowd.wish->operations; i++)
		one(member);
}

static void
begin_crowd(struct warm_crowd *wish)
{
	memset(&crowd, 0, sizeof(crowd));
	crowd.wish = wish;
	for (unsigned i = 0; i < wish->threads; i++) {
		struct member *member = &crowd.member[i];

		member->random = wish->seed + i;
		for (unsigned k = 0; k < SLOTS; k++)
			member->hand[member->held++] =
				&crowd.slot[i * SLOTS + k];
	}
}

/* All is with threads again, and nothing is in flight. */
static void
take_stock(void)
{
	struct warm_crowd *wish = crowd.wish;
	struct lend_warm_stats stats;
	unsigned held = 0;
	char id[24];

	for (unsigned i = 0; i < wish->threads; i++) {
		struct member *member = &crowd.member[i];

		for (unsigned which = 0; which < wish->ids; which++) {
			snprintf(id, sizeof(id), "%u of the crowd", which);
			for (; member->owed[which]; member->owed[which]--)
				if (lend_warm_pool_abandon_fill(wish->pool,
								id))
					complain("a fill was not abandoned");
		}
		wish->claims += member->claims;
		wish->backs += member->backs;
		wish->rejected += member->rejected;
	}
	if (lend_warm_pool_drain_all(wish->pool, handed_back,
				     &crowd.member[0]) ||
	    lend_warm_pool_stats(wish->pool, &stats))
		complain("the last drain failed");
	for (unsigned i = 0; i < wish->threads; i++)
		held += crowd.member[i].held;
	if (held != wish->threads * SLOTS)
		complain("a slot is lost");
	if (stats.ready || stats.in_flight || stats.pooled)
		complain("something is left in the pool");
	if (stats.claims != wish->claims || stats.rejected != wish->rejected)
		complain("the counts are not exact");
}

const char *
warm_crowd_run(struct warm_crowd *wish)
{
	begin_crowd(wish);
	crew_run(wish->threads, work, NULL);
	take_stock();
	/* Pairs with the release in complain(). */
	return load_acquire(&crowd.wrong);
}
