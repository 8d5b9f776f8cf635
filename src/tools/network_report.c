/* SPDX-License-Identifier: MIT */
#include "tools/network.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/json.h"
#include "tools/message.h"
#include "tools/print.h"

#define ARENA_TEXT 4096
#define STEP_TEXT 1024

static double
gflops(const struct network *n, double seconds)
{
	return n->info.flops / seconds * 1e-9;
}

/* What a path costs; false: there is no memory to tell. */
static bool
path_cost(const struct network *n, const struct instance_path *path,
	  struct lend_network_info *info)
{
	lend_network *network;

	if (network_make(n, path, &network, NULL))
		return false;
	info->size = sizeof *info;
	if (lend_network_describe(network, info))
		info->size = 0;
	lend_network_destroy(network);
	return info->size;
}

/* The instance's paths and, at last, the greedy one. */
static const struct instance_path *
path_at(const struct network *n, size_t i)
{
	return i < n->instance.paths ? &n->instance.path[i] : NULL;
}

/* For people. */

static void
print_paths(const struct network *n)
{
	char text[2][PRINT_SIZE];

	for (size_t i = 0; i <= n->instance.paths; i++) {
		const struct instance_path *path = path_at(n, i);
		struct lend_network_info info;

		if (!path_cost(n, path, &info)) {
			print_line("path", "%s: refused",
				   network_path_name(path));
			continue;
		}
		print_line("path", "%s%s: %.4g GFLOP, buffers of %s, the "
			   "largest of %s", network_path_name(path),
			   path == n->path ? " (taken)" : "",
			   info.flops * 1e-9,
			   print_bytes((double)info.peak_bytes, text[0]),
			   print_bytes(info.largest * (double)
				       lend_type_bytes(n->type), text[1]));
	}
}

static void
print_rate(struct network *n)
{
	double best = series_best(&n->series);
	double median = series_median(&n->series);
	char text[2][PRINT_SIZE];

	print_line("made in", "%s", print_seconds(n->create_seconds,
						  text[0]));
	if (n->options->repeat == 1) {
		print_line("time", "%s", print_seconds(best, text[0]));
		print_line("rate", "%.2f GFLOP/s", gflops(n, best));
		return;
	}
	print_line("time", "best %s, median %s of %zu",
		   print_seconds(best, text[0]),
		   print_seconds(median, text[1]), n->options->repeat);
	print_line("rate", "best %.2f, median %.2f GFLOP/s", gflops(n, best),
		   gflops(n, median));
}

static void
print_lent(const struct network *n)
{
	const struct network_options *o = n->options;
	struct lender_counts counts;
	char text[2][PRINT_SIZE];

	lender_counts(&n->lender, &counts);
	print_line("borrows", "%s for a team, buffers of %s",
		   print_bytes((double)n->req_bytes, text[0]),
		   print_bytes((double)n->buffer_bytes, text[1]));
	print_line("lent by", "%s, which retains %s", lender_name(o->lender),
		   print_bytes((double)counts.retained_bytes, text[0]));
	print_cost("allocations", n->first.allocations, n->later.allocations,
		   o->repeat);
	print_cost("page faults", n->first.faults, n->later.faults,
		   o->repeat);
}

static void
print_steps(const struct network *n)
{
	for (size_t s = 0; s < n->info.steps; s++) {
		struct lend_network_step step = { .size = sizeof step };
		char text[STEP_TEXT], name[32];

		if (lend_network_step(n->network, s, &step))
			return;
		lend_network_einsum(n->network, s, text, sizeof text);
		snprintf(name, sizeof name, "step %zu", s);
		print_line(name, "[%zu, %zu] %s  %.4g FLOP", step.pair.first,
			   step.pair.second, text, step.flops);
	}
}

static void
print_stats(const struct network *n)
{
	struct lend_stats s = { 0 };

	print_steps(n);
	if (!n->lender.arena || lend_arena_stats(n->lender.arena, &s))
		return;
	print_line("arena", "%zu B retained, %zu B lent, %" PRIu64
		   " growths", s.retained_bytes, s.leased_bytes, s.growths);
}

static void
print_human(struct network *n)
{
	const struct network_options *o = n->options;
	const struct lend_network_info *i = &n->info;
	char text[PRINT_SHAPE];

	printf("%s  %s\n", n->instance.name ? n->instance.name : o->file,
	       type_name(n->type));
	print_line("network", "%zu operands, %zu labels; %zu steps, %zu of "
		   "them different", i->operands, i->labels, i->steps,
		   i->plans);
	print_line("result", "%s, %s%s", print_shape(n->layout.rank,
		   n->layout.extent, text), o->output ? "in " : "not kept",
		   o->output ? o->output : "");
	print_paths(n);
	print_rate(n);
	print_lent(n);
	if (o->stats)
		print_stats(n);
}

/* For programs. */

static void
json_costs(struct json_out *json, const char *key,
	   const struct network_costs *costs)
{
	json_begin(json, key, '{');
	json_put_size(json, "allocations", costs->allocations);
	json_put_size(json, "page_faults", costs->faults);
	json_end(json, '}');
}

static void
json_paths(const struct network *n, struct json_out *json)
{
	json_begin(json, "paths", '[');
	for (size_t i = 0; i <= n->instance.paths; i++) {
		const struct instance_path *path = path_at(n, i);
		struct lend_network_info info;

		if (!path_cost(n, path, &info))
			continue;
		json_begin(json, NULL, '{');
		json_put_text(json, "name", network_path_name(path));
		json_put_real(json, "flops", info.flops);
		json_put_size(json, "peak_bytes", info.peak_bytes);
		json_put_real(json, "largest", info.largest);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void
json_steps(const struct network *n, struct json_out *json)
{
	json_begin(json, "step", '[');
	for (size_t s = 0; s < n->info.steps; s++) {
		struct lend_network_step step = { .size = sizeof step };
		char text[STEP_TEXT];

		if (lend_network_step(n->network, s, &step))
			break;
		lend_network_einsum(n->network, s, text, sizeof text);
		json_begin(json, NULL, '{');
		json_put_text(json, "einsum", text);
		json_put_size(json, "first", step.pair.first);
		json_put_size(json, "second", step.pair.second);
		json_put_real(json, "flops", step.flops);
		json_end(json, '}');
	}
	json_end(json, ']');
}

static void
json_lender(const struct network *n, struct json_out *json)
{
	struct lender_counts counts;
	char text[ARENA_TEXT];
	ssize_t length;

	lender_counts(&n->lender, &counts);
	json_put_text(json, "arena", lender_name(n->options->lender));
	json_put_size(json, "team_bytes", n->req_bytes);
	json_put_size(json, "buffer_bytes", n->buffer_bytes);
	json_put_size(json, "retained_bytes", counts.retained_bytes);
	json_costs(json, "first", &n->first);
	json_costs(json, "later", &n->later);
	if (!n->options->stats || !n->lender.arena)
		return;
	length = lend_arena_stats_json(n->lender.arena, text, sizeof text);
	if (length > 0 && (size_t)length < sizeof text)
		json_put_raw(json, "stats", text);
}

static void
json_times(struct network *n, struct json_out *json)
{
	double best = series_best(&n->series);
	double median = series_median(&n->series);

	json_put_real(json, "seconds_create", n->create_seconds);
	json_put_real(json, "seconds_best", best);
	json_put_real(json, "seconds_median", median);
	json_put_real(json, "gflops_best", gflops(n, best));
	json_put_real(json, "gflops_median", gflops(n, median));
}

static void
print_json(struct network *n)
{
	const struct network_options *o = n->options;
	struct json_out json = { .file = stdout };

	json_begin(&json, NULL, '{');
	json_put_text(&json, "instance", o->file);
	json_put_text(&json, "type", type_name(n->type));
	json_put_text(&json, "path", network_path_name(n->path));
	json_put_size(&json, "operands", n->info.operands);
	json_put_size(&json, "labels", n->info.labels);
	json_put_size(&json, "steps", n->info.steps);
	json_put_size(&json, "plans", n->info.plans);
	json_put_real(&json, "flops", n->info.flops);
	json_put_size(&json, "threads", o->threads);
	json_put_size(&json, "repeat", o->repeat);
	json_times(n, &json);
	json_lender(n, &json);
	json_paths(n, &json);
	if (o->stats)
		json_steps(n, &json);
	if (o->output)
		json_put_text(&json, "output", o->output);
	else
		json_put_null(&json, "output");
	json_end(&json, '}');
}

void
network_report(struct network *n)
{
	if (n->options->json)
		print_json(n);
	else if (!n->options->quiet)
		print_human(n);
}
