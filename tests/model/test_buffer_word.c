/* SPDX-License-Identifier: MIT */
/*
 * The word of arena/buffer_map.h, through all interleavings: threads that
 * return one address at once, while its borrower lends it again.
 *
 * What is checked: of the returns of one loan exactly one succeeds; who has
 * succeeded is alone with the descriptor (plain data, so a race is reported)
 * and sees what the borrower wrote there.
 *
 * Mutants: a borrow that does not release, a return that does not acquire, a
 * return by a load and a store.  Each must be caught.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

enum mutant { RIGHT, RELAXED_LEND, RELAXED_RETURN, LOAD_AND_STORE };

static enum mutant mutant;

static bool
load_and_store(_Atomic(uint64_t) *word, uint64_t value)
{
	store_release(word, value);
	return true;
}

#define WORD_LEND(word, value) \
	MODEL_STORE(word, value, mutant == RELAXED_LEND ? \
		    MODEL_ORDER_RELAXED : MODEL_ORDER_RELEASE, "WORD_LEND")
#define WORD_RETURN(word, seen, value) \
	(mutant == LOAD_AND_STORE ? load_and_store(word, value) : \
	 mutant == RELAXED_RETURN ? cas_relaxed(word, seen, value) : \
	 cas_acquire_acquire(word, seen, value))

#include "arena/buffer_cache.h"

#define LOANS 2
#define CLASS 17

static struct buffer buffer;
static map_word word;
static int taker;		/* plain: as what the descriptor holds */
static _Atomic(uint32_t) idle;	/* the buffer, between return and borrow */
static unsigned returned;	/* the explorer's own book */

/* One attempt; the winner passes the buffer on. */
static void
give_back(void)
{
	uint64_t seen;

	if (!word_return(&word, &seen))
		return;
	MODEL_ASSERT(word_buffer(seen) == &buffer);
	MODEL_ASSERT(word_class(seen) == CLASS);
	returned++;
	MODEL_ASSERT(model_plain_read(&taker) != 0);
	model_plain_write(&taker, 0);
	store_release(&idle, 1);
}

static void
lend_out(int who)
{
	MODEL_ASSERT(model_plain_read(&taker) == 0);
	model_plain_write(&taker, who);
	WORD_LEND(&word, buffer.out);
}

/* Lends it whenever it is idle; returns it as well. */
static void
borrower(void)
{
	for (int i = 0; i < LOANS; i++) {
		if (exchange_acquire(&idle, 0) == 0)
			return;
		lend_out(i + 1);
		give_back();
	}
}

static void
setup(void)
{
	memset(&buffer, 0, sizeof(buffer));
	buffer.out = word_out(&buffer, CLASS);
	store_relaxed(&word, buffer.out & ~WORD_OUT);
	store_relaxed(&idle, 1);
	taker = 0;
	returned = 0;
}

/* Every loan has ended once: by one of the attempts, or it is out. */
static void
finish(void)
{
	uint64_t last = load_relaxed(&word);

	MODEL_ASSERT((last & ~WORD_OUT) == (buffer.out & ~WORD_OUT));
	MODEL_ASSERT(load_relaxed(&idle) == !(last & WORD_OUT));
	MODEL_ASSERT(returned <= LOANS);
	MODEL_ASSERT(!word_return(&word, &last) || !load_relaxed(&idle));
}

static struct model_result
explore(enum mutant variant, unsigned threads, enum model_memory memory,
	unsigned preemptions)
{
	struct model model = {
		.name = "buffer word", .threads = threads,
		.thread = { borrower, give_back, give_back },
		.setup = setup, .finish = finish, .memory = memory,
		.preemptions = preemptions, .spurious = 1,
	};

	mutant = variant;
	return model_explore(&model);
}

START_TEST(one_return_succeeds)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++)
		for (unsigned threads = 2; threads <= 3; threads++) {
			struct model_result result =
				explore(RIGHT, threads, memory, 4);

			if (result.failed)
				model_print_schedule(stderr);
			ck_assert_msg(!result.failed, "%s", result.what);
			ck_assert(!result.truncated);
		}
}
END_TEST

START_TEST(mutants_are_caught)
{
	struct model_result result = explore((enum mutant)_i, 3,
					     MODEL_RELAXED, 3);

	ck_assert_msg(result.failed, "mutant %d survived", _i);
	ck_assert_int_ne(result.failure, MODEL_UNUSABLE);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("model_buffer_word");
	TCase *tcase = tcase_create("word");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, one_return_succeeds);
	tcase_add_loop_test(tcase, mutants_are_caught, RELAXED_LEND,
			    LOAD_AND_STORE + 1);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
