/* SPDX-License-Identifier: MIT */
#include "tools/bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/clock.h"
#include "tools/describe.h"
#include "tools/measure.h"
#include "tools/memory.h"
#include "tools/npy.h"
#include "tools/print.h"
#include "tools/progress.h"

/* Repetitions: at least so many, and for so long. */
#define LEAST 5
#define SECONDS 1.0
#define QUICK_LEAST 2
#define QUICK_SECONDS 0.02

#define MIB 0x1p20

/* What one case needs. */
struct arrays {
	void *start[3];
	size_t bytes[3];
};

struct figures {
	double best, median;	/* GFLOP/s */
	double bound, share;
};

static const char *
plural(size_t n)
{
	return n == 1 ? "" : "s";
}

int
bench_start(struct bench *bench)
{
	int error = lend_arena_create(&bench->arena, NULL);

	if (error)
		return complain("bench: an arena: %s", strerror(-error));
	bench->json.file = stdout;
	if (!bench->options->json)
		return 0;
	json_begin(&bench->json, NULL, '{');
	json_put_text(&bench->json, "peak", MEASURE_PEAK);
	json_put_text(&bench->json, "bandwidth", MEASURE_BANDWIDTH);
	json_put_size(&bench->json, "scale", bench->options->scale);
	json_put_bool(&bench->json, "quick", bench->options->quick);
	json_begin(&bench->json, "results", '[');
	return 0;
}

/* What all of it was done with. */
static void
tell_arena(struct bench *bench)
{
	struct json_out *json = &bench->json;
	struct lend_stats stats;

	if (lend_arena_stats(bench->arena, &stats))
		return;
	if (!bench->options->json) {
		printf("lent to %zu executions: %.1f MiB, %.1f of it in B "
		       "panels, grown %" PRIu64 " times, %zu bytes still out\n",
		       bench->executions,
		       (double)stats.retained_bytes / MIB,
		       (double)stats.panel_bytes / MIB, stats.growths,
		       stats.leased_bytes);
		return;
	}
	json_begin(json, "arena", '{');
	json_put_size(json, "executions", bench->executions);
	json_put_size(json, "retained_bytes", stats.retained_bytes);
	json_put_size(json, "panel_bytes", stats.panel_bytes);
	json_put_size(json, "leased_bytes", stats.leased_bytes);
	json_put_size(json, "growths", stats.growths);
	json_end(json, '}');
}

void
bench_end(struct bench *bench)
{
	if (bench->options->json && bench->arena)
		json_end(&bench->json, ']');
	if (bench->arena)
		tell_arena(bench);
	/* No loan is out, so that it cannot be refused. */
	if (bench->arena && lend_arena_destroy(bench->arena))
		return;
	if (!bench->options->json || !bench->arena)
		return;
	json_end(&bench->json, '}');
}

int
bench_group(struct bench *bench, enum lend_type type,
	    const struct lend_exec *exec)
{
	size_t threads = lend_exec_budget(exec);
	struct message why;

	bench->type = type;
	bench->exec = exec;
	bench->shares = bench->logs = 0;
	bench->cases = 0;
	progress_start("measuring the machine", 0);
	bench->peak = measure_peak(type, bench->options->kernel, exec,
				   bench->options->quick, &why);
	if (bench->peak >= 0)
		bench->bandwidth = measure_bandwidth(exec, bench->options->quick,
						     &why);
	progress_stop();
	if (bench->peak < 0 || bench->bandwidth < 0)
		return complain("bench: %s", why.text);
	if (bench->options->json)
		return 0;
	printf("%s, %zu thread%s\n", type_name(type), threads,
	       plural(threads));
	print_line("peak", "%.1f GFLOP/s (%s)", bench->peak, MEASURE_PEAK);
	print_line("bandwidth", "%.1f GB/s (%s)", bench->bandwidth,
		   MEASURE_BANDWIDTH);
	printf("\n  %-28s%7s%10s%10s%10s%8s\n", "GFLOP/s", "team", "best",
	       "median", "bound", "share");
	fflush(stdout);
	return 0;
}

void
bench_group_end(struct bench *bench)
{
	double n = (double)bench->cases;

	if (bench->options->json || bench->cases == 0)
		return;
	printf("  %-28s%7s%10.1f%10s%10s%7.0f%%\n\n",
	       "mean (of rates: geometric)", "", exp(bench->logs / n), "", "",
	       100 * bench->shares / n);
}

static void
arrays_free(struct arrays *arrays)
{
	for (int i = 0; i < 3; i++)
		memory_unmap(arrays->start[i], arrays->bytes[i]);
}

static bool
arrays_make(struct arrays *arrays, enum lend_type type,
	    const struct description *d)
{
	const struct lend_layout *layout[] = { d->a, d->b, &d->c };

	memset(arrays, 0, sizeof *arrays);
	for (int i = 0; i < 3; i++) {
		/* The plan has found the products to fit. */
		arrays->bytes[i] = lend_type_bytes(type);
		for (size_t j = 0; j < layout[i]->rank; j++)
			arrays->bytes[i] *= layout[i]->extent[j];
		arrays->start[i] = memory_map(arrays->bytes[i]);
		if (!arrays->start[i])
			return false;
		measure_fill(type, arrays->start[i], arrays->bytes[i],
			     (unsigned)i);
	}
	return true;
}

/* One to get warm, then until there are enough. */
static int
repeat(struct bench *bench, const lend_plan *plan,
       const struct arrays *arrays, struct series *series,
       struct lend_error *error)
{
	struct lend_call call = { .a = arrays->start[0],
				  .b = arrays->start[1],
				  .c = arrays->start[2] };
	bool quick = bench->options->quick;
	double total = 0;
	int failed = lend_plan_execute(plan, bench->arena, bench->exec, &call,
				       error);

	bench->executions++;

	while (!failed && (series->n < (quick ? QUICK_LEAST : LEAST) ||
			   total < (quick ? QUICK_SECONDS : SECONDS))) {
		double begin = now_seconds(), seconds;

		failed = lend_plan_execute(plan, bench->arena, bench->exec,
					   &call, error);
		bench->executions++;
		seconds = now_seconds() - begin;
		series_add(series, seconds);
		total += seconds;
		if (series->n == 0)
			failed = 1;
	}
	return failed;
}

static void
tell(struct bench *bench, const struct bench_case *c,
     const struct description *d, const struct figures *f)
{
	const struct lend_plan_info *i = &d->info;
	struct json_out *json = &bench->json;
	char team[64];

	if (!bench->options->json) {
		snprintf(team, sizeof team, "%zux%zu", i->pm, i->pn);
		printf("  %-28s%7s%10.1f%10.1f%10.1f%7.0f%%\n", c->name, team,
		       f->best, f->median, f->bound, 100 * f->share);
		fflush(stdout);
		return;
	}
	json_begin(json, NULL, '{');
	json_put_text(json, "name", c->name);
	json_put_size(json, "threads", lend_exec_budget(bench->exec));
	describe_json(d, json);
	json_put_real(json, "gflops_best", f->best);
	json_put_real(json, "gflops_median", f->median);
	json_put_real(json, "peak_gflops", bench->peak);
	json_put_real(json, "bandwidth_gbps", bench->bandwidth);
	json_put_real(json, "bound_gflops", f->bound);
	json_put_real(json, "share", f->share);
	json_end(json, '}');
}

static int
measure(struct bench *bench, const struct bench_case *c,
	const lend_plan *plan, const struct description *d)
{
	struct lend_error error = { "no memory" };
	struct series series = { 0 };
	struct figures f;
	struct arrays arrays;
	int failed = 1;

	progress_start(c->name, 0);
	if (arrays_make(&arrays, bench->type, d))
		failed = repeat(bench, plan, &arrays, &series, &error);
	progress_stop();
	arrays_free(&arrays);
	f.best = d->info.flops / series_best(&series) * 1e-9;
	f.median = d->info.flops / series_median(&series) * 1e-9;
	series_destroy(&series);
	if (failed)
		return complain("%s: %s", c->name, error.text);
	f.bound = describe_bound(d, bench->peak, bench->bandwidth);
	f.share = f.best / f.bound;
	bench->shares += f.share;
	bench->logs += log(f.best);
	bench->cases++;
	tell(bench, c, d, &f);
	return 0;
}

int
bench_case_run(struct bench *bench, const struct bench_case *c)
{
	struct lend_plan_options options = { .size = sizeof options,
					     .kernel = bench->options->kernel };
	struct case_shapes shapes;
	struct lend_error error;
	struct description d;
	struct message why;
	lend_plan *plan;
	int status;

	if (!cases_shapes(c, bench->type, bench->options->scale, &shapes,
			  &why))
		return complain("%s: %s", c->name, why.text);
	if (lend_plan_create(&plan, c->einsum, bench->type, &shapes.a,
			     &shapes.b, NULL, &options, &error))
		return complain("%s: %s", c->name, error.text);
	if (describe(&d, c->einsum, plan, &shapes.a, &shapes.b,
		     lend_exec_budget(bench->exec), 0, 0, &why))
		status = measure(bench, c, plan, &d);
	else
		status = complain("%s: %s", c->name, why.text);
	lend_plan_destroy(plan);
	return status;
}
