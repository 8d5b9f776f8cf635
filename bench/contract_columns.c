/* SPDX-License-Identifier: MIT */
#include "bench/contract_columns.h"

#include <lend/contract.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "bench/report.h"
#include "contract/caches.h"

#define ROWS 400
/* B of the most columns stays in a quarter of 512 KiB, as it must. */
#define DEPTH 160
#define MOST_COLUMNS 96

/* Row-major: the last label has the unit stride. */
static const char *const forms[] = {
	"kv,ku->vu", "vk,ku->vu", "kv,uk->uv", "vk,uk->uv"
};
static const size_t columns[] = { 2, 6, 12, 24, 48, MOST_COLUMNS };

#define FORMS (sizeof(forms) / sizeof(forms[0]))
#define COLUMNS (sizeof(columns) / sizeof(columns[0]))

struct few {
	/* Copies of A, used in turn, so that each comes from memory. */
	double *a;
	size_t copies, next;
	double *b, *c;
	lend_arena *arena;
	struct lend_exec exec;
};

/* Extents of "xy" by their letters. */
static void
extents_of(const char *labels, size_t n, size_t extent[2])
{
	for (int d = 0; d < 2; d++)
		extent[d] = labels[d] == 'v' ? ROWS :
			    labels[d] == 'k' ? DEPTH : n;
}

static lend_plan *
plan_of(const char *form, size_t n, bool pack)
{
	struct lend_plan_options options = {
		.size = sizeof(options), .pack = pack
	};
	size_t extent[3][2];
	struct lend_layout layout[3];
	struct lend_error why;
	lend_plan *plan;

	/* Where each operand's labels begin in "ab,cd->ef". */
	for (int o = 0; o < 3; o++) {
		extents_of(form + (o < 2 ? 3 * o : 7), n, extent[o]);
		layout[o] = (struct lend_layout){ 2, extent[o], NULL };
	}
	if (lend_plan_create(&plan, form, LEND_F64, &layout[0], &layout[1],
			     &layout[2], &options, &why))
		bench_die("%s: %s", form, why.text);
	return plan;
}

static bool
is_in_place(const lend_plan *plan)
{
	struct lend_plan_info info = { .size = sizeof(info) };

	if (lend_plan_describe(plan, 1, &info))
		bench_die("a plan cannot be described");
	return info.in_place;
}

/* GFLOP/s of one plan. */
static double
rate(struct few *few, const lend_plan *plan, size_t n, uint64_t slice_ns)
{
	uint64_t start = bench_now(), end;
	double flops = 0;

	do {
		struct lend_call call = {
			.a = few->a + few->next * ROWS * DEPTH,
			.b = few->b, .c = few->c
		};

		if (lend_plan_execute(plan, few->arena, &few->exec, &call,
				      NULL))
			bench_die("the execution failed");
		few->next = (few->next + 1) % few->copies;
		flops += 2.0 * ROWS * DEPTH * (double)n;
		end = bench_now();
	} while (end - start < slice_ns);
	return flops / (double)(end - start);
}

static void
measure(struct few *few, const char *form, size_t n, int rounds,
	uint64_t slice_ns)
{
	static char keys[FORMS * COLUMNS][32];
	static size_t used;
	struct bench_series ours = { .n = 0 }, packed = { .n = 0 }, ratio;
	lend_plan *here = plan_of(form, n, false);
	lend_plan *pack = plan_of(form, n, true);
	struct report_row *row;
	char *key = keys[used++];

	/* Once untimed: storage grows, all pages are there. */
	rate(few, here, n, 0);
	rate(few, pack, n, 0);
	for (int r = 0; r < rounds; r++) {
		/* Each begins in turn. */
		if (r % 2)
			bench_series_add(&packed,
					 rate(few, pack, n, slice_ns));
		bench_series_add(&ours, rate(few, here, n, slice_ns));
		if (r % 2 == 0)
			bench_series_add(&packed,
					 rate(few, pack, n, slice_ns));
	}
	snprintf(key, sizeof(keys[0]), "%s u=%zu", form, n);
	row = report_add(key, 1, "GFLOP/s", "wall");
	ratio = bench_ratio(&ours, &packed);
	report_ours(row, &ours);
	report_peer(row, "packed", bench_median(&packed));
	report_ratio(row, "packed", &ratio);
	/* Small caches have no room for B: then there is nothing to compare. */
	report_note(row, "%d rows, a sum of %d; A from memory%s", ROWS, DEPTH,
		    is_in_place(here) ? "" : "; packed either way");
	printf("%s u=%-3zu %6.1f GFLOP/s, packed %6.1f, %.2fx (%.2f to "
	       "%.2f)%s\n", form, n, row->ours, bench_median(&packed),
	       row->ratio, row->ratio_low, row->ratio_high,
	       is_in_place(here) ? "" : ", packed either way");
	lend_plan_destroy(here);
	lend_plan_destroy(pack);
}

/* `count` doubles, none of them 0. */
static double *
numbers(size_t count)
{
	double *number = malloc(count * sizeof(*number));

	if (!number)
		bench_die("no memory");
	for (size_t i = 0; i < count; i++)
		number[i] = 1 + (double)(i % 7);
	return number;
}

void
contract_columns(int rounds, uint64_t slice_ns, bool quick)
{
	size_t bytes = ROWS * DEPTH * sizeof(double);
	/* Three times the last cache. */
	struct few few = {
		.copies = quick ? 2 : ceil_div(3 * caches()->l3, bytes) + 1
	};

	few.a = numbers(few.copies * ROWS * DEPTH);
	few.b = numbers(MOST_COLUMNS * DEPTH);
	few.c = numbers(MOST_COLUMNS * ROWS);
	if (lend_arena_create(&few.arena, NULL))
		bench_die("no arena");
	lend_exec_serial(&few.exec);
	printf("\nfew columns u, v=%d, k=%d, row-major, one thread\n", ROWS,
	       DEPTH);
	for (size_t f = 0; f < FORMS; f++)
		for (size_t n = 0; n < COLUMNS; n++)
			measure(&few, forms[f], columns[n], rounds, slice_ns);
	if (lend_arena_destroy(few.arena))
		bench_die("the arena is busy");
	free(few.a);
	free(few.b);
	free(few.c);
}
