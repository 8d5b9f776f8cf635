/* SPDX-License-Identifier: MIT */
#include <lend/arena.h>

#include <stdio.h>

#include "bench/contenders.h"
#include "bench/figures.h"
#include "bench/report.h"

#define SLOTS 64
#define SETS 64
#define LENDERS 2
#define EVERY_MS 1000000u

/* The contenders that have accounts and can trim. */
static const enum contender_id arenas[] = { LEND, PEER, MUTEX };
#define ARENAS ((int)(sizeof(arenas) / sizeof(arenas[0])))

/* By contender's place in arenas[]. */
struct by_arena {
	struct bench_series of[ARENAS];
};

static bench_loop_fn *
loop_of(const struct contender *c, enum bench_loop loop)
{
	if (loop == LOOP_WORKER && !c->loop[loop])
		loop = LOOP_WORKER_CALLBACK;
	return c->loop[loop];
}

/* 64 threads with a slot each, 64 sets with a panel each, all idle. */
static void
populate(const struct figures_plan *plan, struct contender *c)
{
	bench_slice(plan->crew, SLOTS, loop_of(c, LOOP_WORKER), c,
		    plan->slice_ns);
	c->sets(c, SETS);
}

static void
populate_all(const struct figures_plan *plan)
{
	for (int i = 0; i < ARENAS; i++)
		if (contenders[arenas[i]].present)
			populate(plan, &contenders[arenas[i]]);
}

static double
time_stats(struct contender *c, int calls)
{
	uint64_t begin = bench_now();

	for (int i = 0; i < calls; i++)
		c->stats(c);
	return (double)(bench_now() - begin) / calls;
}

static void
add_peers(struct report_row *row, const struct by_arena *figure)
{
	for (int i = 1; i < ARENAS; i++)
		report_peer(row, contenders[arenas[i]].name,
			    bench_median(&figure->of[i]));
}

static void
figure_stats(const struct figures_plan *plan)
{
	struct lend_stats stats;
	struct by_arena figure = { 0 };
	struct bench_series ratio;
	struct report_row *row;

	for (int round = 0; round < plan->rounds; round++)
		for (int i = 0; i < ARENAS; i++) {
			struct contender *c = &contenders[arenas[i]];

			if (c->present)
				bench_series_add(&figure.of[i],
						 time_stats(c, 1000));
		}
	if (lend_arena_stats(contenders[LEND].state, &stats))
		bench_die("no stats");
	row = report_add("stats", 1, "ns", "wall");
	report_ours(row, &figure.of[0]);
	add_peers(row, &figure);
	ratio = bench_ratio(&figure.of[1], &figure.of[0]);
	report_ratio(row, "peer", &ratio);
	report_aim(row, AIM_VALUE_AT_MOST, 2000);
	report_note(row, "%zu slots, %zu sets, all idle",
		    stats.slots_idle + stats.slots_out,
		    stats.sets_idle + stats.sets_out);
}

static void
nothing(void *ctx)
{
	(void)ctx;
}

/* One way of disturbing the lenders of all arenas. */
struct disturbance {
	enum bench_loop loop;
	/* What is called every millisecond. */
	enum call { CALL_NOTHING, CALL_STATS, CALL_TRIM } call;
	/* Per cent of the undisturbed rate that is left, and calls a second. */
	struct by_arena wall, cpu, rate;
};

static struct bench_sample
lap(const struct figures_plan *plan, struct contender *c, bench_loop_fn *loop)
{
	return bench_slice(plan->crew, LENDERS, loop, c, plan->lap_ns);
}

static struct bench_sample
disturbed_lap(const struct figures_plan *plan, struct contender *c,
	      const struct disturbance *d, struct bench_series *rate)
{
	void (*fn)(void *ctx) = d->call == CALL_STATS ? c->stats :
				d->call == CALL_TRIM ? c->trim : nothing;
	struct bench_ticker *ticker = bench_ticker_start(fn, c, EVERY_MS);
	struct bench_sample sample = lap(plan, c, loop_of(c, d->loop));

	bench_series_add(rate, bench_ticker_stop(ticker));
	return sample;
}

/* A pair of laps; which one is first takes turns as well. */
static void
disturb(const struct figures_plan *plan, struct disturbance *d, int i,
	bool quiet_first)
{
	struct contender *c = &contenders[arenas[i]];
	bench_loop_fn *loop = loop_of(c, d->loop);
	struct bench_sample quiet = { 0 }, disturbed;

	if (!c->present)
		return;
	if (quiet_first)
		quiet = lap(plan, c, loop);
	disturbed = disturbed_lap(plan, c, d, &d->rate.of[i]);
	if (!quiet_first)
		quiet = lap(plan, c, loop);
	bench_series_add(&d->wall.of[i], 100 * quiet.wall / disturbed.wall);
	bench_series_add(&d->cpu.of[i], 100 * quiet.cpu / disturbed.cpu);
}

static void
disturb_all(const struct figures_plan *plan, struct disturbance *d)
{
	for (int turn = 0; turn < plan->laps; turn++)
		for (int i = 0; i < ARENAS; i++)
			disturb(plan, d, i, turn % 2 == 0);
}

static struct report_row *
add_row(const char *key, const struct by_arena *kept, const char *measure)
{
	struct report_row *row = report_add(key, LENDERS, "%", measure);

	report_ours(row, &kept->of[0]);
	add_peers(row, kept);
	return row;
}

/* Which calls a second were reached: a slow one does not keep the pace. */
static void
note_rates(struct report_row *row, const struct disturbance *d,
	   const char *what)
{
	char text[REPORT_NOTE];
	size_t used = 0;

	for (int i = 0; i < ARENAS; i++) {
		const struct contender *c = &contenders[arenas[i]];

		if (!c->present || used >= sizeof(text))
			continue;
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "%s %s %.0f", used ? "," : "",
					 c->name,
					 bench_median(&d->rate.of[i]));
	}
	report_note(row, "%s; calls/s:%s", what, text);
}

static void
report_disturbance(const char *key, const struct disturbance *d, double least,
		   const char *what)
{
	struct report_row *row = add_row(key, &d->wall, "wall");

	if (least > 0)
		report_aim(row, AIM_VALUE_AT_LEAST, least);
	note_rates(row, d, what);
	add_row(key, &d->cpu, "cpu");
}

void
figures_disturbed(const struct figures_plan *plan)
{
	static struct disturbance
		tick = { .call = CALL_NOTHING, .loop = LOOP_WORKER },
		poll = { .call = CALL_STATS, .loop = LOOP_WORKER },
		trim = { .call = CALL_TRIM, .loop = LOOP_WORKER },
		touch = { .call = CALL_TRIM, .loop = LOOP_WORKER_TOUCH };

	populate_all(plan);
	figure_stats(plan);
	disturb_all(plan, &tick);
	disturb_all(plan, &poll);
	disturb_all(plan, &trim);
	disturb_all(plan, &touch);
	report_disturbance("kept-ticked", &tick, 0,
			   "a thread that wakes every ms and does nothing");
	report_disturbance("kept-polled", &poll, 95, "stats every ms");
	report_disturbance("kept-trimmed", &trim, 50,
			   "a trim every ms, loans touch nothing");
	report_disturbance("kept-trimmed-touch", &touch, 0,
			   "a trim every ms, loans write to every page");
}
