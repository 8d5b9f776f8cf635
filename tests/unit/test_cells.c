/* SPDX-License-Identifier: MIT */
/*
 * The stack with cells beside it: src/sync/cells.h; and that whoever looks
 * for an arena's idle sets finds those that are in cells.
 */
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

/* No test waits for time to pass. */
static uint64_t test_time;
#define CELLS_NOW() test_time

#include "sync/cells.h"

#include "arena/state.h"
#include "support/crew.h"
#include "support/demand.h"
#include "support/family.h"
#include "support/loans.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define KEY 5

struct item {
	struct node node;
	atomic_uint held;	/* by how many at once: 1 at most */
	unsigned taken;		/* the holder's alone */
};

_Static_assert(sizeof(struct item) == 16, "a power of two");

static struct registry items;
static struct cells cells;
static struct cells_credit none, some;

/* `none` has no credit, `some` has. */
static void
make_items(unsigned n)
{
	struct node *node;

	registry_init(&items, sizeof(struct item), 0);
	memset(&cells, 0, sizeof(cells));
	memset(&none, 0, sizeof(none));
	for (unsigned i = 0; i < n; i++)
		ck_assert_int_eq(registry_add(&items, &node), 0);
	credit_begin(&some, KEY, &cells);
}

static struct node *
item(uint32_t index)
{
	return registry_at(&items, index);
}

static struct node *
take_by(struct cells_credit *credit)
{
	return cells_take(&cells, &items, credit, KEY);
}

static void
put_by(struct cells_credit *credit, uint32_t index)
{
	cells_put(&cells, &items, item(index), credit, KEY);
}

static unsigned
filled(void)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < CELLS; i++)
		n += stack_index(atomic_load(&cells.cell[i].word)) != 0;
	return n;
}

/* Nobody has lost a race: last in, first out, and no cell is touched. */
START_TEST(without_credit_it_is_a_stack)
{
	enum { ITEMS = 100 };

	make_items(ITEMS);
	for (int round = 0; round < 2; round++) {
		ck_assert_ptr_null(take_by(&none));
		for (uint32_t i = 0; i < ITEMS; i++)
			put_by(&none, i * 7 % ITEMS);
		for (uint32_t i = ITEMS; i-- > 0;)
			ck_assert_ptr_eq(take_by(&none), item(i * 7 % ITEMS));
	}
	for (uint32_t i = 0; i < CELLS; i++)
		ck_assert_uint_eq(atomic_load(&cells.cell[i].word), 0);
	ck_assert_uint_eq(none.key, 0);
	registry_fini(&items);
}
END_TEST

START_TEST(with_credit_the_head_is_left_alone)
{
	uint64_t head;

	make_items(2);
	put_by(&none, 1);
	head = atomic_load(&cells.stack.head);
	for (int i = 0; i < 10; i++) {
		put_by(&some, 0);
		ck_assert_uint_eq(filled(), 1);
		ck_assert_ptr_eq(take_by(&some), item(0));
		ck_assert_uint_eq(filled(), 0);
	}
	ck_assert_uint_eq(atomic_load(&cells.stack.head), head);
	ck_assert_ptr_eq(take_by(&some), item(1));
	ck_assert_ptr_null(take_by(&some));
	registry_fini(&items);
}
END_TEST

/* One thread alone has the exact order, however its credit comes and ends. */
START_TEST(one_thread_finds_its_own_in_exact_order)
{
	enum { ITEMS = 40 };
	uint32_t there[ITEMS], out[ITEMS], n = 0, o = ITEMS;
	uint64_t random = _i;
	unsigned moved = 0;

	make_items(ITEMS);
	for (uint32_t i = 0; i < ITEMS; i++)
		out[i] = i;
	for (unsigned i = 0; i < 20 * CELLS_QUIET * CELLS_CREDIT; i++) {
		if (some.key == 0 && random_below(&random, 50) == 0)
			credit_begin(&some, KEY, &cells);
		if (random_below(&random, 100) == 0)
			test_time += CELLS_APART + 1;
		if (o && (n == 0 || random_below(&random, 2))) {
			there[n++] = out[--o];
			put_by(&some, there[n - 1]);
			moved += filled();
		} else {
			ck_assert_ptr_eq(take_by(&some), item(there[--n]));
			out[o++] = there[n];
		}
	}
	ck_assert_uint_gt(moved, 0);
	registry_fini(&items);
}
END_TEST

START_TEST(a_newer_one_on_the_stack_comes_first)
{
	make_items(3);
	put_by(&none, 0);
	put_by(&some, 1);
	put_by(&none, 2);
	ck_assert_ptr_eq(take_by(&some), item(2));
	registry_fini(&items);
}
END_TEST

/* Whichever cell it is in, and without credit. */
START_TEST(every_cell_is_looked_through)
{
	make_items(CELLS);
	for (uint32_t i = 0; i < CELLS; i++) {
		some.place = i;
		put_by(&some, i);
		ck_assert_uint_eq(filled(), 1);
		ck_assert_ptr_eq(take_by(&none), item(i));
		ck_assert_ptr_null(take_by(&none));
	}
	for (uint32_t i = 0; i < CELLS; i++) {
		some.place = i;
		put_by(&some, i);
	}
	ck_assert_uint_eq(filled(), CELLS);
	for (uint32_t i = 0; i < CELLS; i++)
		ck_assert_ptr_nonnull(take_by(&none));
	ck_assert_ptr_null(take_by(&none));
	registry_fini(&items);
}
END_TEST

static void
take_and_put(unsigned times)
{
	for (unsigned i = 0; i < times; i++) {
		put_by(&some, 0);
		ck_assert_ptr_eq(take_by(&some), item(0));
	}
}

START_TEST(credit_ends_when_nobody_else_has_any)
{
	make_items(1);
	for (int i = 0; i < CELLS_QUIET; i++) {
		ck_assert_uint_eq(some.key, KEY);
		take_and_put(CELLS_CREDIT - 1);
		ck_assert_uint_eq(some.key, KEY);
		take_and_put(1);
	}
	ck_assert_uint_eq(some.key, 0);
	put_by(&some, 0);
	ck_assert_uint_eq(filled(), 0);
	registry_fini(&items);
}
END_TEST

START_TEST(credit_lasts_while_others_prolong_theirs)
{
	make_items(1);
	for (int i = 0; i < 3 * CELLS_QUIET; i++) {
		take_and_put(CELLS_CREDIT - 1);
		if (i & 1)
			atomic_fetch_add(&cells.prolonged, 1);
		take_and_put(1);
		ck_assert_uint_eq(some.key, KEY);
	}
	registry_fini(&items);
}
END_TEST

START_TEST(credit_ends_when_puts_are_far_apart)
{
	make_items(1);
	for (int i = 0; i < 3; i++) {
		test_time += CELLS_APART;
		put_by(&some, 0);
		ck_assert_uint_eq(filled(), 1);
		ck_assert_ptr_eq(take_by(&some), item(0));
	}
	test_time += CELLS_APART + 1;
	put_by(&some, 0);
	ck_assert_uint_eq(some.key, 0);
	ck_assert_uint_eq(filled(), 0);
	registry_fini(&items);
}
END_TEST

/*
 * Two threads that had credit put and take in turn, after a pause: the one
 * finds what the other has put last, although both cells have something.
 */
START_TEST(after_a_pause_the_order_is_exact)
{
	struct cells_credit other;

	make_items(6);
	credit_begin(&other, KEY, &cells);
	other.place = some.place ^ 1;
	put_by(&some, 0);
	put_by(&other, 1);
	ck_assert_uint_eq(filled(), 2);
	test_time += CELLS_APART + 1;
	put_by(&some, 2);
	ck_assert_ptr_eq(take_by(&other), item(2));
	put_by(&other, 3);
	put_by(&some, 4);
	put_by(&other, 5);
	ck_assert_ptr_eq(take_by(&some), item(5));
	ck_assert_ptr_eq(take_by(&some), item(4));
	ck_assert_ptr_eq(take_by(&other), item(3));
	/* What some has put before came along, upon what was there then. */
	ck_assert_ptr_eq(take_by(&other), item(0));
	ck_assert_uint_eq(filled(), 1);
	registry_fini(&items);
}
END_TEST

START_TEST(credit_is_for_one_arena)
{
	make_items(1);
	cells_put(&cells, &items, item(0), &some, KEY + 1);
	ck_assert_uint_eq(filled(), 0);
	ck_assert_ptr_eq(cells_take(&cells, &items, &some, KEY + 1), item(0));
	ck_assert_uint_eq(some.left, CELLS_CREDIT);
	registry_fini(&items);
}
END_TEST

START_TEST(reset_forgets_all_nodes)
{
	uint64_t before;

	make_items(2);
	put_by(&none, 1);
	put_by(&some, 0);
	before = atomic_load(&cells.cell[some.place].word);
	cells_reset(&cells);
	ck_assert_ptr_null(take_by(&none));
	/* The version goes on: who looked before must notice. */
	ck_assert_uint_gt(atomic_load(&cells.cell[some.place].word), before);
	put_by(&some, 1);
	ck_assert_ptr_eq(take_by(&none), item(1));
	registry_fini(&items);
}
END_TEST

#define THREADS 4

struct circulation {
	unsigned rounds;
	unsigned taken[THREADS];
	unsigned clashes[THREADS];
	unsigned misses[THREADS];
};

static void
circulate(size_t self, void *ctx)
{
	struct circulation *all = ctx;
	struct cells_credit credit = { 0 };

	for (unsigned i = 0; i < all->rounds; i++) {
		struct item *taken;

		/* Where threads do not run at once, too. */
		if (i % 512 == 128 * self)
			credit_begin(&credit, KEY, &cells);
		taken = (struct item *)cells_take(&cells, &items, &credit,
						  KEY);
		if (!taken) {
			all->misses[self]++;
			continue;
		}
		/* Relaxed, both: the cells are to order them. */
		all->clashes[self] += fetch_add_relaxed(&taken->held, 1) != 0;
		/* Not atomic: what the last holder wrote came with it. */
		taken->taken++;
		all->taken[self]++;
		fetch_sub_relaxed(&taken->held, 1);
		cells_put(&cells, &items, &taken->node, &credit, KEY);
	}
}

/*
 * Every node is, at every moment, in one place or in one thread's hands; and
 * with a node for each thread every take finds one.
 */
START_TEST(nodes_are_conserved_among_threads)
{
	struct circulation all = { .rounds = scale(300000) };
	unsigned taken = 0, written = 0, there = 0;
	struct item *left;

	make_items(THREADS);
	for (uint32_t i = 0; i < THREADS; i++)
		put_by(&none, i);
	crew_run(THREADS, circulate, &all);
	for (int i = 0; i < THREADS; i++) {
		ck_assert_uint_eq(all.clashes[i], 0);
		ck_assert_uint_eq(all.misses[i], 0);
		taken += all.taken[i];
	}
	while ((left = (struct item *)take_by(&none))) {
		ck_assert_uint_eq(atomic_load(&left->held), 0);
		written += left->taken;
		ck_assert_uint_le(++there, THREADS);
	}
	ck_assert_uint_eq(there, THREADS);
	ck_assert_uint_eq(written, taken);
	registry_fini(&items);
}
END_TEST

#define SETS 3

/* Idle sets, the last one in the last cell. */
static void
leave_sets(lend_arena *arena)
{
	struct lend_req req = team_req(512, 2);
	struct cells *idle = &arena->idle_sets;
	struct lend_team lease[SETS];

	for (int i = 0; i < SETS; i++)
		lease[i] = take(arena, &req);
	for (int i = 0; i < SETS; i++)
		give_back(arena, &lease[i]);
	cell_put(idle, &idle->cell[CELLS - 1], &arena->sets,
		 stack_pop(&idle->stack, &arena->sets));
}

START_TEST(trim_sees_the_cells)
{
	lend_arena *arena = arena_of(NULL);

	leave_sets(arena);
	ck_assert_uint_eq(stats_of(arena).sets_idle, SETS);
	ck_assert_uint_gt(outstanding(), 0);
	ck_assert_int_eq(lend_arena_trim(arena), 0);
	ck_assert_uint_eq(outstanding(), 0);
	/* None is lost, so no other one is made. */
	leave_sets(arena);
	ck_assert_uint_eq(stats_of(arena).sets_idle, SETS);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

static void *
take_and_return_all(void *arg)
{
	lend_arena *arena = arg;
	struct lend_req req = team_req(512, 2);
	struct lend_team lease[SETS];

	for (int i = 0; i < SETS; i++)
		if (lend_team_take(arena, &req, 1, 1, &lease[i]))
			return arg;
	for (int i = 0; i < SETS; i++)
		if (lend_team_return(arena, &lease[i]))
			return arg;
	return NULL;
}

/* Before they make sets. */
START_TEST(other_threads_find_the_cells)
{
	lend_arena *arena = arena_of(NULL);

	leave_sets(arena);
	ck_assert_ptr_null(in_thread(take_and_return_all, arena));
	ck_assert_uint_eq(stats_of(arena).sets_idle, SETS);
	stats_settled(arena);
	arena_end(arena);
}
END_TEST

START_TEST(destroy_sees_the_cells)
{
	lend_arena *arena = arena_of(NULL);

	leave_sets(arena);
	arena_end(arena);
	ck_assert_uint_eq(outstanding(), 0);
}
END_TEST

static void
child_has_all_sets(void *arg)
{
	lend_arena *arena = arg;

	demand_accounts();
	demand(stats_now(arena).sets_idle == SETS);
	demand(!take_and_return_all(arena));
	demand(stats_now(arena).sets_idle == SETS);
	demand_end(arena);
}

START_TEST(a_child_of_fork_sees_the_cells)
{
	lend_arena *arena = arena_of(NULL);

	leave_sets(arena);
	ck_assert_int_eq(family_fork(child_has_all_sets, arena), 0);
	demand_accounts();
	arena_end(arena);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("cells");
	TCase *one = watched_case(suite, "one thread");
	TCase *many = watched_case(suite, "threads");
	TCase *sets = family_case(suite, "sets");

	tcase_add_test(one, without_credit_it_is_a_stack);
	tcase_add_test(one, with_credit_the_head_is_left_alone);
	tcase_add_loop_test(one, one_thread_finds_its_own_in_exact_order, 0,
			    10);
	tcase_add_test(one, a_newer_one_on_the_stack_comes_first);
	tcase_add_test(one, every_cell_is_looked_through);
	tcase_add_test(one, credit_ends_when_nobody_else_has_any);
	tcase_add_test(one, credit_lasts_while_others_prolong_theirs);
	tcase_add_test(one, credit_ends_when_puts_are_far_apart);
	tcase_add_test(one, after_a_pause_the_order_is_exact);
	tcase_add_test(one, credit_is_for_one_arena);
	tcase_add_test(one, reset_forgets_all_nodes);
	tcase_add_test(many, nodes_are_conserved_among_threads);
	tcase_add_test(sets, trim_sees_the_cells);
	tcase_add_test(sets, other_threads_find_the_cells);
	tcase_add_test(sets, destroy_sees_the_cells);
	tcase_add_test(sets, a_child_of_fork_sees_the_cells);
	return suite_run(suite);
}
