/* SPDX-License-Identifier: MIT */
/*
 * The explorer's memories: litmus tests whose outcome is known, each with the
 * change that must turn its outcome around.
 */
#include "explorer_litmus.h"

/* Store buffering: each stores to its own, then looks at the other's. */

static void
one_saw_the_other(void)
{
	MODEL_ASSERT(saw[0] || saw[1]);
}

#define BUFFERING(name, own, between, others) \
	static void \
	name(void) \
	{ \
		store_relaxed(own, 1); \
		between; \
		saw[model_self()] = load_relaxed(others); \
	}

BUFFERING(bare_x, &x, (void)0, &y)
BUFFERING(bare_y, &y, (void)0, &x)
BUFFERING(fence_x, &x, model_fence(), &y)
BUFFERING(fence_y, &y, model_fence(), &x)
BUFFERING(light_x, &x, compiler_barrier(), &y)
BUFFERING(heavy_y, &y, model_membarrier(), &x)

static void
early_heavy_y(void)
{
	model_membarrier();
	store_relaxed(&y, 1);
	saw[model_self()] = load_relaxed(&x);
}

#define BUFFERING_MODEL(a, b) \
	(struct model){ .thread = { a, b }, .finish = one_saw_the_other }

START_TEST(store_buffering)
{
	expect_each(BUFFERING_MODEL(bare_x, bare_y),
		    MODEL_PASSED, MODEL_ASSERTION, MODEL_ASSERTION);
	expect_each(BUFFERING_MODEL(fence_x, bare_y),
		    MODEL_PASSED, MODEL_ASSERTION, MODEL_ASSERTION);
	expect_all(BUFFERING_MODEL(fence_x, fence_y), MODEL_PASSED);
}
END_TEST

START_TEST(heavy_barrier)
{
	expect_all(BUFFERING_MODEL(light_x, heavy_y), MODEL_PASSED);
	expect_all(BUFFERING_MODEL(heavy_y, light_x), MODEL_PASSED);
	expect_all(BUFFERING_MODEL(fence_x, heavy_y), MODEL_PASSED);
	/* The compiler may store after the load where nothing forbids it. */
	expect_each(BUFFERING_MODEL(bare_x, heavy_y),
		    MODEL_PASSED, MODEL_PASSED, MODEL_ASSERTION);
	expect_each(BUFFERING_MODEL(light_x, early_heavy_y),
		    MODEL_PASSED, MODEL_ASSERTION, MODEL_ASSERTION);
	expect_each(BUFFERING_MODEL(light_x, fence_y),
		    MODEL_PASSED, MODEL_ASSERTION, MODEL_ASSERTION);
}
END_TEST

/* Message passing: x is the message, flag says that it is there. */

#define SENDER(name, operation) \
	static void \
	name(void) \
	{ \
		store_relaxed(&x, 1); \
		operation; \
	}

SENDER(send_relaxed, store_relaxed(&flag, 1))
SENDER(send_release, store_release(&flag, 1))
SENDER(send_exchange_relaxed, (void)exchange_relaxed(&flag, 1))
SENDER(send_exchange_acquire, (void)exchange_acquire(&flag, 1))
SENDER(send_exchange_acq_rel, (void)exchange_acq_rel(&flag, 1))
SENDER(send_sub_release, (void)fetch_sub_release(&flag, 1))
SENDER(send_in_order, store_relaxed(&x, 2))

static void
receive(void)
{
	if (load_acquire(&flag))
		MODEL_ASSERT(load_relaxed(&x) == 1);
}

static void
receive_in_order(void)
{
	uint32_t first = load_relaxed(&x);

	MODEL_ASSERT(load_relaxed(&x) >= first);
}

#define MESSAGE_MODEL(send, receive) \
	(struct model){ .thread = { send, receive } }

START_TEST(message_passing)
{
	expect_each(MESSAGE_MODEL(send_relaxed, receive),
		    MODEL_PASSED, MODEL_PASSED, MODEL_ASSERTION);
	expect_each(MESSAGE_MODEL(send_exchange_relaxed, receive),
		    MODEL_PASSED, MODEL_PASSED, MODEL_ASSERTION);
	expect_each(MESSAGE_MODEL(send_exchange_acquire, receive),
		    MODEL_PASSED, MODEL_PASSED, MODEL_ASSERTION);
	expect_all(MESSAGE_MODEL(send_release, receive), MODEL_PASSED);
	expect_all(MESSAGE_MODEL(send_exchange_acq_rel, receive),
		   MODEL_PASSED);
	expect_all(MESSAGE_MODEL(send_sub_release, receive), MODEL_PASSED);
	expect_all(MESSAGE_MODEL(send_in_order, receive_in_order),
		   MODEL_PASSED);
}
END_TEST

/* Counting. */

static void
count_in_two(void)
{
	store_relaxed(&x, load_relaxed(&x) + 1);
}

static void
count_in_one(void)
{
	fetch_add_relaxed(&x, 1);
}

static void
count_by_cas(void)
{
	uint32_t seen = load_relaxed(&x);

	while (!cas_relaxed(&x, &seen, seen + 1))
		;
}

static void
all_counted(void)
{
	MODEL_ASSERT(load_relaxed(&x) == 2);
}

START_TEST(lost_update)
{
	struct model m = { .thread = { count_in_two, count_in_two },
			   .finish = all_counted };
	struct model_result r = explore(m, MODEL_SC);

	ck_assert(!r.failed);	/* without a preemption nothing is lost */
	expect_all(m, MODEL_ASSERTION);
	m.thread[0] = count_in_one;
	expect_all(m, MODEL_ASSERTION);
	m.thread[1] = count_in_one;
	expect_all(m, MODEL_PASSED);
	m.thread[1] = count_by_cas;
	expect_all(m, MODEL_PASSED);
}
END_TEST

/* A stack of nodes that are used again, with and without a version tag. */

#define NODES 3

static _Atomic(uint64_t) head;
static _Atomic(uint32_t) next[NODES + 1];
static bool taken[NODES + 1];
static bool tagged;

static uint64_t
successor_of(uint64_t old, uint32_t node)
{
	uint64_t version = tagged ? (old >> 32) + 1 : 0;

	return version << 32 | node;
}

static void
push(uint32_t node)
{
	uint64_t old = load_relaxed(&head);

	taken[node] = false;
	do
		store_relaxed(&next[node], (uint32_t)old);
	while (!cas_release_relaxed(&head, &old, successor_of(old, node)));
}

static uint32_t
pop(void)
{
	uint64_t old = load_acquire(&head);
	uint32_t node, rest;

	while ((node = (uint32_t)old)) {
		rest = load_relaxed(&next[node]);
		if (cas_acquire_acquire(&head, &old, successor_of(old, rest))) {
			MODEL_ASSERT(!taken[node]);
			taken[node] = true;
			break;
		}
	}
	return node;
}

static void
fill_stack(void)
{
	store_relaxed(&head, 0);
	for (uint32_t node = 1; node <= NODES; node++)
		push(node);
}

static void
pop_and_push(void)
{
	uint32_t node = pop();

	if (node)
		push(node);
}

static void
pop_two_and_push_one(void)
{
	uint32_t node = pop();

	pop();
	if (node)
		push(node);
}

static void
empty_stack(void)
{
	for (int left = NODES; pop(); left--)
		MODEL_ASSERT(left > 0);
}

START_TEST(aba)
{
	struct model m = {
		.thread = { pop_and_push, pop_two_and_push_one },
		.setup = fill_stack, .finish = empty_stack, .preemptions = 3
	};

	for (int memory = MODEL_SC; memory <= MODEL_RELAXED; memory++) {
		tagged = false;
		ck_assert_int_eq(explore(m, memory).failure, MODEL_ASSERTION);
		tagged = true;
		ck_assert_int_eq(explore(m, memory).failure, MODEL_PASSED);
	}
}
END_TEST

/* Every name of base/atomic.h on every kind of object. */

static _Atomic(uint32_t) small;
static _Atomic(size_t) large;
static _Atomic(bool) truth;
static _Atomic(uint32_t *) pointer;

static void
use_types(void)
{
	uint32_t *seen = NULL;
	uint32_t seen_small = 7;

	store_relaxed(&small, 0);
	MODEL_ASSERT(fetch_sub_relaxed(&small, 1) == 0);
	MODEL_ASSERT(fetch_add_acq_rel(&small, 3) == UINT32_MAX);
	MODEL_ASSERT(!cas_acq_rel_relaxed(&small, &seen_small, -1));
	MODEL_ASSERT(seen_small == 2);
	MODEL_ASSERT(cas_release_relaxed(&small, &seen_small, -1));
	MODEL_ASSERT(load_acquire(&small) == UINT32_MAX);
	store_release(&large, SIZE_MAX);
	MODEL_ASSERT(fetch_add_relaxed(&large, 2) == SIZE_MAX);
	MODEL_ASSERT(fetch_sub_release(&large, 2) == 1);
	MODEL_ASSERT(load_relaxed(&large) == SIZE_MAX);
	store_relaxed(&truth, 2);
	MODEL_ASSERT(exchange_relaxed(&truth, false) == true);
	MODEL_ASSERT(!load_relaxed(&truth));
	store_relaxed(&pointer, NULL);
	MODEL_ASSERT(cas_relaxed(&pointer, &seen, &data));
	MODEL_ASSERT(exchange_acquire(&pointer, NULL) == &data);
	MODEL_ASSERT(!exchange_acq_rel(&pointer, &other));
	*load_relaxed(&pointer) = 5;
	MODEL_ASSERT(other == 5);
	compiler_barrier();
}

START_TEST(types)
{
	struct model m = { .thread = { use_types }, .threads = 1,
			   .finish = use_types };

	expect_all(m, MODEL_PASSED);
}
END_TEST

static Suite *
memory_suite(void)
{
	Suite *suite = suite_create("explorer");
	TCase *tcase = tcase_create("explorer");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, store_buffering);
	tcase_add_test(tcase, heavy_barrier);
	tcase_add_test(tcase, message_passing);
	tcase_add_test(tcase, lost_update);
	tcase_add_test(tcase, aba);
	tcase_add_test(tcase, types);
	suite_add_tcase(suite, tcase);
	return suite;
}

int
main(void)
{
	return run_suite(memory_suite());
}
