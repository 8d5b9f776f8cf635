/* SPDX-License-Identifier: MIT */
/* lend plan: what a contraction would do. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/describe.h"
#include "tools/measure.h"
#include "tools/message.h"
#include "tools/operand.h"
#include "tools/print.h"
#include "tools/threads.h"

enum {
	OPT_TYPE = 1, OPT_THREADS, OPT_TEAM, OPT_KERNEL, OPT_PEAK,
	OPT_BANDWIDTH, OPT_MEASURE, OPT_JSON
};

static const struct args_option options[] = {
	{ "type", OPT_TYPE, 't', "TYPE",
	  "f32, f64, cf32 or cf64 (default: the files', or f64)" },
	{ "threads", OPT_THREADS, 0, "N",
	  "threads to plan for (default: all processors)" },
	{ "team", OPT_TEAM, 0, "PMxPN",
	  "the team, instead of the plan's own choice" },
	{ "kernel", OPT_KERNEL, 0, "NAME",
	  "avx512, avx2 or portable (default: the best)" },
	{ "peak", OPT_PEAK, 0, "GFLOPS", "the processors' peak, for a bound" },
	{ "bandwidth", OPT_BANDWIDTH, 0, "GBPS",
	  "the memory's bandwidth, for a bound" },
	{ "measure", OPT_MEASURE, 0, NULL,
	  "measure the two where they are not given" },
	{ "json", OPT_JSON, 0, NULL, "print JSON" },
	ARGS_HELP,
	{ 0 },
};

struct plan_options {
	const char *einsum;
	enum lend_type type;
	bool typed, measure, json;
	size_t threads, pm, pn;
	const char *kernel;
	double peak, bandwidth;	/* NAN: not known */
};

/* One option; false: its value was wrong, which is told. */
static bool
take(struct plan_options *o, struct args *args, int key)
{
	switch (key) {
	case OPT_TYPE:
		o->typed = true;
		return args_type(args, &o->type);
	case OPT_THREADS:
		return args_count(args, &o->threads);
	case OPT_TEAM:
		return args_team(args, &o->pm, &o->pn);
	case OPT_KERNEL:
		o->kernel = args->value;
		return true;
	case OPT_PEAK:
		return args_positive(args, &o->peak);
	case OPT_BANDWIDTH:
		return args_positive(args, &o->bandwidth);
	case OPT_MEASURE:
		o->measure = true;
		return true;
	default:
		o->json = true;
		return true;
	}
}

/* The type that files and --type agree upon; 0 or STATUS_BAD. */
static int
settle_type(struct plan_options *o, const struct operand operand[2],
	    char **name)
{
	for (int i = 0; i < 2; i++) {
		if (!operand[i].typed)
			continue;
		if (o->typed && operand[i].type != o->type)
			return complain("%s: its elements are %s, not %s",
					name[i], type_name(operand[i].type),
					type_name(o->type));
		o->typed = true;
		o->type = operand[i].type;
	}
	return 0;
}

/* Measures what is asked for and not given. */
static int
measure(struct plan_options *o)
{
	struct threads threads;
	struct message why;

	if (!o->measure || threads_start(&threads, o->threads))
		return o->measure ? STATUS_BAD : 0;
	if (isnan(o->peak))
		o->peak = measure_peak(o->type, o->kernel, &threads.exec,
				       false, &why);
	if (isnan(o->bandwidth))
		o->bandwidth = measure_bandwidth(&threads.exec, false,
						 &why);
	threads_stop(&threads);
	if (o->peak < 0 || o->bandwidth < 0)
		return complain("plan: %s", why.text);
	return 0;
}

static void
print_human(const struct description *d, const struct plan_options *o)
{
	printf("%s  %s\n", d->einsum, type_name(d->info.type));
	describe_print(d);
	describe_print_request(d);
	if (isnan(d->bound))
		return;
	print_line("bound", "%.1f GFLOP/s: %s", d->bound,
		   d->bound < o->peak ? "the memory's bandwidth"
				      : "the processors' peak");
	if (o->measure) {
		print_line("peak", "%.1f GFLOP/s", o->peak);
		print_line("", "(%s)", MEASURE_PEAK);
		print_line("bandwidth", "%.1f GB/s", o->bandwidth);
		print_line("", "(%s)", MEASURE_BANDWIDTH);
	}
}

static void
print_json(const struct description *d, const struct plan_options *o)
{
	struct json_out json = { .file = stdout };

	json_begin(&json, NULL, '{');
	describe_json(d, &json);
	json_put_real(&json, "peak_gflops", o->peak);
	json_put_real(&json, "bandwidth_gbps", o->bandwidth);
	json_put_real(&json, "bound_gflops", d->bound);
	json_end(&json, '}');
}

static int
show(struct plan_options *o, const lend_plan *plan,
     const struct operand operand[2])
{
	struct description d;
	struct message why;
	int status;

	if (!describe(&d, o->einsum, plan, &operand[0].layout,
		      &operand[1].layout, o->threads, o->pm, o->pn, &why))
		return complain("plan: %s", why.text);
	status = measure(o);
	if (status)
		return status;
	d.bound = describe_bound(&d, o->peak, o->bandwidth);
	(o->json ? print_json : print_human)(&d, o);
	return 0;
}

/* argv: einsum and two operands. */
static int
plan_and_show(struct plan_options *o, char **argv)
{
	struct lend_plan_options plan_options = { .size = sizeof plan_options,
						  .kernel = o->kernel };
	struct operand operand[2];
	struct lend_error error;
	struct message why;
	lend_plan *plan;
	int status;

	o->einsum = argv[0];
	for (int i = 0; i < 2; i++)
		if (!operand_read(&operand[i], argv[1 + i], &why))
			return complain("%s: %s", argv[1 + i], why.text);
	status = settle_type(o, operand, argv + 1);
	if (status)
		return status;
	if (lend_plan_create(&plan, o->einsum, o->type, &operand[0].layout,
			     &operand[1].layout, NULL, &plan_options, &error))
		return complain("%s: %s", o->einsum, error.text);
	status = show(o, plan, operand);
	lend_plan_destroy(plan);
	return status;
}

static int
run(const struct args_command *command, int argc, char **argv)
{
	struct plan_options o = { .type = LEND_F64, .peak = NAN,
				  .bandwidth = NAN };
	struct args args;
	int key;

	args_start(&args, command, argc, argv);
	while ((key = args_next(&args)) != ARGS_END) {
		if (key == ARGS_STOP)
			return args.status;
		if (!take(&o, &args, key))
			return STATUS_BAD;
	}
	if (!args_operands(&args, 3, 3))
		return args.status;
	if (o.threads == 0)
		o.threads = o.pm ? o.pm * o.pn : threads_of_machine();
	if (o.pm * o.pn > o.threads)
		return complain("plan: a team of %zux%zu is more than %zu "
				"threads", o.pm, o.pn, o.threads);
	return plan_and_show(&o, argv + args.at);
}

const struct args_command command_plan = {
	"plan", "EINSUM SHAPE_A SHAPE_B",
	"tell what a contraction would do",
	"Tells what contracting two tensors would do: the matrices that they are\n"
	"seen as, the blocks, the team, what is borrowed, and how fast it can be.\n"
	"A shape is 72x72x24, scalar, or a .npy file, whose layout then counts.",
	options, run,
};
