/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <unistd.h>

#include "bench/contenders.h"
#include "bench/figures.h"
#include "bench/report.h"

/*
 * Rounds in which a slice was disturbed have no wall and cpu.  What the
 * threads of lend or of the floor need themselves is not changed by others:
 * any_cpu has it from all rounds.
 */
struct cell {
	struct bench_series wall, cpu, any_cpu;
};

/* One loop of all contenders, on each number of threads. */
struct grid {
	struct cell cell[CONTENDERS][THREAD_COUNTS];
};

static struct grid worker, callback, team;

static void
measure(const struct figures_plan *plan, struct grid *grid, int id, int t,
	enum bench_loop loop)
{
	struct contender *c = &contenders[id];
	struct cell *cell = &grid->cell[id][t];
	int threads = plan->threads[t];
	bool may_be_quiet = !plan->quick &&
			    threads <= sysconf(_SC_NPROCESSORS_ONLN);
	struct bench_sample sample;

	if (!c->present || !c->loop[loop])
		return;
	if (may_be_quiet)
		sample = bench_quiet_slice(plan->crew, threads, c->loop[loop],
					   c, plan->quiet_slice_ns,
					   plan->tries);
	else
		sample = bench_slice(plan->crew, threads, c->loop[loop], c,
				     plan->slice_ns);
	bench_series_add(&cell->any_cpu, sample.cpu);
	if (may_be_quiet && sample.disturbed)
		sample.wall = sample.cpu = NAN;
	bench_series_add(&cell->wall, sample.wall);
	bench_series_add(&cell->cpu, sample.cpu);
}

/* Each round starts with another contender, so that none is always first. */
static void
measure_round(const struct figures_plan *plan, int round)
{
	for (int t = 0; t < THREAD_COUNTS && plan->threads[t]; t++) {
		for (int i = 0; i < CONTENDERS; i++) {
			int id = (i + round) % CONTENDERS;

			measure(plan, &worker, id, t, LOOP_WORKER);
			measure(plan, &callback, id, t, LOOP_WORKER_CALLBACK);
			measure(plan, &team, id, t, LOOP_TEAM);
		}
	}
}

static const struct bench_series *
series(const struct cell *cell, bool cpu)
{
	return cpu ? &cell->cpu : &cell->wall;
}

/*
 * Every contender's median.  the peer has no form of two calls: its callback
 * form stands in the worker's row too.
 */
static void
add_peers(struct report_row *row, const struct grid *grid, int t, bool cpu)
{
	for (int id = PEER; id < CONTENDERS; id++) {
		const struct cell *cell = &grid->cell[id][t];
		struct contender *c = &contenders[id];

		if ((id == PEER || id == PEER_INSIDE) && grid == &worker)
			cell = &callback.cell[id][t];
		else if (grid == &callback && id > MUTEX)
			continue;
		else if (grid == &team && (id == TLS || id == TLS_DEFAULT))
			continue;
		report_peer(row, c->name, bench_median(series(cell, cpu)));
	}
}

static struct report_row *
add_row(const struct figures_plan *plan, const struct grid *grid, int t,
	const char *key, bool cpu)
{
	const struct grid *peers = grid == &worker ? &callback : grid;
	const struct bench_series *ours =
		series(&grid->cell[LEND][t], cpu);
	struct bench_series ratio =
		bench_ratio(series(&peers->cell[PEER][t], cpu), ours);
	struct report_row *row = report_add(key, plan->threads[t], "ns",
					    cpu ? "cpu" : "wall");

	row->form = grid == &callback ? "callback" : "calls";
	report_ours(row, ours);
	add_peers(row, grid, t, cpu);
	report_ratio(row, "peer", &ratio);
	if (bench_count(ours) < plan->rounds && !cpu)
		report_note(row, "%d of %d rounds undisturbed",
			    bench_count(ours), plan->rounds);
	return row;
}

/* The bound for a number of threads, or 0: none. */
static double
worker_bound(int threads)
{
	return threads == 1 ? 15 : threads == 2 ? 40 : 0;
}

static double
team_bound(int threads)
{
	return threads == 1 ? 1.5 : threads == 2 || threads == 64 ? 4 : 0;
}

static void
report_loans(const struct figures_plan *plan, const struct grid *grid,
	     const char *key, double (*bound)(int threads))
{
	for (int t = 0; t < THREAD_COUNTS && plan->threads[t]; t++) {
		double least = bound(plan->threads[t]);
		struct report_row *row = add_row(plan, grid, t, key, false);

		if (least > 0)
			report_aim(row, AIM_RATIO_AT_LEAST, least);
		add_row(plan, grid, t, key, true);
	}
}

/* How far a loan is above the floor: the look-up that it cannot do without. */
static void
report_floor(const struct figures_plan *plan, const char *key, int floor)
{
	for (int t = 0; t < THREAD_COUNTS && plan->threads[t]; t++) {
		const struct bench_series *ours =
			&worker.cell[LEND][t].any_cpu;
		const struct bench_series *least =
			&worker.cell[floor][t].any_cpu;
		struct bench_series ratio = bench_ratio(ours, least);
		struct report_row *row =
			report_add(key, plan->threads[t], "ns", "cpu");

		row->form = "calls";
		report_ours(row, ours);
		report_peer(row, contenders[floor].name, bench_median(least));
		report_ratio(row, "tls", &ratio);
		if (floor == TLS)
			report_aim(row, AIM_RATIO_AT_MOST, 3);
	}
}

/* The largest over the smallest CPU time per loan of the thread counts. */
static double
flatness(const struct figures_plan *plan, const struct grid *grid, int id)
{
	struct bench_series medians = { .n = 0 };

	for (int t = 0; t < THREAD_COUNTS && plan->threads[t]; t++)
		bench_series_add(&medians,
				 bench_median(&grid->cell[id][t].any_cpu));
	return bench_max(&medians) / bench_min(&medians);
}

static void
report_flatness(const struct figures_plan *plan, const struct grid *grid,
		const char *key)
{
	const struct grid *peers = grid == &worker ? &callback : grid;
	struct report_row *row;
	int most = 1;

	for (int t = 0; t < THREAD_COUNTS && plan->threads[t]; t++)
		most = plan->threads[t];
	row = report_add(key, most, "x", "cpu");
	row->form = "calls";
	row->ours = flatness(plan, grid, LEND);
	report_peer(row, "peer", flatness(plan, peers, PEER));
	report_peer(row, "mutex", flatness(plan, grid, MUTEX));
	report_note(row, "largest / smallest median CPU time, 1 to %d threads",
		    most);
	if (grid == &worker)
		report_aim(row, AIM_VALUE_AT_MOST, 1.3);
}

void
figures_loans(const struct figures_plan *plan)
{
	for (int round = 0; round < plan->rounds; round++)
		measure_round(plan, round);
	report_loans(plan, &worker, "worker", worker_bound);
	report_loans(plan, &callback, "worker-callback", worker_bound);
	report_floor(plan, "worker-floor", TLS);
	report_floor(plan, "worker-floor-default", TLS_DEFAULT);
	report_flatness(plan, &worker, "worker-flat");
	report_loans(plan, &team, "team", team_bound);
	report_flatness(plan, &team, "team-flat");
}
