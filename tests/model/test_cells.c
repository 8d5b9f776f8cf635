/* SPDX-License-Identifier: MIT */
/*
 * The cells of sync/cells.h and the stack beside them, through all
 * interleavings, with two cells.
 *
 * Nodes carry a plain word that their owner alone may touch: the explorer
 * reports a race when two threads own a node at once, or when a take does not
 * acquire what the put released.  At the end every node that nobody holds is
 * in one place.  And where some node is in one place or another at every
 * moment, a take finds one, however they are moved about meanwhile.
 *
 * Mutants: see below.  Each must be caught.  One that is right here and wrong
 * elsewhere is not among them, a take that does not release: the explorer's
 * read-modify-writes are seen by all at once.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

enum mutant {
	RIGHT,
	ONE_LOOK,	/* empty at one look each is taken for none */
	HEAD_ONCE,	/* the second look leaves out the stack */
	NO_VERSION,	/* a cell's word is the index alone */
	FINDS_NOTHING,	/* a put forgets what was in the cell */
	RELAXED_PUT,	/* does not release */
	BLIND_PUT,	/* does not acquire what it finds */
	RELAXED_TAKE	/* does not acquire */
};

static enum mutant mutant;
static uint32_t runs_at[MODEL_THREADS];
static uint64_t time_now(void);

#define CELLS 2
#define CELLS_PLACE() runs_at[model_self()]
#define CELLS_NOW() time_now()
#define CELLS_CREDIT 2
#define STACK_BACK_OFF() ((void)0)

#define CELL_NEXT(word, index) \
	(mutant == NO_VERSION ? (uint64_t)(index) : stack_next(word, index))
#define CELL_PUT(word, old, new) \
	MODEL_CAS(word, old, new, \
		  mutant == RELAXED_PUT ? MODEL_ORDER_ACQUIRE : \
		  mutant == BLIND_PUT ? MODEL_ORDER_RELEASE : \
		  MODEL_ORDER_ACQ_REL, MODEL_ORDER_RELAXED, "CELL_PUT")
#define CELL_TAKE(word, old, new) \
	MODEL_CAS(word, old, new, mutant == RELAXED_TAKE ? \
		  MODEL_ORDER_RELEASE : MODEL_ORDER_ACQ_REL, \
		  MODEL_ORDER_RELAXED, "CELL_TAKE")
#define CELL_FOUND(word) (mutant == FINDS_NOTHING ? 0 : stack_index(word))
#define CELLS_UNCHANGED(cells, word, head) \
	(mutant == ONE_LOOK || \
	 cells_unchanged(cells, word, mutant == HEAD_ONCE ? \
			 load_acquire(&(cells)->stack.head) : (head)))

#include "sync/cells.h"

#define NODES 3
#define KEY 7

struct item {
	struct node node;
	uint32_t owned;		/* plain: its owner's alone */
	uint32_t pad;
};

static struct item items[NODES];
static struct registry registry;
static struct cells cells;
static struct cells_credit credit[MODEL_THREADS];

/* The explorer's own book. */
static bool held[NODES];

/* How an execution begins. */
static struct {
	unsigned nodes;
	bool credit;		/* all threads have some */
	bool same_place;	/* all of them run at the same place */
	bool pauses;		/* before each put */
} begin;

static uint64_t passed;

static uint64_t
time_now(void)
{
	return begin.pauses ? passed += 2 * CELLS_APART : 0;
}

static struct item *
own(struct node *node)
{
	struct item *item = (struct item *)node;

	if (!item)
		return NULL;
	MODEL_ASSERT(!held[node->index]);
	held[node->index] = true;
	model_plain_write(&item->owned, model_plain_read(&item->owned) + 1);
	return item;
}

static struct node *
disown(struct item *item)
{
	model_plain_write(&item->owned, model_plain_read(&item->owned) + 1);
	held[item->node.index] = false;
	return &item->node;
}

static struct item *
take(void)
{
	return own(cells_take(&cells, &registry, &credit[model_self()], KEY));
}

static void
put(struct item *item)
{
	if (item)
		cells_put(&cells, &registry, disown(item),
			  &credit[model_self()], KEY);
}

/* Into one cell, and out of one, whoever calls. */
static void
put_at(uint32_t at, struct item *item)
{
	cell_put(&cells, &cells.cell[at], &registry, disown(item));
}

static struct item *
take_at(uint32_t at)
{
	return own(cell_take_any(&cells.cell[at], &registry));
}

static void
take_and_put(void)
{
	put(take());
}

static void
take_and_put_twice(void)
{
	put(take());
	put(take());
}

/* Puts two in a row: the second finds the first, where there is credit. */
static void
take_two_put_two(void)
{
	struct item *one = take(), *two = take();

	put(one);
	put(two);
}

static void
take_and_keep(void)
{
	(void)take();
}

/* Its put may find a node, which it then takes from the stack. */
static void
take_put_and_pop(void)
{
	put(take());
	(void)own(stack_pop(&cells.stack, &registry));
}

/*
 * The takes and puts of others, at places of the model's choice: of two nodes
 * one is idle at every moment.  It begins with one in its hands, the other is
 * in cell 1.  Each is put where a look has been, before the other is taken
 * from where none has been yet.
 */
static struct item *in_hand;

static void
move_once(void)
{
	struct item *other;

	put_at(0, in_hand);
	other = take_at(1);
	in_hand = other;
}

static void
move_thrice(void)
{
	for (uint32_t i = 0; i < 3 && in_hand; i++) {
		put_at(i & 1, in_hand);
		in_hand = take_at(!(i & 1));
	}
}

/* The same by the stack. */
static void
move_to_stack(void)
{
	stack_push(&cells.stack, disown(in_hand));
	in_hand = take_at(1);
}

static void
take_one_that_is_there(void)
{
	struct item *item = take();

	MODEL_ASSERT(item);
}

static void
setup(void)
{
	memset(items, 0, sizeof(items));
	memset(&registry, 0, sizeof(registry));
	memset(held, 0, sizeof(held));
	memset(&cells, 0, sizeof(cells));
	memset(credit, 0, sizeof(credit));
	registry.object_bytes = sizeof(struct item);
	registry.shift = 2;
	store_relaxed(&registry.chunk[0], (char *)items);
	store_relaxed(&registry.count, NODES);
	for (uint32_t i = 0; i < begin.nodes; i++) {
		items[i].node.index = i;
		stack_push(&cells.stack, &items[i].node);
	}
	for (uint32_t i = 0; i < MODEL_THREADS; i++) {
		runs_at[i] = begin.same_place ? 0 : i & 1;
		if (begin.credit) {
			credit[i].key = KEY;
			credit[i].place = runs_at[i];
			credit[i].left = CELLS_CREDIT;
		}
	}
	in_hand = NULL;
	passed = 0;
}

/* For the threads that move nodes: one in hand, and one in cell 1. */
static void
setup_moves(void)
{
	setup();
	in_hand = own(stack_pop(&cells.stack, &registry));
	cell_put(&cells, &cells.cell[1], &registry,
		 stack_pop(&cells.stack, &registry));
}

static void
finish(void)
{
	struct cells_credit none = { 0 };
	bool seen[NODES] = { false };
	struct node *node;
	unsigned free = 0;

	while ((node = cells_take(&cells, &registry, &none, KEY))) {
		MODEL_ASSERT(free++ < NODES);
		MODEL_ASSERT(!seen[node->index]);
		MODEL_ASSERT(!held[node->index]);
		seen[node->index] = true;
	}
	for (uint32_t i = 0; i < begin.nodes; i++)
		MODEL_ASSERT(seen[i] || held[i]);
}

static struct model_result
explore(enum mutant variant, enum model_memory memory, unsigned preemptions,
	void (*a)(void), void (*b)(void), void (*c)(void))
{
	bool moves = a == take_one_that_is_there && c == NULL;
	struct model model = {
		.name = "cells", .threads = c ? 3 : 2, .thread = { a, b, c },
		.setup = moves ? setup_moves : setup, .finish = finish,
		.memory = memory, .preemptions = preemptions,
		.spurious = moves ? 0 : 1,
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

static void
begin_with(unsigned nodes, int variant)
{
	begin.nodes = nodes;
	begin.credit = variant & 1;
	begin.same_place = variant & 2;
	begin.pauses = variant & 4;
}

/* Without pauses; with pauses, these begin with credit. */
#define VARIANTS 4
static const int pausing[] = { 5, 7 };

START_TEST(two_threads_are_clean)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
		begin_with(2, _i);
		expect_right(explore(RIGHT, memory, 3, take_and_put_twice,
				     take_and_put, NULL));
		begin_with(3, _i);
		/* With the weakest memory three preemptions are millions. */
		expect_right(explore(RIGHT, memory,
				     memory == MODEL_RELAXED ? 2 : 3,
				     take_two_put_two, take_and_put, NULL));
		expect_right(explore(RIGHT, memory, 3, take_and_put,
				     take_put_and_pop, NULL));
		begin_with(1, _i);
		expect_right(explore(RIGHT, memory, 3, take_and_put_twice,
				     take_and_put_twice, NULL));
	}
}
END_TEST

START_TEST(puts_after_a_pause_are_clean)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
		begin_with(3, pausing[_i]);
		expect_right(explore(RIGHT, memory, 2, take_two_put_two,
				     take_and_put_twice, NULL));
		begin_with(2, pausing[_i]);
		expect_right(explore(RIGHT, memory, 3, take_and_put_twice,
				     take_and_put, NULL));
		begin_with(3, pausing[_i]);
		expect_right(explore(RIGHT, memory, 2, take_one_that_is_there,
				     take_and_put, take_and_put));
	}
}
END_TEST

START_TEST(three_threads_are_clean)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
		begin_with(2, _i);
		expect_right(explore(RIGHT, memory, 2, take_and_put,
				     take_and_put, take_and_put));
		begin_with(3, _i);
		expect_right(explore(RIGHT, memory, 2, take_and_put,
				     take_two_put_two, take_and_keep));
	}
}
END_TEST

/* Of three nodes the other two threads hold one each, at most. */
START_TEST(a_take_finds_what_is_always_there)
{
	begin_with(3, _i);
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++)
		expect_right(explore(RIGHT, memory, 2, take_one_that_is_there,
				     take_and_put, take_and_put));
}
END_TEST

/* The same with the worst of moves, and more preemptions. */
START_TEST(a_take_finds_what_is_moved_about)
{
	begin_with(2, 0);
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
		unsigned preemptions = memory == MODEL_RELAXED ? 4 : 6;

		expect_right(explore(RIGHT, memory, preemptions,
				     take_one_that_is_there, move_once, NULL));
		expect_right(explore(RIGHT, memory, preemptions,
				     take_one_that_is_there, move_to_stack,
				     NULL));
	}
	expect_right(explore(RIGHT, MODEL_SC, 6, take_one_that_is_there,
			     move_thrice, NULL));
}
END_TEST

static void
expect_caught(enum model_failure failure, struct model_result result)
{
	ck_assert_int_eq(result.failure, failure);
}

START_TEST(mutant_that_looks_once_is_caught)
{
	begin_with(2, 0);
	expect_caught(MODEL_ASSERTION,
		      explore(ONE_LOOK, MODEL_SC, 2, take_one_that_is_there,
			      move_once, NULL));
}
END_TEST

START_TEST(mutant_that_leaves_out_the_stack_is_caught)
{
	begin_with(2, 0);
	expect_caught(MODEL_ASSERTION,
		      explore(HEAD_ONCE, MODEL_SC, 2, take_one_that_is_there,
			      move_to_stack, NULL));
}
END_TEST

START_TEST(mutant_without_version_is_caught)
{
	begin_with(2, 0);
	expect_caught(MODEL_ASSERTION,
		      explore(NO_VERSION, MODEL_SC, 6, take_one_that_is_there,
			      move_thrice, NULL));
}
END_TEST

START_TEST(mutant_put_that_forgets_is_caught)
{
	begin_with(2, 1);
	expect_caught(MODEL_ASSERTION,
		      explore(FINDS_NOTHING, MODEL_SC, 0, take_two_put_two,
			      take_and_put, NULL));
}
END_TEST

START_TEST(mutant_put_that_does_not_release_is_caught)
{
	begin_with(2, 3);
	expect_caught(MODEL_RACE,
		      explore(RELAXED_PUT, MODEL_RELAXED, 2, take_and_put,
			      take_and_put, NULL));
}
END_TEST

START_TEST(mutant_put_that_does_not_acquire_is_caught)
{
	begin_with(2, 3);
	expect_caught(MODEL_RACE,
		      explore(BLIND_PUT, MODEL_RELAXED, 2, take_and_put,
			      take_put_and_pop, NULL));
}
END_TEST

START_TEST(mutant_take_that_does_not_acquire_is_caught)
{
	begin_with(2, 3);
	expect_caught(MODEL_RACE,
		      explore(RELAXED_TAKE, MODEL_RELAXED, 2, take_and_put,
			      take_and_put, NULL));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("model_cells");
	TCase *tcase = tcase_create("cells");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 0);
	tcase_add_loop_test(tcase, two_threads_are_clean, 0, VARIANTS);
	tcase_add_loop_test(tcase, puts_after_a_pause_are_clean, 0, 2);
	tcase_add_loop_test(tcase, three_threads_are_clean, 0, VARIANTS);
	tcase_add_loop_test(tcase, a_take_finds_what_is_always_there, 0,
			    VARIANTS);
	tcase_add_test(tcase, a_take_finds_what_is_moved_about);
	tcase_add_test(tcase, mutant_that_looks_once_is_caught);
	tcase_add_test(tcase, mutant_that_leaves_out_the_stack_is_caught);
	tcase_add_test(tcase, mutant_without_version_is_caught);
	tcase_add_test(tcase, mutant_put_that_forgets_is_caught);
	tcase_add_test(tcase, mutant_put_that_does_not_release_is_caught);
	tcase_add_test(tcase, mutant_put_that_does_not_acquire_is_caught);
	tcase_add_test(tcase, mutant_take_that_does_not_acquire_is_caught);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
