/* SPDX-License-Identifier: MIT */
/* Plain buffers of several sizes, beside malloc and free of the same. */
#include <math.h>
#include <unistd.h>

#include "bench/contenders.h"
#include "bench/figures.h"
#include "bench/report.h"

#define SIZES 6
#define FORMS 3

static const size_t size_bytes[SIZES] = {
	(size_t)64 << 10, (size_t)256 << 10, (size_t)1 << 20,
	(size_t)4 << 20, (size_t)16 << 20, (size_t)64 << 20
};

/* One thread, two threads; and one that writes all of it. */
static const struct form {
	const char *key[SIZES];
	int threads;
	enum bench_loop loop;
} forms[FORMS] = {
	{ { "buffer-64K", "buffer-256K", "buffer-1M", "buffer-4M",
	    "buffer-16M", "buffer-64M" }, 1, LOOP_BUFFER },
	{ { "buffer-64K", "buffer-256K", "buffer-1M", "buffer-4M",
	    "buffer-16M", "buffer-64M" }, 2, LOOP_BUFFER },
	{ { "buffer-fill-64K", "buffer-fill-256K", "buffer-fill-1M",
	    "buffer-fill-4M", "buffer-fill-16M", "buffer-fill-64M" }, 1,
	  LOOP_BUFFER_FILL },
};

static struct bench_series wall[FORMS][SIZES][CONTENDERS];

static void
measure(const struct figures_plan *plan, int form, int size, int id)
{
	struct contender *c = &contenders[id];
	bench_loop_fn *loop = c->loop[forms[form].loop];
	int threads = forms[form].threads;
	struct bench_sample sample;

	if (!c->present || !loop)
		return;
	/* Those that loop are started after this. */
	contender_buffer_bytes = size_bytes[size];
	if (plan->quick || threads > sysconf(_SC_NPROCESSORS_ONLN)) {
		sample = bench_slice(plan->crew, threads, loop, c,
				     plan->slice_ns);
	} else {
		sample = bench_quiet_slice(plan->crew, threads, loop, c,
					   plan->quiet_slice_ns, plan->tries);
		if (sample.disturbed)
			sample.wall = NAN;
	}
	bench_series_add(&wall[form][size][id], sample.wall);
}

/* The allocator with the least median, or lend where there is none. */
static int
best_of(int form, int size)
{
	int best = LEND;

	for (int id = GLIBC; id < CONTENDERS; id++) {
		double median = bench_median(&wall[form][size][id]);

		if (!isnan(median) && (best == LEND || median <
		    bench_median(&wall[form][size][best])))
			best = id;
	}
	return best;
}

static void
report(const struct figures_plan *plan, int form, int size)
{
	const struct bench_series *series = wall[form][size];
	const struct bench_series *ours = &series[LEND];
	int best = best_of(form, size);
	struct bench_series ratio = bench_ratio(&series[best], ours);
	struct report_row *row = report_add(forms[form].key[size],
					    forms[form].threads, "ns", "wall");

	row->form = "calls";
	report_ours(row, ours);
	for (int id = GLIBC; id < CONTENDERS; id++)
		report_peer(row, contenders[id].name,
			    bench_median(&series[id]));
	if (best != LEND)
		report_ratio(row, contenders[best].name, &ratio);
	if (forms[form].threads == 1)
		report_aim(row, AIM_RATIO_AT_LEAST, 1);
	if (bench_count(ours) < plan->rounds)
		report_note(row, "%d of %d rounds undisturbed",
			    bench_count(ours), plan->rounds);
}

/* Of a loan that touches nothing, whatever the size. */
static void
report_slowest(void)
{
	struct report_row *row = report_add("buffer", 1, "ns", "wall");
	int slowest = 0;

	for (int size = 1; size < SIZES; size++)
		if (bench_median(&wall[0][size][LEND]) >
		    bench_median(&wall[0][slowest][LEND]))
			slowest = size;
	row->form = "calls";
	report_ours(row, &wall[0][slowest][LEND]);
	report_note(row, "the slowest of the sizes below");
	report_aim(row, AIM_VALUE_AT_MOST, 30);
}

void
figures_buffers(const struct figures_plan *plan)
{
	for (int round = 0; round < plan->rounds; round++)
		for (int form = 0; form < FORMS; form++)
			for (int size = 0; size < SIZES; size++)
				for (int i = 0; i < CONTENDERS; i++)
					measure(plan, form, size,
						(i + round) % CONTENDERS);
	report_slowest();
	for (int form = 0; form < FORMS; form++)
		for (int size = 0; size < SIZES; size++)
			report(plan, form, size);
}
