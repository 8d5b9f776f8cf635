/* SPDX-License-Identifier: MIT */
/* The versioned stack: src/sync/stack.h. */
#include "sync/stack.h"

#include <stdatomic.h>
#include <string.h>

#include "support/crew.h"
#include "support/loans.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

/* What the tests push. */
struct item {
	struct node node;
	atomic_uint held;	/* by how many at once: 1 at most */
	unsigned taken;		/* the holder's alone */
};

_Static_assert(sizeof(struct item) == 16, "a power of two");

static struct registry items;
static struct stack stack;

static void
make_items(unsigned n)
{
	struct node *node;

	registry_init(&items, sizeof(struct item), 0);
	memset(&stack, 0, sizeof(stack));
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(registry_add(&items, &node), 0);
}

static struct node *
item(uint32_t index)
{
	return registry_at(&items, index);
}

START_TEST(an_empty_stack_gives_nothing)
{
	make_items(1);
	ck_assert_ptr_null(stack_pop(&stack, &items));
	stack_push(&stack, item(0));
	ck_assert_ptr_eq(stack_pop(&stack, &items), item(0));
	ck_assert_ptr_null(stack_pop(&stack, &items));
	ck_assert_ptr_null(stack_pop(&stack, &items));
	registry_fini(&items);
}
END_TEST

/* The most recently pushed one comes first, whatever its index. */
START_TEST(last_in_first_out)
{
	enum { ITEMS = 1000 };

	make_items(ITEMS);
	for (uint32_t i = 0; i < ITEMS; i++)
		stack_push(&stack, item(i * 7 % ITEMS));
	for (uint32_t i = ITEMS; i-- > 0;)
		ck_assert_ptr_eq(stack_pop(&stack, &items),
				 item(i * 7 % ITEMS));
	ck_assert_ptr_null(stack_pop(&stack, &items));
	registry_fini(&items);
}
END_TEST

START_TEST(a_node_may_be_pushed_again_at_once)
{
	make_items(3);
	for (uint32_t i = 0; i < 3; i++)
		stack_push(&stack, item(i));
	for (int round = 0; round < 100; round++) {
		struct node *top = stack_pop(&stack, &items);
		struct node *next = stack_pop(&stack, &items);

		ck_assert_ptr_ne(top, next);
		stack_push(&stack, top);
		stack_push(&stack, next);
		ck_assert_ptr_eq(stack_pop(&stack, &items), next);
		ck_assert_ptr_eq(stack_pop(&stack, &items), top);
		ck_assert_ptr_eq(stack_pop(&stack, &items), item(0));
		ck_assert_ptr_null(stack_pop(&stack, &items));
		stack_push(&stack, item(0));
		stack_push(&stack, next);
		stack_push(&stack, top);
	}
	registry_fini(&items);
}
END_TEST

/* Several stacks may circulate the nodes of one registry. */
START_TEST(stacks_do_not_mix)
{
	static struct stack other;

	make_items(100);
	memset(&other, 0, sizeof(other));
	for (uint32_t i = 0; i < 100; i++)
		stack_push(i % 3 ? &stack : &other, item(i));
	for (uint32_t i = 100; i-- > 0;)
		ck_assert_ptr_eq(stack_pop(i % 3 ? &stack : &other, &items),
				 item(i));
	ck_assert_ptr_null(stack_pop(&stack, &items));
	ck_assert_ptr_null(stack_pop(&other, &items));
	registry_fini(&items);
}
END_TEST

START_TEST(reset_forgets_all_nodes)
{
	uint64_t before;

	make_items(3);
	for (uint32_t i = 0; i < 3; i++)
		stack_push(&stack, item(i));
	before = atomic_load(&stack.head);
	stack_reset(&stack);
	ck_assert_ptr_null(stack_pop(&stack, &items));
	/* The version goes on: a pop from before must still fail. */
	ck_assert_uint_gt(atomic_load(&stack.head) >> STACK_INDEX_BITS,
			  before >> STACK_INDEX_BITS);
	stack_push(&stack, item(1));
	ck_assert_ptr_eq(stack_pop(&stack, &items), item(1));
	ck_assert_ptr_null(stack_pop(&stack, &items));
	registry_fini(&items);
}
END_TEST

/*
 * What a popper that was stopped between its look and its swing would do: its
 * swing must fail although the head names the same node again (ABA).
 */
START_TEST(a_swing_from_an_old_head_fails)
{
	struct node *a, *b;
	uint64_t seen, link;

	make_items(2);
	stack_push(&stack, item(1));
	stack_push(&stack, item(0));
	seen = atomic_load(&stack.head);
	link = atomic_load(&item(0)->next);
	a = stack_pop(&stack, &items);
	b = stack_pop(&stack, &items);
	ck_assert_ptr_eq(b, item(1));
	stack_push(&stack, a);
	ck_assert_uint_eq(stack_index(atomic_load(&stack.head)),
			  stack_index(seen));
	ck_assert(!atomic_compare_exchange_strong(&stack.head, &seen,
						  stack_next(seen, link)));
	ck_assert_ptr_eq(stack_pop(&stack, &items), a);
	ck_assert_ptr_null(stack_pop(&stack, &items));
	registry_fini(&items);
}
END_TEST

/* Every push and every pop is a version of its own; they wrap unharmed. */
START_TEST(versions_differ_and_wrap)
{
	uint64_t last = ~(uint64_t)0 << STACK_INDEX_BITS, head, before;

	make_items(2);
	/* The last version but two, and empty. */
	atomic_store(&stack.head, last - ((uint64_t)2 << STACK_INDEX_BITS));
	before = atomic_load(&stack.head);
	for (int i = 0; i < 4; i++) {
		stack_push(&stack, item(0));
		head = atomic_load(&stack.head);
		ck_assert_uint_ne(head >> STACK_INDEX_BITS,
				  before >> STACK_INDEX_BITS);
		ck_assert_uint_eq(stack_index(head), 1);
		before = head;
		ck_assert_ptr_eq(stack_pop(&stack, &items), item(0));
		head = atomic_load(&stack.head);
		ck_assert_uint_ne(head >> STACK_INDEX_BITS,
				  before >> STACK_INDEX_BITS);
		ck_assert_uint_eq(stack_index(head), 0);
		before = head;
	}
	ck_assert_uint_lt(before, last);
	registry_fini(&items);
}
END_TEST

/* The largest index there can be fits beside the version. */
START_TEST(the_last_index_fits)
{
	uint64_t head = stack_next(0, REGISTRY_MAX);

	ck_assert_uint_eq(stack_index(head), REGISTRY_MAX);
	ck_assert_uint_eq(head >> STACK_INDEX_BITS, 1);
	/* 32 bits of version would wrap within minutes. */
	ck_assert_uint_ge(STACK_VERSION_BITS, 40);
}
END_TEST

#define THREADS 4
#define CIRCULATING 6

struct circulation {
	unsigned rounds;
	unsigned taken[THREADS];
	unsigned clashes[THREADS];
};

static struct item *
take_item(struct circulation *all, size_t self)
{
	struct item *taken = (struct item *)stack_pop(&stack, &items);

	if (!taken)
		return NULL;
	/* Relaxed: the stack is to order it, and the count below. */
	all->clashes[self] += fetch_add_relaxed(&taken->held, 1) != 0;
	/* Not atomic: what the last holder wrote came with the node. */
	taken->taken++;
	all->taken[self]++;
	return taken;
}

static void
put_item(struct item *taken)
{
	if (!taken)
		return;
	/* Relaxed: as above. */
	fetch_sub_relaxed(&taken->held, 1);
	stack_push(&stack, &taken->node);
}

/* Takes one or two, and puts them back in either order. */
static void
circulate(size_t self, void *ctx)
{
	struct circulation *all = ctx;
	uint64_t state = self;

	for (unsigned i = 0; i < all->rounds; i++) {
		struct item *one = take_item(all, self);
		struct item *two = NULL;

		if (random_below(&state, 2))
			two = take_item(all, self);
		if (random_below(&state, 2)) {
			put_item(one);
			put_item(two);
		} else {
			put_item(two);
			put_item(one);
		}
	}
}

/*
 * Every node is, at every moment, on the stack or in one thread's hands:
 * none is lost, none given to two, and what is written to it goes along.
 */
START_TEST(nodes_are_conserved_among_threads)
{
	struct circulation all = { .rounds = scale(300000) };
	unsigned taken = 0, written = 0, there = 0;
	struct item *left;

	make_items(CIRCULATING);
	for (uint32_t i = 0; i < CIRCULATING; i++)
		stack_push(&stack, item(i));
	crew_run(THREADS, circulate, &all);
	for (int i = 0; i < THREADS; i++) {
		ck_assert_uint_eq(all.clashes[i], 0);
		taken += all.taken[i];
	}
	while ((left = (struct item *)stack_pop(&stack, &items))) {
		ck_assert_uint_eq(atomic_load(&left->held), 0);
		written += left->taken;
		ck_assert_uint_le(++there, CIRCULATING);
	}
	ck_assert_uint_eq(there, CIRCULATING);
	ck_assert_uint_eq(written, taken);
	registry_fini(&items);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("stack");
	TCase *one = watched_case(suite, "one thread");
	TCase *many = watched_case(suite, "threads");

	tcase_add_test(one, an_empty_stack_gives_nothing);
	tcase_add_test(one, last_in_first_out);
	tcase_add_test(one, a_node_may_be_pushed_again_at_once);
	tcase_add_test(one, stacks_do_not_mix);
	tcase_add_test(one, reset_forgets_all_nodes);
	tcase_add_test(one, a_swing_from_an_old_head_fails);
	tcase_add_test(one, versions_differ_and_wrap);
	tcase_add_test(one, the_last_index_fits);
	tcase_add_test(many, nodes_are_conserved_among_threads);
	return suite_run(suite);
}
