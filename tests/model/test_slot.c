/* SPDX-License-Identifier: MIT */
/*
 * The slot protocol of arena/slot.h, through all interleavings: one owner
 * that lends and returns, one or two trimmers.
 *
 * What is checked: the buffers' content belongs to one at a time (it is plain
 * data, so a race is reported, and a release during a loan seen); the account
 * never falls below zero (lend_check in the real code); at the end it is what
 * the slot has.
 *
 * The mutants weaken one step each; each must be caught.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

enum mutant {
	RIGHT,
	NO_BARRIER,		/* the trimmer omits b */
	BARRIER_FIRST,		/* b before a */
	LOOK_FIRST,		/* the owner's 3 before 1 */
	NO_COMPILER_BARRIER,	/* 2 is missing */
	ALWAYS_FAST,		/* the owner ignores 3 */
	RELAXED_LOOK,		/* 3 does not acquire */
	RELAXED_UNBUSY,		/* 6 does not release */
	RELAXED_BUSY_LOOK,	/* c does not acquire */
	RELAXED_END,		/* f does not release */
	RELAXED_PUT,		/* 5 does not release */
	PUT_BEFORE_ACCOUNT,	/* 5 before 4 */
	PLAIN_ACCOUNT		/* 4 slow, by a plain store */
};

static enum mutant mutant;

static bool
barrier(void)
{
	if (mutant != NO_BARRIER && mutant != BARRIER_FIRST)
		model_membarrier();
	return true;
}

static _Atomic(uint32_t) about;		/* the arena's `trimmers` */
static uint32_t looked;			/* what LOOK_FIRST saw of it */

#define SLOT_MEMBARRIER() barrier()
#define SLOT_MARK_BUSY(slot) do { \
	if (mutant == LOOK_FIRST) \
		looked = load_acquire(&about); \
	store_relaxed(&(slot)->loan.busy, 1); \
	if (mutant != NO_COMPILER_BARRIER) \
		compiler_barrier(); \
} while (0)
#define SLOT_TRIMMERS(trimmers) \
	(mutant == ALWAYS_FAST ? 0 : mutant == LOOK_FIRST ? looked : \
	 mutant == RELAXED_LOOK ? load_relaxed(trimmers) : \
	 load_acquire(trimmers))
#define SLOT_UNBUSY(slot) \
	(mutant == RELAXED_UNBUSY ? store_relaxed(&(slot)->loan.busy, 0) : \
	 store_release(&(slot)->loan.busy, 0))

#undef store_release
#define store_release(p, v) \
	MODEL_STORE(p, v, mutant == RELAXED_PUT ? MODEL_ORDER_RELAXED : \
		    MODEL_ORDER_RELEASE, "store_release(" #p ", " #v ")")
#undef fetch_sub_release
#define fetch_sub_release(p, v) \
	MODEL_FETCH_ADD(p, -MODEL_WORD(p, v), mutant == RELAXED_END ? \
			MODEL_ORDER_RELAXED : MODEL_ORDER_RELEASE, \
			"fetch_sub_release(" #p ", " #v ")")


#include "arena/slot.h"

#define ROUNDS 2
#define DESCRIPTORS (ROUNDS + 1)

static struct slot slot;
static struct bufs pool[DESCRIPTORS];
static int content[DESCRIPTORS];	/* plain: the storage itself */
static unsigned used;			/* the owner's */
/*
 * Stands in for the account where a fast loan stores it: that store and each
 * trimmer's subtraction must be ordered, as accesses to plain data are.
 */
static int account[MODEL_THREADS];
static bool fast;

static int *
content_of(struct bufs *bufs)
{
	return &content[bufs - pool];
}

/* The loan itself: exclusive use, and a growth where there is nothing. */
static void
use(struct bufs *bufs, int round)
{
	model_plain_write(content_of(bufs), round);
	model_step();
	MODEL_ASSERT(model_plain_read(content_of(bufs)) == round);
}

/* As arena/worker.c does it; growth during the loan, settled at return. */
static void
give_back(struct bufs *bufs, size_t before, size_t after)
{
	uint32_t flags = slot.loan.flags;

	store_relaxed(&bufs->bytes, after);
	if (after != before)
		slot_lend(&slot, bufs, SLOT_GROWN);
	if (mutant == PUT_BEFORE_ACCOUNT) {
		slot_return(&slot, bufs);
		slot.loan.flags = flags;
		slot_settle(&slot, before, after);
		slot.loan.flags = 0;
		return;
	}
	if (mutant == PLAIN_ACCOUNT)
		slot.loan.flags &= ~SLOT_SLOW;
	if (!(flags & SLOT_SLOW) && after != before)
		for (unsigned i = 0; i < MODEL_THREADS; i++)
			model_plain_write(&account[i], 0);
	slot_settle(&slot, before, after);
	slot.loan.flags |= flags;
	slot_return(&slot, slot.loan.flags ? slot_lent(&slot) : NULL);
}

static void
owner(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct bufs *bufs = slot_checkout(&slot, &about);
		size_t before;

		if (!bufs) {
			MODEL_ASSERT(used < DESCRIPTORS);
			bufs = &pool[used++];
			slot_lend(&slot, bufs, SLOT_FRESH);
		} else if (slot.loan.flags) {
			slot_lend(&slot, bufs, 0);
		}
		before = bufs_bytes(bufs);
		use(bufs, round);
		give_back(bufs, before, before + (before == 0 || round == 0));
	}
}

static void
trimmer(void)
{
	struct bufs *bufs;

	if (mutant == BARRIER_FIRST)
		model_membarrier();
	MODEL_ASSERT(slot_trim_begin(&about, fast));
	if (mutant == RELAXED_BUSY_LOOK) {
		/* slot_reclaim with a look that orders nothing. */
		if (load_relaxed(&slot.loan.busy)) {
			slot_trim_end(&about);
			return;
		}
		bufs = exchange_relaxed(&slot.bufs, NULL);
		if (bufs)
			fetch_sub_relaxed(&slot.bytes, bufs_bytes(bufs));
	} else {
		bufs = slot_reclaim(&slot);
	}
	if (bufs) {
		model_plain_write(&account[model_self()], 1);
		model_plain_write(content_of(bufs), -1);
		store_relaxed(&bufs->bytes, 0);
	}
	slot_trim_end(&about);
}

static void
setup(void)
{
	memset(&slot, 0, sizeof(slot));
	memset(pool, 0, sizeof(pool));
	memset(content, 0, sizeof(content));
	memset(account, 0, sizeof(account));
	/* One idle descriptor with storage, as after a first loan. */
	used = 1;
	store_relaxed(&pool[0].bytes, 1);
	store_relaxed(&slot.bufs, &pool[0]);
	store_relaxed(&slot.bytes, 1);
	store_relaxed(&about, fast ? 0 : 1);
}

static void
finish(void)
{
	struct bufs *bufs = load_relaxed(&slot.bufs);

	MODEL_ASSERT(load_relaxed(&slot.loan.busy) == 0);
	MODEL_ASSERT(load_relaxed(&slot.bytes) ==
		     (bufs ? bufs_bytes(bufs) : 0));
	MODEL_ASSERT(load_relaxed(&about) == (fast ? 0 : 1));
}

static struct model_result
explore(enum mutant variant, bool goes_fast, unsigned trims,
	enum model_memory memory, unsigned preemptions)
{
	struct model model = {
		.name = "slot", .threads = 1 + trims,
		.thread = { owner, trimmer, trimmer },
		.setup = setup, .finish = finish, .memory = memory,
		.preemptions = preemptions,
	};

	mutant = variant;
	fast = goes_fast;
	return model_explore(&model);
}

static void
expect_right(struct model_result result)
{
	if (result.failed)
		model_print_schedule(stderr);
	ck_assert_msg(!result.failed, "%s", result.what);
	ck_assert(!result.truncated);
}

START_TEST(one_trimmer_is_clean)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++)
		expect_right(explore(RIGHT, true, 1, memory, 100));
}
END_TEST

START_TEST(two_trimmers_are_clean)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++)
		expect_right(explore(RIGHT, true, 2, memory, 3));
}
END_TEST

START_TEST(exchange_alone_is_clean)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
		expect_right(explore(RIGHT, false, 1, memory, 100));
		expect_right(explore(RIGHT, false, 2, memory, 3));
	}
}
END_TEST

/* A mutant must be caught with one trimmer or with two. */
START_TEST(mutants_are_caught)
{
	enum mutant variant = (enum mutant)_i;
	struct model_result result;

	result = explore(variant, true, 1, MODEL_RELAXED, 3);
	if (!result.failed)
		result = explore(variant, true, 2, MODEL_RELAXED, 2);
	ck_assert_msg(result.failed, "mutant %d survived", _i);
	ck_assert_int_ne(result.failure, MODEL_UNUSABLE);
}
END_TEST

/* The barrier is needed already where stores are only buffered. */
START_TEST(missing_barrier_is_caught_under_tso)
{
	ck_assert(explore(NO_BARRIER, true, 1, MODEL_TSO, 2).failed);
	ck_assert(!explore(NO_BARRIER, true, 1, MODEL_SC, 2).failed);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("model_slot");
	TCase *tcase = tcase_create("slot");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, one_trimmer_is_clean);
	tcase_add_test(tcase, two_trimmers_are_clean);
	tcase_add_test(tcase, exchange_alone_is_clean);
	tcase_add_loop_test(tcase, mutants_are_caught, NO_BARRIER,
			    PLAIN_ACCOUNT + 1);
	tcase_add_test(tcase, missing_barrier_is_caught_under_tso);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
