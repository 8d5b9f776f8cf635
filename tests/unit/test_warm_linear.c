/* SPDX-License-Identifier: MIT */
/*
 * The pool by several threads: as if its operations happened one at a time, in
 * an order that respects real time.  Threads step aside in the middle of
 * operations, as without that nothing would ever be found.
 *
 * Mutants that must be caught: pools that do in two steps what has to be one
 * (a look that is over when it is believed, a decrement that gets lost, a
 * touch that comes later), and the pool itself, never looking at its root
 * again.
 */
#include <lend/warm.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "support/linear.h"
#include "support/loans.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/warm_hook.h"

#define ROUNDS 20000
/* Of a mutant, until it is caught. */
#define BATCH 1000

static void
perform_on_pool(void *object, struct warm_op *op)
{
	warm_pool_do(object, op);
}

static unsigned
rounds_on_pool(unsigned threads, unsigned operations, unsigned cap,
	       unsigned ids, unsigned rounds, uint64_t seed)
{
	struct linear_run run = {
		.perform = perform_on_pool, .threads = threads,
		.operations = operations, .cap = cap, .ids = ids,
		.rounds = rounds, .seed = seed,
	};
	lend_warm_pool *pool;
	unsigned bad;

	ck_assert_int_eq(lend_warm_pool_create(&pool, cap), 0);
	run.object = pool;
	bad = linear_run(&run);
	ck_assert_int_eq(lend_warm_pool_destroy(pool), 0);
	return bad;
}

START_TEST(rounds_are_linearizable)
{
	warm_hook = warm_hook_step_aside;
	ck_assert_uint_eq(rounds_on_pool(3, 6, 2, 3, scale(ROUNDS / 2), 1), 0);
	ck_assert_uint_eq(rounds_on_pool(3, 6, 1, 4, scale(ROUNDS / 4), 2), 0);
	ck_assert_uint_eq(rounds_on_pool(6, 3, 2, 3, scale(ROUNDS / 4), 3), 0);
	warm_hook = NULL;
}
END_TEST

/* It believes what it has read, whatever has happened since. */
START_TEST(mutant_that_never_looks_again_is_caught)
{
	unsigned bad = 0;

	warm_hook = warm_hook_step_aside;
	warm_hook_credulous = true;
	for (uint64_t seed = 0; seed < 50 && bad == 0; seed++)
		bad = rounds_on_pool(3, 6, 2, 3, BATCH, seed);
	warm_hook_credulous = false;
	warm_hook = NULL;
	ck_assert_uint_gt(bad, 0);
}
END_TEST

/* Pools that are wrong: a lock, but let go in the middle. */

enum flaw { NO_FLAW, STALE_LOOK, LOST_DECREMENT, LATE_TOUCH };

static struct {
	pthread_mutex_t lock;
	struct warm_model model;
	enum flaw flaw;
} flawed = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void
let_go(void)
{
	pthread_mutex_unlock(&flawed.lock);
	warm_hook_step_aside(0);
	pthread_mutex_lock(&flawed.lock);
}

/* Looks through the ids one by one, and finds none. */
static bool
looks_in_vain(const struct warm_op *op)
{
	bool none = flawed.model.id[op->id].ready == 0;

	if (none)
		let_go();
	return none;
}

static void
stale_drain(struct warm_op *op)
{
	struct warm_op part = { .kind = WARM_DRAIN };
	unsigned back = 0;

	for (part.id = 0; part.id < flawed.model.ids; part.id++) {
		warm_model_do(&flawed.model, &part);
		for (unsigned i = 0; i < part.back; i++)
			op->slots[back++] = part.slots[i];
		let_go();
	}
	op->back = back;
	op->result = 0;
	op->slot = 0;
	op->spawn = 0;
}

static void
lost_decrement(struct warm_op *op)
{
	uint16_t *in_flight = &flawed.model.id[op->id].in_flight;
	uint16_t before = *in_flight;

	let_go();
	*in_flight = before;
	warm_model_do(&flawed.model, op);
}

/* Keeps the recency as it is, and changes it later. */
static void
late_touch(struct warm_op *op)
{
	struct warm_model before = flawed.model;
	struct warm_op touch = { .kind = WARM_BEGIN, .id = op->id, .arg = 1 };

	warm_model_do(&flawed.model, op);
	if (op->result || flawed.model.listed != before.listed)
		return;
	memcpy(flawed.model.order, before.order, sizeof(before.order));
	let_go();
	/* Most recent, and no more. */
	if (!warm_model_listed(&flawed.model, op->id) ||
	    flawed.model.id[op->id].ready + flawed.model.id[op->id].in_flight
	    == 0)
		return;
	warm_model_do(&flawed.model, &touch);
}

static void
perform_on_flawed(void *object, struct warm_op *op)
{
	(void)object;
	pthread_mutex_lock(&flawed.lock);
	if (flawed.flaw == STALE_LOOK && op->kind == WARM_DRAIN_ALL)
		stale_drain(op);
	else if (flawed.flaw == STALE_LOOK && op->kind == WARM_CLAIM &&
		 looks_in_vain(op))
		warm_model_do(&flawed.model, op);
	else if (flawed.flaw == LOST_DECREMENT && op->kind == WARM_OFFER)
		lost_decrement(op);
	else if (flawed.flaw == LATE_TOUCH && op->kind == WARM_CLAIM)
		late_touch(op);
	else
		warm_model_do(&flawed.model, op);
	pthread_mutex_unlock(&flawed.lock);
}

static unsigned
rounds_on_flawed(enum flaw flaw, unsigned rounds, uint64_t seed)
{
	struct linear_run run = {
		.perform = perform_on_flawed, .threads = 3, .operations = 6,
		.cap = 2, .ids = 3, .rounds = rounds, .seed = seed,
	};

	flawed.flaw = flaw;
	warm_model_init(&flawed.model, run.cap, run.ids);
	return linear_run(&run);
}

START_TEST(the_search_finds_right_what_is_right)
{
	ck_assert_uint_eq(rounds_on_flawed(NO_FLAW, scale(2000), 1), 0);
}
END_TEST

START_TEST(mutants_in_two_steps_are_caught)
{
	unsigned bad = 0;

	for (uint64_t seed = 0; seed < 50 && bad == 0; seed++)
		bad = rounds_on_flawed((enum flaw)_i, BATCH, seed);
	ck_assert_uint_gt(bad, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warm_linear");
	TCase *tcase = watched_case(suite, "threads");

	tcase_set_timeout(tcase, 240);
	tcase_add_test(tcase, rounds_are_linearizable);
	tcase_add_test(tcase, the_search_finds_right_what_is_right);
	/* What the search finds is the same under tools. */
	if (scale(2) == 2) {
		tcase_add_test(tcase, mutant_that_never_looks_again_is_caught);
		tcase_add_loop_test(tcase, mutants_in_two_steps_are_caught,
				    STALE_LOOK, LATE_TOUCH + 1);
	}
	return suite_run(suite);
}
