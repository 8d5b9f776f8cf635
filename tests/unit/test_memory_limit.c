/* SPDX-License-Identifier: MIT */
/*
 * Loans without memory of arenas that are traced, or have a limit.  What is
 * demanded after each failure is in support/trial.h.
 */
#include <check.h>
#include <string.h>

#include "lend/lend.h"
#include "support/audit.h"
#include "support/trial.h"

static const struct lend_req little = {
	.a_bytes = 5000, .tile_bytes = 3000, .team_scatter = 100,
	.barriers = 2
};
static const struct lend_req large = {
	.a_bytes = 50000, .tile_bytes = 30000, .team_scatter = 5000,
	.barriers = 200
};

#define LITTLE_PANEL 5000
#define LARGE_PANEL 50000

/* Traced: a growth that happened is on record, one that did not is not. */

static void
count_record(const struct lend_trace_record *record, void *ctx)
{
	struct trial *trial = ctx;

	expect(trial, record->capacity > 0);
	trial->records++;
}

static size_t
take_records(struct trial *trial)
{
	trial->records = 0;
	expect(trial, lend_trace_take(trial->arena, count_record, trial) ==
	       (ssize_t)trial->records);
	return trial->records;
}

static int
checkout_large(struct trial *trial)
{
	return lend_worker_checkout(trial->arena, &large, &trial->loan);
}

static void
return_large(struct trial *trial)
{
	memset(trial->loan.a, 1, large.a_bytes);
	memset(trial->loan.tile, 2, large.tile_bytes);
	expect(trial, lend_worker_return(trial->arena, &trial->loan) == 0);
}

static void
no_records(struct trial *trial)
{
	expect(trial, untouched(&trial->loan, sizeof(trial->loan)));
	expect(trial, take_records(trial) == 0);
}

/* A and tile have grown. */
static void
two_records(struct trial *trial)
{
	return_large(trial);
	expect(trial, take_records(trial) == 2);
}

/* One less than there are in the first page of records. */
#define RECORDS 127

static void
nearly_fill_page(struct trial *trial)
{
	struct lend_worker loan;
	struct lend_team lease;

	for (int i = 0; i < RECORDS / 2; i++) {
		expect(trial, lend_worker_checkout(trial->arena, &little,
						   &loan) == 0);
		expect(trial, lend_worker_return(trial->arena, &loan) == 0);
		expect(trial, lend_arena_trim(trial->arena) == 0);
	}
	expect(trial, lend_team_take(trial->arena, &little, 1, 1,
				     &lease) == 0);
	expect(trial, lend_team_panel(trial->arena, &lease,
				      LITTLE_PANEL) == 0);
	expect(trial, lend_team_return(trial->arena, &lease) == 0);
}

static void
page_is_as_full(struct trial *trial)
{
	expect(trial, take_records(trial) == RECORDS);
	nearly_fill_page(trial);
}

static void
page_is_overfull(struct trial *trial)
{
	return_large(trial);
	expect(trial, take_records(trial) == RECORDS + 2);
}

static void
take_lease(struct trial *trial)
{
	expect(trial, lend_team_take(trial->arena, &little, 2, 2,
				     &trial->lease) == 0);
}

static int
panel_large(struct trial *trial)
{
	return lend_team_panel(trial->arena, &trial->lease, LARGE_PANEL);
}

static void
no_panel(struct trial *trial)
{
	expect(trial, trial->lease.panel == NULL);
	expect(trial, take_records(trial) == 0);
}

static void
return_lease(struct trial *trial)
{
	memset(trial->lease.panel, 9, LARGE_PANEL);
	expect(trial, lend_team_return(trial->arena, &trial->lease) == 0);
}

static void
one_record(struct trial *trial)
{
	return_lease(trial);
	expect(trial, take_records(trial) == 1);
}

START_TEST(traced_loans_without_memory)
{
	/* The table, a slot, a descriptor, records, two extents. */
	static const struct operation first = {
		.name = "traced checkout", .trace = true, .least = 6,
		.may = MAY_SLOT, .run = checkout_large, .kept = no_records,
		.after = two_records
	};
	/* The second page of records, two extents. */
	static const struct operation page = {
		.name = "traced checkout with a full page", .trace = true,
		.least = 3, .before = nearly_fill_page,
		.run = checkout_large, .kept = page_is_as_full,
		.after = page_is_overfull
	};
	static const struct operation panel = {
		.name = "traced panel", .trace = true, .least = 2,
		.before = take_lease, .run = panel_large, .kept = no_panel,
		.after = one_record
	};

	starve(&first);
	starve(&page);
	starve(&panel);
}
END_TEST

/* With a limit. */

#define ROOMY ((size_t)1 << 20)

static void
loan_untouched(struct trial *trial)
{
	expect(trial, untouched(&trial->loan, sizeof(trial->loan)));
}

START_TEST(limited_loans_without_memory)
{
	static const struct operation first = {
		.name = "limited checkout", .limit = ROOMY, .least = 5,
		.may = MAY_SLOT, .run = checkout_large,
		.kept = loan_untouched, .after = return_large
	};
	static const struct operation panel = {
		.name = "limited panel", .limit = ROOMY, .least = 1,
		.before = take_lease, .run = panel_large, .kept = no_panel,
		.after = return_lease
	};

	starve(&first);
	starve(&panel);
}
END_TEST

/* The limit leaves no room beside this idle panel. */
#define PANEL ((size_t)64 << 10)
#define TRIMMED ((size_t)128 << 10)

/* The slot is there already, empty: what fails has trimmed before. */
static void
warm_panel(struct trial *trial)
{
	struct lend_req none = { .a_bytes = 0 };
	struct lend_team lease;

	expect(trial, lend_worker_checkout(trial->arena, &none,
					   &trial->outer) == 0);
	expect(trial, lend_worker_return(trial->arena, &trial->outer) == 0);
	expect(trial, lend_team_take(trial->arena, &none, 1, 1, &lease) == 0);
	expect(trial, lend_team_panel(trial->arena, &lease, PANEL) == 0);
	expect(trial, lend_team_return(trial->arena, &lease) == 0);
}

static void
trimmed_and_returned(struct trial *trial)
{
	struct lend_stats stats;

	(void)lend_arena_stats(trial->arena, &stats);
	expect(trial, stats.trims > 0);
	expect(trial, stats.panel_bytes == 0);
	return_large(trial);
}

/*
 * "A growth beyond it first tries the arena's own idle storage": the trim
 * stays, when the memory fails after it.
 */
START_TEST(growth_that_trims_without_memory)
{
	static const struct operation checkout = {
		.name = "checkout that trims", .limit = TRIMMED, .least = 2,
		.may = MAY_TRIM, .before = warm_panel,
		.run = checkout_large, .kept = loan_untouched,
		.after = trimmed_and_returned
	};

	starve(&checkout);
}
END_TEST

/* The limit has room for the large ones in the place of the little ones. */
#define IN_PLACE ((size_t)96 << 10)

static void
warm_little(struct trial *trial)
{
	expect(trial, lend_worker_checkout(trial->arena, &little,
					   &trial->outer) == 0);
	memset(trial->outer.a, 1, little.a_bytes);
	expect(trial, lend_worker_return(trial->arena, &trial->outer) == 0);
}

/* The slot's buffers went first; the slot serves all the same. */
static void
slot_serves(struct trial *trial)
{
	struct lend_worker loan;

	loan_untouched(trial);
	expect(trial, lend_worker_checkout(trial->arena, &little,
					   &loan) == 0);
	memset(loan.a, 1, little.a_bytes);
	memset(loan.tile, 1, little.tile_bytes);
	expect(trial, lend_worker_return(trial->arena, &loan) == 0);
}

static void
take_with_panel(struct trial *trial)
{
	take_lease(trial);
	expect(trial, lend_team_panel(trial->arena, &trial->lease,
				      IN_PLACE / 3) == 0);
}

static int
panel_in_place(struct trial *trial)
{
	return lend_team_panel(trial->arena, &trial->lease, IN_PLACE / 2);
}

/* The lease tells the truth, and can be given another panel. */
static void
panel_is_told(struct trial *trial)
{
	struct lend_team *lease = &trial->lease;

	expect(trial, !lease->panel == (lease->panel_capacity == 0));
	expect(trial, audit_process().panels == lease->panel_capacity);
	if (lease->panel_capacity)
		memset(lease->panel, 9, lease->panel_capacity);
	expect(trial, lend_team_panel(trial->arena, lease, 1) == 0);
}

static void
panel_is_there(struct trial *trial)
{
	memset(trial->lease.panel, 9, IN_PLACE / 2);
	expect(trial, lend_team_return(trial->arena, &trial->lease) == 0);
}

/* A scratch, and a vector, of no length: nothing of the old is kept. */
#define SCATTER (IN_PLACE / 2 / sizeof(int64_t))

static void
lend_scratch(struct trial *trial)
{
	struct lend_req req = { .worker_scatter = SCATTER };

	expect(trial, lend_worker_checkout(trial->arena, &req,
					   &trial->outer) == 0);
}

static int
scratch_in_place(struct trial *trial)
{
	return lend_worker_scatter_resize(trial->arena, &trial->outer,
					  2 * SCATTER);
}

/*
 * The loan tells the truth: a resize that has nothing to do, and gives the
 * address anew, gives the same one.
 */
static void
scratch_is_told(struct trial *trial)
{
	struct lend_worker *loan = &trial->outer;
	struct lend_worker told = *loan;

	expect(trial, !told.scatter == (told.scatter_capacity == 0));
	expect(trial, audit_process().retained ==
	       told.scatter_capacity * sizeof(int64_t));
	expect(trial, lend_worker_scatter_resize(trial->arena, loan, 0) == 0);
	expect(trial, loan->scatter == told.scatter);
	expect(trial, loan->scatter_capacity == told.scatter_capacity);
}

static void
scratch_is_there(struct trial *trial)
{
	fill(trial->outer.scatter, 2 * SCATTER);
	expect(trial, lend_worker_return(trial->arena, &trial->outer) == 0);
}

static void
lease_vector(struct trial *trial)
{
	struct lend_req req = { .team_scatter = SCATTER };

	expect(trial, lend_team_take(trial->arena, &req, 1, 1,
				     &trial->lease) == 0);
}

static int
vector_in_place(struct trial *trial)
{
	return lend_team_scatter_resize(trial->arena, &trial->lease,
					2 * SCATTER);
}

static void
vector_is_told(struct trial *trial)
{
	struct lend_team *lease = &trial->lease;
	struct lend_team told = *lease;

	expect(trial, !told.scatter == (told.scatter_capacity == 0));
	expect(trial, audit_process().retained ==
	       told.scatter_capacity * sizeof(int64_t));
	expect(trial, lend_team_scatter_resize(trial->arena, lease, 0) == 0);
	expect(trial, lease->scatter == told.scatter);
	expect(trial, lease->scatter_capacity == told.scatter_capacity);
}

static void
vector_is_there(struct trial *trial)
{
	fill(trial->lease.scatter, 2 * SCATTER);
	expect(trial, lend_team_return(trial->arena, &trial->lease) == 0);
}

/*
 * Where the limit leaves no room beside the old buffers, they go first: this
 * failure alone need not leave everything as it was.
 */
START_TEST(growth_in_place_without_memory)
{
	static const struct operation checkout = {
		.name = "checkout in place", .limit = IN_PLACE, .least = 2,
		.may = MAY_EMPTY, .before = warm_little,
		.run = checkout_large, .kept = slot_serves,
		.after = return_large
	};
	static const struct operation panel = {
		.name = "panel in place", .limit = IN_PLACE, .least = 1,
		.may = MAY_EMPTY, .before = take_with_panel,
		.run = panel_in_place, .kept = panel_is_told,
		.after = panel_is_there
	};

	starve(&checkout);
	starve(&panel);
}
END_TEST

/* The handle must not keep an address that is gone. */
START_TEST(resize_in_place_without_memory)
{
	static const struct operation scratch = {
		.name = "scratch resize in place", .limit = IN_PLACE,
		.least = 1, .may = MAY_RESIZE, .before = lend_scratch,
		.run = scratch_in_place, .kept = scratch_is_told,
		.after = scratch_is_there
	};
	static const struct operation vector = {
		.name = "team resize in place", .limit = IN_PLACE,
		.least = 1, .may = MAY_RESIZE, .before = lease_vector,
		.run = vector_in_place, .kept = vector_is_told,
		.after = vector_is_there
	};

	starve(&scratch);
	starve(&vector);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("memory with trace and limit");
	TCase *traced = starved_case(suite, "traced");
	TCase *limited = starved_case(suite, "limited");

	tcase_add_test(traced, traced_loans_without_memory);
	tcase_add_test(limited, limited_loans_without_memory);
	tcase_add_test(limited, growth_that_trims_without_memory);
	tcase_add_test(limited, growth_in_place_without_memory);
	tcase_add_test(limited, resize_in_place_without_memory);
	return starved_run(suite);
}
