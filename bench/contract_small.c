/* SPDX-License-Identifier: MIT */
#include "bench/contract_small.h"

#include <lend/contract.h>

#include <math.h>
#include <stdio.h>

#include "bench/contract_cases.h"
#include "bench/report.h"
#include "contract/kernel.h"

#define SIDE 16
/* Where the tiles and panels of any kernel have room. */
#define ROOM 8192

/* ------------------------------------------------------------------------
 * Plans
 * --------------------------------------------------------------------- */

static lend_plan *
plan_of(const struct contract_case *c)
{
	struct lend_layout layout[CASE_OPERANDS];
	struct lend_error why;
	lend_plan *plan;

	for (int o = 0; o < CASE_OPERANDS; o++)
		layout[o] = (struct lend_layout){
			c->tensor[o].rank, c->tensor[o].extent,
			c->tensor[o].stride
		};
	if (lend_plan_create(&plan, c->einsum, LEND_F64, &layout[CASE_A],
			     &layout[CASE_B], &layout[CASE_C], NULL, &why))
		bench_die("%s: %s", c->einsum, why.text);
	return plan;
}

/* Nanoseconds of one plan, made and destroyed. */
static double
time_plan(const struct contract_case *c, uint64_t slice_ns)
{
	uint64_t start = bench_now(), end;
	unsigned n = 0;

	do {
		for (int i = 0; i < 20; i++, n++)
			lend_plan_destroy(plan_of(c));
		end = bench_now();
	} while (end - start < slice_ns);
	return (double)(end - start) / n;
}

/* The slowest one of the list. */
static void
plans(int rounds, uint64_t slice_ns)
{
	struct report_row *row = report_add("plan", 1, "us", "wall");
	struct bench_series worst = { .n = 0 };
	const char *name = "";

	for (size_t i = 0; i < contract_cases(); i++) {
		struct contract_case c = contract_case_at(i, false, false);
		struct bench_series series = { .n = 0 };

		for (int r = 0; r < rounds; r++)
			bench_series_add(&series,
					 time_plan(&c, slice_ns / 4) / 1e3);
		if (worst.n && bench_median(&series) <= bench_median(&worst))
			continue;
		worst = series;
		name = c.name;
	}
	report_ours(row, &worst);
	report_aim(row, AIM_VALUE_AT_MOST, 20);
	report_note(row, "made and destroyed; of the list's, %s takes longest",
		    name);
	printf("\nplan           %.2f us, %s\n", row->ours, row->note);
}

/* ------------------------------------------------------------------------
 * A small product
 * --------------------------------------------------------------------- */

static struct {
	double a[SIDE * SIDE], b[SIDE * SIDE], c[SIDE * SIDE];
	_Alignas(64) double packed_a[ROOM], packed_b[ROOM], tile[ROOM];
	int64_t unit[SIDE], line[SIDE];
} small;

/* Packing and kernel calls, as an engine that knew this one would have. */
static void
bare(const struct kernel *kernel)
{
	size_t panel_a = SIDE * kernel->mr, panel_b = SIDE * kernel->nr;

	kernel->pack_a(SIDE, SIDE, small.a, small.unit, small.line, 0,
		       small.packed_a);
	kernel->pack_b(SIDE, SIDE, small.b, small.line, small.unit, 0,
		       small.packed_b);
	for (size_t j = 0; j < SIDE; j += kernel->nr) {
		for (size_t i = 0; i < SIDE; i += kernel->mr) {
			size_t m = SIDE - i < kernel->mr ? SIDE - i :
							   kernel->mr;
			size_t n = SIDE - j < kernel->nr ? SIDE - j :
							   kernel->nr;

			kernel->tile(SIDE,
				     small.packed_a + i / kernel->mr * panel_a,
				     small.packed_b + j / kernel->nr * panel_b,
				     small.tile, NULL);
			kernel->scatter(m, n, small.tile, small.c,
					small.unit + i, small.line + j,
					KERNEL_SET, 0);
		}
	}
}

struct execution {
	lend_plan *plan;
	lend_workspace *ws;
	struct lend_exec exec;
	struct lend_call call;
};

static struct execution
execution_open(void)
{
	size_t extent[] = { SIDE, SIDE };
	ptrdiff_t stride[] = { 1, SIDE };
	struct lend_layout layout = { 2, extent, stride };
	struct execution e = {
		.call = { .a = small.a, .b = small.b, .c = small.c },
	};
	struct lend_req req;

	if (lend_plan_create(&e.plan, "ab,bc->ac", LEND_F64, &layout, &layout,
			     &layout, NULL, NULL) ||
	    lend_plan_req(e.plan, 1, 1, &req) ||
	    lend_workspace_create(&e.ws, &req, NULL))
		bench_die("no plan of %d", SIDE);
	lend_exec_serial(&e.exec);
	return e;
}

static void
execute(const struct execution *e)
{
	if (lend_plan_execute_in(e->plan, e->ws, &e->exec, &e->call, NULL))
		bench_die("the execution failed");
}

/* Nanoseconds of each, in turn, in pieces too short to be disturbed. */
static void
time_both(const struct execution *e, const struct kernel *kernel,
	  uint64_t slice_ns, double *ours, double *theirs)
{
	uint64_t until = bench_now() + slice_ns;

	*ours = *theirs = INFINITY;
	while (bench_now() < until) {
		uint64_t t[3];

		t[0] = bench_now();
		for (int i = 0; i < 50; i++)
			execute(e);
		t[1] = bench_now();
		for (int i = 0; i < 50; i++)
			bare(kernel);
		t[2] = bench_now();
		*ours = fmin(*ours, (double)(t[1] - t[0]) / 50);
		*theirs = fmin(*theirs, (double)(t[2] - t[1]) / 50);
	}
}

static void
small_product(int rounds, uint64_t slice_ns)
{
	const struct kernel *kernel = kernel_find(NULL, sizeof(double));
	struct report_row *row = report_add("16x16x16", 1, "ns", "wall");
	struct bench_series ours = { .n = 0 }, theirs = { .n = 0 }, ratio;
	struct execution e = execution_open();

	for (size_t i = 0; i < SIDE; i++) {
		small.unit[i] = (int64_t)i;
		small.line[i] = (int64_t)(i * SIDE);
	}
	for (size_t i = 0; i < SIDE * SIDE; i++)
		small.a[i] = small.b[i] = (double)(i % 7);
	for (int r = 0; r < rounds; r++) {
		double mine, bare_one;

		time_both(&e, kernel, slice_ns, &mine, &bare_one);
		bench_series_add(&ours, mine);
		bench_series_add(&theirs, bare_one);
	}
	ratio = bench_ratio(&ours, &theirs);
	report_ours(row, &ours);
	report_peer(row, "bare", bench_median(&theirs));
	report_ratio(row, "bare", &ratio);
	report_aim(row, AIM_RATIO_AT_MOST, 1.5);
	report_note(row, "from a warm workspace; bare: packing, the %s kernel, "
		    "the update of C", kernel->name);
	printf("%dx%dx%d       %.0f ns, bare %.0f ns, %.2fx, %s\n", SIDE, SIDE,
	       SIDE, row->ours, bench_median(&theirs), row->ratio, row->note);
	lend_plan_destroy(e.plan);
	if (lend_workspace_destroy(e.ws))
		bench_die("the workspace is busy");
}

void
contract_small(int rounds, uint64_t slice_ns)
{
	plans(rounds, slice_ns);
	small_product(rounds, slice_ns);
}
