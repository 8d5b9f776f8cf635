/* SPDX-License-Identifier: MIT */
/*
 * The stack of sync/stack.h, through all interleavings.
 *
 * Nodes carry a plain word that their owner alone may touch: the explorer
 * reports a race when two threads own a node at once, or when a pop does not
 * acquire what the push released.  At the end every node that nobody holds is
 * on the stack once.
 *
 * Mutants: no version, a version of two bits, a push that does not release, a
 * pop that does not acquire.  Each must be caught.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

enum mutant { RIGHT, NO_VERSION, TWO_BITS, RELAXED_PUSH, RELAXED_POP };

static enum mutant mutant;

static unsigned
version_bits(void)
{
	switch (mutant) {
	case NO_VERSION: return 0;
	case TWO_BITS: return 2;
	default: return 40;
	}
}

#define STACK_VERSION_BITS version_bits()
#define STACK_BACK_OFF() ((void)0)

/* The orders that carry the proof, weakened on demand. */
#undef cas_release_relaxed
#define cas_release_relaxed(p, expected, v) \
	MODEL_CAS(p, expected, v, mutant == RELAXED_PUSH ? \
		  MODEL_ORDER_RELAXED : MODEL_ORDER_RELEASE, \
		  MODEL_ORDER_RELAXED, "cas_release_relaxed(" #p ")")
#undef cas_acq_rel_acquire
#define POP_ORDER (mutant == RELAXED_POP ? MODEL_ORDER_RELAXED : \
		   MODEL_ORDER_ACQUIRE)
#define cas_acq_rel_acquire(p, expected, v) \
	MODEL_CAS(p, expected, v, POP_ORDER | MODEL_ORDER_RELEASE, \
		  POP_ORDER, "cas_acq_rel_acquire(" #p ")")
#undef load_acquire
#define load_acquire(p) MODEL_LOAD(p, POP_ORDER, "load_acquire(" #p ")")

#include "sync/stack.h"

#define NODES 3

struct item {
	struct node node;
	uint32_t owned;		/* plain: its owner's alone */
	uint32_t pad;
};

static struct item items[NODES];
static struct registry registry;
static struct stack stack;
static bool held[NODES];	/* the explorer's own book */

static void
take(struct item *item)
{
	MODEL_ASSERT(!held[item->node.index]);
	held[item->node.index] = true;
	model_plain_write(&item->owned, model_plain_read(&item->owned) + 1);
}

static struct item *
pop(void)
{
	struct item *item = (struct item *)stack_pop(&stack, &registry);

	if (item)
		take(item);
	return item;
}

static void
push(struct item *item)
{
	model_plain_write(&item->owned, model_plain_read(&item->owned) + 1);
	held[item->node.index] = false;
	stack_push(&stack, &item->node);
}

static void
pop_and_push(void)
{
	struct item *item = pop();

	if (item)
		push(item);
}

/* Brings the first node back while the second stays out: makes an ABA. */
static void
pop_two_push_one(void)
{
	struct item *first = pop();

	if (!first)
		return;
	(void)pop();
	push(first);
}

/* The same with four changes of the head: wraps a version of two bits. */
static void
pop_three_push_one(void)
{
	struct item *first = pop();

	if (!first)
		return;
	(void)pop();
	(void)pop();
	push(first);
}

static void
pop_two(void)
{
	(void)pop();
	(void)pop();
}

static void
setup(void)
{
	memset(items, 0, sizeof(items));
	memset(&registry, 0, sizeof(registry));
	memset(held, 0, sizeof(held));
	memset(&stack, 0, sizeof(stack));
	registry.object_bytes = sizeof(struct item);
	registry.shift = 2;
	store_relaxed(&registry.chunk[0], (char *)items);
	store_relaxed(&registry.count, NODES);
	for (uint32_t i = 0; i < NODES; i++) {
		items[i].node.index = i;
		stack_push(&stack, &items[i].node);
	}
}

static void
finish(void)
{
	bool seen[NODES] = { false };
	struct node *node;
	unsigned free = 0;

	while ((node = stack_pop(&stack, &registry))) {
		MODEL_ASSERT(free++ < NODES);
		MODEL_ASSERT(!seen[node->index]);
		MODEL_ASSERT(!held[node->index]);
		seen[node->index] = true;
	}
	for (uint32_t i = 0; i < NODES; i++)
		MODEL_ASSERT(seen[i] || held[i]);
}

static struct model_result
explore(enum mutant variant, enum model_memory memory, unsigned preemptions,
	void (*a)(void), void (*b)(void), void (*c)(void))
{
	struct model model = {
		.name = "stack", .threads = c ? 3 : 2, .thread = { a, b, c },
		.setup = setup, .finish = finish, .memory = memory,
		.preemptions = preemptions, .spurious = 1,
	};

	mutant = variant;
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

START_TEST(two_threads_are_clean)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
		expect_right(explore(RIGHT, memory, 4, pop_and_push,
				     pop_two_push_one, NULL));
		expect_right(explore(RIGHT, memory, 3, pop_and_push,
				     pop_three_push_one, NULL));
	}
}
END_TEST

START_TEST(three_threads_are_clean)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
		expect_right(explore(RIGHT, memory, 2, pop_and_push,
				     pop_two_push_one, pop_and_push));
		expect_right(explore(RIGHT, memory, 2, pop_and_push,
				     pop_two_push_one, pop_two));
	}
}
END_TEST

START_TEST(mutant_without_version_is_caught)
{
	ck_assert(explore(NO_VERSION, MODEL_SC, 2, pop_and_push,
			  pop_two_push_one, NULL).failed);
}
END_TEST

START_TEST(mutant_with_two_bits_is_caught)
{
	ck_assert(explore(TWO_BITS, MODEL_SC, 2, pop_and_push,
			  pop_three_push_one, NULL).failed);
}
END_TEST

START_TEST(mutant_push_that_does_not_release_is_caught)
{
	ck_assert_int_eq(explore(RELAXED_PUSH, MODEL_RELAXED, 2, pop_and_push,
				 pop_and_push, NULL).failure, MODEL_RACE);
}
END_TEST

START_TEST(mutant_pop_that_does_not_acquire_is_caught)
{
	ck_assert_int_eq(explore(RELAXED_POP, MODEL_RELAXED, 2, pop_and_push,
				 pop_and_push, NULL).failure, MODEL_RACE);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("model_stack");
	TCase *tcase = tcase_create("stack");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, two_threads_are_clean);
	tcase_add_test(tcase, three_threads_are_clean);
	tcase_add_test(tcase, mutant_without_version_is_caught);
	tcase_add_test(tcase, mutant_with_two_bits_is_caught);
	tcase_add_test(tcase, mutant_push_that_does_not_release_is_caught);
	tcase_add_test(tcase, mutant_pop_that_does_not_acquire_is_caught);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
