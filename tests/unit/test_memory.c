/* SPDX-License-Identifier: MIT */
/*
 * Worker loans without memory: "if an allocation fails, the call returns the
 * error, the slot is back, the accounts are settled, nothing else changed".
 * What is demanded after each failure is in support/trial.h.
 */
#include <check.h>
#include <string.h>

#include "lend/lend.h"
#include "support/trial.h"

static const struct lend_req little = {
	.a_bytes = 5000, .tile_bytes = 3000, .worker_scatter = 100
};
/* More than `little` in every component, whatever the sizes round to. */
static const struct lend_req large = {
	.a_bytes = 50000, .tile_bytes = 30000, .worker_scatter = 5000
};

#define LITTLE 100
#define LARGE 5000

static int
checkout_large(struct trial *trial)
{
	return lend_worker_checkout(trial->arena, &large, &trial->loan);
}

static void
loan_untouched(struct trial *trial)
{
	expect(trial, untouched(&trial->loan, sizeof(trial->loan)));
}

/* The loan has what it was asked for; writes to all of it. */
static void
use_large(struct trial *trial)
{
	struct lend_worker *loan = &trial->loan;

	expect(trial, loan->a && loan->tile && loan->scatter);
	expect(trial, loan->scatter_length == 0);
	expect(trial, loan->scatter_capacity >= large.worker_scatter);
	memset(loan->a, 1, large.a_bytes);
	memset(loan->tile, 2, large.tile_bytes);
	fill(loan->scatter, large.worker_scatter);
}

static void
return_large(struct trial *trial)
{
	use_large(trial);
	expect(trial, lend_worker_return(trial->arena, &trial->loan) == 0);
}

static void
warm_little(struct trial *trial)
{
	expect(trial, lend_worker_checkout(trial->arena, &little,
					   &trial->outer) == 0);
	expect(trial, lend_worker_return(trial->arena, &trial->outer) == 0);
}

/* The slot's old buffers still serve, without growth. */
static void
still_warm(struct trial *trial)
{
	struct lend_worker again;
	struct lend_stats was, is;

	loan_untouched(trial);
	(void)lend_arena_stats(trial->arena, &was);
	expect(trial, lend_worker_checkout(trial->arena, &little,
					   &again) == 0);
	expect(trial, again.a == trial->outer.a);
	expect(trial, again.tile == trial->outer.tile);
	expect(trial, again.scatter == trial->outer.scatter);
	expect(trial, lend_worker_return(trial->arena, &again) == 0);
	(void)lend_arena_stats(trial->arena, &is);
	expect(trial, is.growths == was.growths);
}

/* A loan is out already, with content. */
static void
lend_outer(struct trial *trial)
{
	expect(trial, lend_worker_checkout(trial->arena, &little,
					   &trial->outer) == 0);
	memset(trial->outer.a, 7, little.a_bytes);
	expect(trial, lend_worker_scatter_resize(trial->arena, &trial->outer,
						 LITTLE) == 0);
	fill(trial->outer.scatter, LITTLE);
}

static void
outer_is_whole(struct trial *trial)
{
	const unsigned char *a = trial->outer.a;

	expect(trial, a[0] == 7 && a[little.a_bytes - 1] == 7);
	expect(trial, trial->outer.scatter_length == LITTLE);
	expect(trial, filled(trial->outer.scatter, LITTLE));
}

static void
nested_kept(struct trial *trial)
{
	loan_untouched(trial);
	outer_is_whole(trial);
}

static void
return_both(struct trial *trial)
{
	return_large(trial);
	outer_is_whole(trial);
	expect(trial, lend_worker_return(trial->arena, &trial->outer) == 0);
}

/* There has been a re-entrant loan before. */
static void
lend_outer_nested_once(struct trial *trial)
{
	struct lend_worker nested;

	lend_outer(trial);
	expect(trial, lend_worker_checkout(trial->arena, &little,
					   &nested) == 0);
	expect(trial, lend_worker_return(trial->arena, &nested) == 0);
}

static void
count_call(struct lend_worker *loan, void *ctx)
{
	struct trial *trial = ctx;

	trial->calls++;
	trial->loan = *loan;
	use_large(trial);
}

static int
with_large(struct trial *trial)
{
	return lend_with_worker(trial->arena, &large, count_call, trial);
}

static void
not_called(struct trial *trial)
{
	expect(trial, trial->calls == 0);
}

static void
called_once(struct trial *trial)
{
	expect(trial, trial->calls == 1);
}

START_TEST(checkout_without_memory)
{
	/* The thread's table, a slot, a descriptor, three extents. */
	static const struct operation first = {
		.name = "first checkout", .least = 6, .may = MAY_SLOT,
		.run = checkout_large, .kept = loan_untouched,
		.after = return_large
	};
	static const struct operation growing = {
		.name = "growing checkout", .least = 3, .before = warm_little,
		.run = checkout_large, .kept = still_warm,
		.after = return_large
	};
	static const struct operation callback = {
		.name = "with_worker", .least = 6, .may = MAY_SLOT,
		.run = with_large, .kept = not_called, .after = called_once
	};

	starve(&first);
	starve(&growing);
	starve(&callback);
}
END_TEST

START_TEST(nested_checkout_without_memory)
{
	static const struct operation first = {
		.name = "nested checkout", .least = 4, .before = lend_outer,
		.run = checkout_large, .kept = nested_kept,
		.after = return_both
	};
	static const struct operation again = {
		.name = "second nested checkout", .least = 3,
		.before = lend_outer_nested_once, .run = checkout_large,
		.kept = nested_kept, .after = return_both
	};

	starve(&first);
	starve(&again);
}
END_TEST

static int
resize_outer(struct trial *trial)
{
	return lend_worker_scatter_resize(trial->arena, &trial->outer, LARGE);
}

static void
outer_is_resized(struct trial *trial)
{
	expect(trial, trial->outer.scatter_length == LARGE);
	expect(trial, trial->outer.scatter_capacity >= LARGE);
	expect(trial, filled(trial->outer.scatter, LITTLE));
	fill(trial->outer.scatter, LARGE);
	expect(trial, lend_worker_return(trial->arena, &trial->outer) == 0);
}

/* `outer` is re-entrant then: `loan` has the slot. */
static void
lend_nested_outer(struct trial *trial)
{
	expect(trial, lend_worker_checkout(trial->arena, &little,
					   &trial->loan) == 0);
	lend_outer(trial);
}

static void
nested_is_resized(struct trial *trial)
{
	outer_is_resized(trial);
	expect(trial, lend_worker_return(trial->arena, &trial->loan) == 0);
}

START_TEST(scratch_resize_without_memory)
{
	static const struct operation slot = {
		.name = "scratch resize", .least = 1, .before = lend_outer,
		.run = resize_outer, .kept = outer_is_whole,
		.after = outer_is_resized
	};
	static const struct operation nested = {
		.name = "nested scratch resize", .least = 1,
		.before = lend_nested_outer, .run = resize_outer,
		.kept = outer_is_whole, .after = nested_is_resized
	};

	starve(&slot);
	starve(&nested);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("memory of worker loans");
	TCase *worker = starved_case(suite, "worker");

	tcase_add_test(worker, checkout_without_memory);
	tcase_add_test(worker, nested_checkout_without_memory);
	tcase_add_test(worker, scratch_resize_without_memory);
	return starved_run(suite);
}
