/* SPDX-License-Identifier: MIT */
/*
 * The set of addresses, mem/address_set.c, through all interleavings, with
 * chunks of two slots.
 *
 * Whoever added an address finds it, and the set has at the end what was
 * added and not removed, each once, in chunks of which none was lost.
 *
 * Mutants: see address_set_mutant.h.  Each must be caught.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "explorer.h"
#include "mem/address_set.h"
#include "mem/backend.h"

#include "address_set_mutant.h"

#define CHUNKS 4
#define ADDRESSES 8

enum set_mutant set_mutant;

static struct address_set set;
static _Atomic(uint32_t) given;

/* The backend, of the explorer's own book. */
static struct address_chunk chunks[CHUNKS];
static unsigned handed_out, handed_back;
static bool refuse;

void *
pages_alloc(size_t size)
{
	MODEL_ASSERT(size == sizeof(struct address_chunk));
	/* A system call: time for others. */
	model_step();
	if (refuse)
		return NULL;
	MODEL_ASSERT(handed_out < CHUNKS);
	return &chunks[handed_out++];
}

void
pages_free(void *p, size_t size)
{
	MODEL_ASSERT(size == sizeof(struct address_chunk));
	MODEL_ASSERT((char *)p >= (char *)chunks);
	handed_back++;
}

static const void *
address(uintptr_t i)
{
	return (const void *)i;
}

/* The addresses that stay, a bit each, and the same as the set says. */
static uint32_t expected;

static uint32_t
contents(void)
{
	struct address_chunk *chunk;
	unsigned linked = 0;
	uint32_t seen = 0;
	uintptr_t value;

	for (chunk = &set.first; chunk; chunk = load_relaxed(&chunk->next)) {
		for (int i = 0; i < ADDRESSES_PER_CHUNK; i++) {
			value = load_relaxed(&chunk->slot[i]);
			MODEL_ASSERT(value < ADDRESSES);
			MODEL_ASSERT(value == 0 || !(seen >> value & 1));
			seen |= 1u << value;
		}
		linked += chunk != &set.first;
	}
	MODEL_ASSERT(linked == handed_out - handed_back);
	return seen & ~1u;
}

static void
setup(void)
{
	memset(&set, 0, sizeof set);
	memset(chunks, 0, sizeof chunks);
	handed_out = 0;
	handed_back = 0;
	store_relaxed(&given, 0);
	/* One slot is left in the first chunk. */
	(void)address_set_add(&set, address(1));
	expected = 1u << 1;
}

static void
finish(void)
{
	MODEL_ASSERT(contents() == expected);
	MODEL_ASSERT(load_relaxed(&set.count) ==
		     (size_t)__builtin_popcount(expected));
}

static void
add(uintptr_t i)
{
	bool added = address_set_add(&set, address(i));

	MODEL_ASSERT(added || refuse);
	if (added)
		expected |= 1u << i;
}

static void
take_out(uintptr_t i)
{
	bool removed;

	/* Of a refused one it must know nothing. */
	if (expected >> i & 1) {
		removed = address_set_remove(&set, address(i));
		MODEL_ASSERT(removed);
		expected &= ~(1u << i);
	} else {
		removed = address_set_remove(&set, address(i));
		MODEL_ASSERT(!removed);
	}
}

static void
add_two_remove_one(void)
{
	add(2);
	add(3);
	take_out(2);
}

static void
add_remove_add(void)
{
	add(4);
	take_out(4);
	add(5);
}

static void
add_one(void)
{
	add(6);
}

static void
add_and_give(void)
{
	add(2);
	add(3);
	/* Release: pairs with the acquire of remove_what_is_given(). */
	store_release(&given, 1);
}

static void
remove_what_is_given(void)
{
	add(4);
	/* Acquire: pairs with the release of add_and_give(). */
	if (load_acquire(&given)) {
		take_out(3);
		take_out(2);
	}
}

static struct model_result
explore(enum set_mutant mutant, enum model_memory memory,
	unsigned preemptions, void (*a)(void), void (*b)(void),
	void (*c)(void))
{
	struct model model = {
		.name = "address_set", .threads = c ? 3 : 2,
		.thread = { a, b, c }, .setup = setup, .finish = finish,
		.memory = memory, .preemptions = preemptions, .spurious = 1,
	};

	set_mutant = mutant;
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
		expect_right(explore(SET_RIGHT, memory, 3, add_two_remove_one,
				     add_remove_add, NULL));
		expect_right(explore(SET_RIGHT, memory, 3, add_and_give,
				     remove_what_is_given, NULL));
	}
}
END_TEST

START_TEST(three_threads_are_clean)
{
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++)
		expect_right(explore(SET_RIGHT, memory, 2, add_two_remove_one,
				     add_remove_add, add_one));
}
END_TEST

START_TEST(refusals_are_clean)
{
	refuse = true;
	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++)
		expect_right(explore(SET_RIGHT, memory, 3, add_two_remove_one,
				     add_remove_add, NULL));
	refuse = false;
}
END_TEST

START_TEST(mutant_is_caught)
{
	ck_assert_int_eq(explore((enum set_mutant)_i, MODEL_SC, 2,
				 add_two_remove_one, add_remove_add,
				 NULL).failure, MODEL_ASSERTION);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("model_address_set");
	TCase *tcase = tcase_create("address_set");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tcase, 0);
	tcase_add_test(tcase, two_threads_are_clean);
	tcase_add_test(tcase, three_threads_are_clean);
	tcase_add_test(tcase, refusals_are_clean);
	tcase_add_loop_test(tcase, mutant_is_caught, SET_STORES_SLOT,
			    SET_TRUSTS_CAS + 1);
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
