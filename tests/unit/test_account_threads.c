/* SPDX-License-Identifier: MIT */
/*
 * The accounts while 8 threads do everything at once: exact when settled,
 * in order in every snapshot taken meanwhile.
 */
#include "lend/arena.h"

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "support/audit.h"
#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define HANDS 8
#define NESTED 3
#define LEASES 3
#define ROUNDS 10

/* What no sum of what is out here can reach: a count that wrapped does. */
#define TOO_MUCH ((size_t)1 << 40)

struct crowd {
	lend_arena *arena;
	unsigned operations;	/* of each hand, in each round */
	unsigned round;
	atomic_int at_work;
	atomic_int errors;	/* other than those that were provoked */
	/* The sampler's. */
	unsigned long snapshots;
	unsigned wrong;
	size_t most_slots_out, most_sets_out;
};

struct hand {
	struct crowd *crowd;
	uint64_t random;
	struct lend_worker loan[1 + NESTED];
	unsigned loans;
	struct lend_team lease[LEASES];
	unsigned leases;
};

static void
must(struct hand *hand, int error)
{
	/* Memory may fail at any time, see provoke(). */
	if (error && error != -ENOMEM)
		atomic_fetch_add(&hand->crowd->errors, 1);
}

static void
do_checkout(struct hand *hand)
{
	struct lend_req req =
		worker_req(random_size(&hand->random, 32768),
			   random_size(&hand->random, 8192),
			   random_size(&hand->random, 1024));
	int error;

	if (hand->loans > NESTED)
		return;
	error = lend_worker_checkout(hand->crowd->arena, &req,
				     &hand->loan[hand->loans]);
	hand->loans += error == 0;
	must(hand, error);
}

static void
do_checkin(struct hand *hand)
{
	if (hand->loans)
		must(hand, lend_worker_return(hand->crowd->arena,
					      &hand->loan[--hand->loans]));
}

static void
do_resize(struct hand *hand)
{
	size_t length = random_size(&hand->random, 2048);

	if (hand->loans)
		must(hand, lend_worker_scatter_resize(hand->crowd->arena,
				&hand->loan[hand->loans - 1], length));
	if (hand->leases)
		must(hand, lend_team_scatter_resize(hand->crowd->arena,
				&hand->lease[hand->leases - 1], length));
}

static void
do_take(struct hand *hand)
{
	struct lend_req req = team_req(random_size(&hand->random, 1024),
				       random_below(&hand->random, 100));
	int error;

	if (hand->leases == LEASES)
		return;
	error = lend_team_take(hand->crowd->arena, &req, 2, 3,
			       &hand->lease[hand->leases]);
	hand->leases += error == 0;
	must(hand, error);
}

static void
do_panel(struct hand *hand)
{
	if (hand->leases)
		must(hand, lend_team_panel(hand->crowd->arena,
				&hand->lease[hand->leases - 1],
				random_size(&hand->random, 65536)));
}

static void
do_team_shrink(struct hand *hand)
{
	if (hand->leases)
		must(hand, lend_team_scatter_shrink(hand->crowd->arena,
				&hand->lease[hand->leases - 1]));
}

static void
do_team_return(struct hand *hand)
{
	if (hand->leases)
		must(hand, lend_team_return(hand->crowd->arena,
					    &hand->lease[--hand->leases]));
}

static void
do_trim(struct hand *hand)
{
	must(hand, lend_arena_trim(hand->crowd->arena));
}

/* One of the next allocations fails, whoever makes it; and what must fail. */
static void
provoke(struct hand *hand)
{
	struct lend_req req = worker_req(SIZE_MAX, 1, 1);
	struct lend_worker loan;

	fault_fail_nth(FAULT_ANY, 1 + random_below(&hand->random, 5));
	/* A first checkout of a thread may lack memory for its slot. */
	must(hand, lend_worker_checkout(hand->crowd->arena, &req, &loan) ==
	     0 ? -EINVAL : 0);
	req = team_req(SIZE_MAX, 1);
	must(hand, lend_team_take(hand->crowd->arena, &req, 1, 1,
				  &hand->lease[0]) == 0 ? -EINVAL : 0);
}

static void
do_something(struct hand *hand)
{
	static void (*const ops[])(struct hand *) = {
		do_checkout, do_checkout, do_checkin, do_checkin, do_resize,
		do_take, do_panel, do_team_shrink, do_team_return,
		do_team_return,
	};
	unsigned n = sizeof(ops) / sizeof(ops[0]);
	unsigned op = random_below(&hand->random, n * 10);

	if (op < 2)
		do_trim(hand);
	else if (op == 2 && hand->leases == 0)
		provoke(hand);
	else
		ops[op % n](hand);
}

/* Looks on until nobody is at work. */
static void
sample(struct crowd *crowd)
{
	do {
		struct lend_stats stats = stats_of(crowd->arena);

		if (stats.leased_bytes > stats.retained_bytes ||
		    stats.panel_bytes > stats.retained_bytes ||
		    stats.retained_bytes > TOO_MUCH ||
		    stats.slots_out > HANDS ||
		    stats.slots_out + stats.slots_idle > HANDS ||
		    stats.sets_out > HANDS * LEASES)
			crowd->wrong++;
		if (stats.slots_out > crowd->most_slots_out)
			crowd->most_slots_out = stats.slots_out;
		if (stats.sets_out > crowd->most_sets_out)
			crowd->most_sets_out = stats.sets_out;
		crowd->snapshots++;
		sched_yield();
	} while (atomic_load(&crowd->at_work) > 0);
}

static void
hand_main(size_t index, void *ctx)
{
	struct crowd *crowd = ctx;
	struct hand hand = {
		.crowd = crowd,
		.random = (uint64_t)crowd->round << 8 | index,
	};

	if (index == HANDS) {
		sample(crowd);
		return;
	}
	for (unsigned i = 0; i < crowd->operations; i++)
		do_something(&hand);
	while (hand.loans)
		do_checkin(&hand);
	while (hand.leases)
		do_team_return(&hand);
	atomic_fetch_sub(&crowd->at_work, 1);
}

static void
assert_round(struct crowd *crowd)
{
	struct audit audit = audit_arena(crowd->arena);

	ck_assert_int_eq(atomic_load(&crowd->errors), 0);
	ck_assert_uint_eq(crowd->wrong, 0);
	stats_settled(crowd->arena);
	ck_assert_ptr_null(audit.wrong);
	ck_assert_uint_eq(audit.retained, outstanding());
	ck_assert_uint_eq(audit.privates, 0);
	ck_assert_uint_eq(audit.panels, stats_of(crowd->arena).panel_bytes);
}

/*
 * "Exact whenever the arena is settled; equal to the sum over what is there";
 * "at any moment, in any interleaving: leased <= retained; nothing negative,
 * nothing wrapped"; reading them meanwhile "stops nobody".
 */
START_TEST(the_accounts_are_exact_after_a_crowd)
{
	struct crowd crowd = {
		.arena = arena_of(NULL),
		.operations = scale(100000) / (HANDS * ROUNDS) + 1,
	};

	for (crowd.round = 0; crowd.round < ROUNDS; crowd.round++) {
		atomic_store(&crowd.at_work, HANDS);
		crew_run(HANDS + 1, hand_main, &crowd);
		fault_fail_nth(0, 0);
		assert_round(&crowd);
		/* Bounded by the threads at once, not by all there were. */
		ck_assert_uint_le(stats_of(crowd.arena).slots_idle, HANDS);
	}
	ck_assert_uint_ge(crowd.snapshots, ROUNDS);
	ck_assert_uint_ge(crowd.most_slots_out, 1);
	ck_assert_uint_ge(crowd.most_sets_out, 1);
	ck_assert_uint_ge(fault_counts().failed, 1);
	ck_assert_uint_ge(stats_of(crowd.arena).adopted, 1);
	ck_assert_int_eq(lend_arena_trim(crowd.arena), 0);
	ck_assert_uint_eq(outstanding(), 0);
	stats_settled(crowd.arena);
	arena_end(crowd.arena);
}
END_TEST

int
main(void)
{
	static const char *const confs[] = { "membarrier:false", NULL };
	Suite *suite = suite_create("account of threads");
	TCase *crowd = watched_case(suite, "crowd");

	tcase_add_test(crowd, the_accounts_are_exact_after_a_crowd);
	return suite_run_also(suite, confs);
}
