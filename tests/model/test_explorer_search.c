/* SPDX-License-Identifier: MIT */
/* The explorer's search: which executions there are, and how each ends. */
#define _GNU_SOURCE	/* open_memstream */
#include "explorer_litmus.h"

/* Progress. */

static void
spin(void)
{
	while (!load_acquire(&flag))
		;
}

static void
raise_flag(void)
{
	model_plain_write(&data, 1);
	store_release(&flag, 1);
}

static void
wait_for_flag(void)
{
	while (!load_acquire(&flag))
		model_pause();
	MODEL_ASSERT(model_plain_read(&data) == 1);
}

static void
wait_then_set(void)
{
	while (!load_relaxed(&flag))
		model_pause();
	store_relaxed(&x, 1);
}

static void
wait_for_x_then_flag(void)
{
	store_relaxed(&y, 1);
	while (!load_relaxed(&x))
		model_pause();
	store_relaxed(&flag, 1);
}

START_TEST(no_progress)
{
	struct model m = { .thread = { spin, spin }, .max_steps = 100 };

	expect_all(m, MODEL_NO_PROGRESS);
	m = (struct model){ .thread = { wait_then_set,
					wait_for_x_then_flag } };
	expect_all(m, MODEL_NO_PROGRESS);
	ck_assert_ptr_nonnull(strstr(explore(m, MODEL_TSO).what, "waits"));
	m = (struct model){ .thread = { wait_for_flag, raise_flag,
					wait_for_flag }, .threads = 3 };
	expect_all(m, MODEL_PASSED);
}
END_TEST

/* The search itself. */

static void
two_steps(void)
{
	model_step();
	model_step();
}

START_TEST(every_interleaving_once)
{
	struct model m = { .thread = { two_steps, two_steps, two_steps },
			   .preemptions = ENOUGH };
	struct model_result r = explore(m, MODEL_SC);

	ck_assert_uint_eq(r.executions, 6);	/* 4! / (2! 2!) */
	ck_assert_uint_eq(r.steps, 6 * 4);
	m.threads = 3;
	ck_assert_uint_eq(explore(m, MODEL_SC).executions, 90);
	m.preemptions = 0;
	ck_assert_uint_eq(explore(m, MODEL_SC).executions, 6);
	m.max_executions = 6;
	ck_assert(!explore(m, MODEL_SC).truncated);
	m.max_executions = 5;
	r = explore(m, MODEL_SC);
	ck_assert(r.truncated);
	ck_assert(!r.failed);
	ck_assert_uint_eq(r.executions, 5);
}
END_TEST

/* x and y are never both set, but a reader may see one after the other. */
static void
move(void)
{
	store_relaxed(&x, 1);
	store_relaxed(&x, 0);
	store_relaxed(&y, 1);
}

static void
see_both(void)
{
	uint32_t seen = load_relaxed(&x);

	MODEL_ASSERT(!(seen && load_relaxed(&y)));
}

START_TEST(preemption_bound)
{
	struct model m = { .thread = { move, see_both } };

	for (m.preemptions = 0; m.preemptions < 2; m.preemptions++)
		ck_assert(!explore(m, MODEL_SC).failed);
	ck_assert_int_eq(explore(m, MODEL_SC).failure, MODEL_ASSERTION);
}
END_TEST

static void
leave_traces(void)
{
	other++;
}

static void
path_by_other(void)
{
	model_step();
	if (other % 2)
		model_step();
}

START_TEST(setup_that_forgets)
{
	struct model m = { .thread = { path_by_other, path_by_other },
			   .setup = leave_traces, .preemptions = ENOUGH };

	ck_assert_int_eq(explore(m, MODEL_SC).failure, MODEL_UNUSABLE);
}
END_TEST

static void
store_and_look(void)
{
	store_relaxed(&x, 1);
	MODEL_ASSERT(load_relaxed(&y));
}

static void
store_other(void)
{
	store_relaxed(&y, 2);
}

START_TEST(schedule)
{
	struct model m = { .thread = { store_other, store_and_look } };
	char *text = NULL;
	size_t size;
	FILE *out;

	expect(m, MODEL_TSO, MODEL_ASSERTION);
	out = open_memstream(&text, &size);
	model_print_schedule(out);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text, "litmus, TSO memory"));
	ck_assert_ptr_nonnull(strstr(text, "load_relaxed(&y)"));
	ck_assert_ptr_nonnull(strstr(text, "thread 1  store_relaxed(&x, 1)"));
	ck_assert_ptr_nonnull(strstr(text, 
		"thread 1  load_relaxed(&y)  found 0\n"));
	free(text);
}
END_TEST

/* Weak compare-and-swaps. */

static void
swap_once(void)
{
	uint32_t seen = 0;

	if (!cas_acquire_acquire(&x, &seen, 2))
		MODEL_ASSERT(seen);
}

static void
swap_in_loop(void)
{
	uint32_t seen = load_relaxed(&x);

	while (!cas_relaxed(&x, &seen, seen + 1))
		;
}

static void
both_swapped(void)
{
	MODEL_ASSERT(load_relaxed(&x) == 2);
}

START_TEST(weak_cas)
{
	struct model m = { .thread = { swap_once }, .threads = 1,
			   .finish = both_swapped };

	expect_all(m, MODEL_PASSED);
	m.spurious = 1;
	expect_all(m, MODEL_ASSERTION);
	m = (struct model){ .thread = { swap_in_loop, swap_in_loop },
			    .finish = both_swapped, .spurious = 2 };
	expect_all(m, MODEL_PASSED);
}
END_TEST

static Suite *
search_suite(void)
{
	Suite *suite = suite_create("explorer search");
	TCase *tcase = tcase_create("explorer search");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, no_progress);
	tcase_add_test(tcase, every_interleaving_once);
	tcase_add_test(tcase, preemption_bound);
	tcase_add_test(tcase, setup_that_forgets);
	tcase_add_test(tcase, schedule);
	tcase_add_test(tcase, weak_cas);
	suite_add_tcase(suite, tcase);
	return suite;
}

int
main(void)
{
	return run_suite(search_suite());
}
