/* SPDX-License-Identifier: MIT */
#include "tools/contract.h"

#include <inttypes.h>
#include <stdio.h>

#include "tools/json.h"
#include "tools/message.h"
#include "tools/print.h"

#define PLACE 256
#define ARENA_TEXT 4096

static double
gflops(const struct contract *c, double seconds)
{
	return c->description.info.flops / seconds * 1e-9;
}

int
contract_report_mismatch(const struct contract *c)
{
	const struct naive_verdict *v = &c->verdict;
	char place[PLACE];

	naive_place(&c->naive, v->worst, place, sizeof place);
	if (type_is_complex(c->type))
		complain("verify: element %s is %.17g%+.17gi, should be "
			 "%.17g%+.17gi", place, v->got[0], v->got[1],
			 v->want[0], v->want[1]);
	else
		complain("verify: element %s is %.17g, should be %.17g", place,
			 v->got[0], v->want[0]);
	complain("verify: its error is %.3g, the bound %.3g (%d x epsilon x "
		 "%zu terms x magnitude); %zu of %zu elements are wrong",
		 v->error, v->bound, NAIVE_ULPS, c->naive.terms, v->wrong,
		 c->naive.elements);
	return STATUS_MISMATCH;
}

static void
print_rate(struct contract *c)
{
	double best = series_best(&c->series);
	double median = series_median(&c->series);
	char text[2][PRINT_SIZE];

	if (c->options->repeat == 1) {
		print_line("time", "%s", print_seconds(best, text[0]));
		print_line("rate", "%.2f GFLOP/s", gflops(c, best));
		return;
	}
	print_line("time", "best %s, median %s of %zu",
		   print_seconds(best, text[0]),
		   print_seconds(median, text[1]), c->options->repeat);
	print_line("rate", "best %.2f, median %.2f GFLOP/s", gflops(c, best),
		   gflops(c, median));
}

static void
print_lent(const struct contract *c)
{
	struct lender_counts counts;
	char text[PRINT_SIZE];

	lender_counts(&c->lender, &counts);
	print_line("lent by", "%s, which retains %s",
		   lender_name(c->options->lender),
		   print_bytes((double)counts.retained_bytes, text));
	print_cost("allocations", c->first.allocations, c->later.allocations,
		   c->options->repeat);
	print_cost("page faults", c->first.faults, c->later.faults,
		   c->options->repeat);
}

static void
print_stats(const struct contract *c)
{
	struct lend_stats s = { 0 };

	describe_print_request(&c->description);
	if (!c->lender.arena || lend_arena_stats(c->lender.arena, &s))
		return;
	print_line("arena", "%zu B retained, %zu B of it panels, %zu B plain "
		   "buffers, %zu B lent", s.retained_bytes, s.panel_bytes,
		   s.buffer_bytes, s.leased_bytes);
	print_line("", "%zu worker slots and %zu team sets idle, %" PRIu64
		   " growths, %" PRIu64 " trims", s.slots_idle, s.sets_idle,
		   s.growths, s.trims);
	print_line("", "backend %s, %s protocol", s.backend,
		   s.protocol == LEND_PROTOCOL_FAST ? "fast" : "exchange");
}

static void
print_verdict(const struct contract *c)
{
	const struct naive_verdict *v = &c->verdict;
	char place[PLACE];

	if (c->naive.elements == 0) {
		print_line("verified", "there are no elements");
		return;
	}
	naive_place(&c->naive, v->worst, place, sizeof place);
	print_line("verified", "%zu elements; the worst, %s, is off by %.3g, "
		   "of %.3g allowed", c->naive.elements, place, v->error,
		   v->bound);
}

static void
print_human(struct contract *c)
{
	const struct contract_options *o = c->options;

	printf("%s  %s\n", o->einsum, type_name(c->type));
	describe_print(&c->description);
	print_rate(c);
	print_lent(c);
	if (o->stats)
		print_stats(c);
	if (o->verify)
		print_verdict(c);
	if (o->output)
		print_line("result", "in %s", o->output);
	else
		print_line("result", "not kept: there is no --output");
}

static void
json_verdict(const struct contract *c, struct json_out *json)
{
	char place[PLACE] = "null";

	json_begin(json, "verify", '{');
	json_put_size(json, "elements", c->naive.elements);
	json_put_size(json, "terms", c->naive.terms);
	json_put_size(json, "wrong", c->verdict.wrong);
	if (c->naive.elements > 0)
		naive_place(&c->naive, c->verdict.worst, place, sizeof place);
	json_put_raw(json, "worst", place);
	json_put_real(json, "error", c->verdict.error);
	json_put_real(json, "bound", c->verdict.bound);
	json_end(json, '}');
}

static void
json_costs(struct json_out *json, const char *key,
	   const struct contract_costs *costs)
{
	json_begin(json, key, '{');
	json_put_size(json, "allocations", costs->allocations);
	json_put_size(json, "page_faults", costs->faults);
	json_end(json, '}');
}

static void
json_lender(const struct contract *c, struct json_out *json)
{
	struct lender_counts counts;
	char text[ARENA_TEXT];
	ssize_t n;

	lender_counts(&c->lender, &counts);
	json_put_text(json, "arena", lender_name(c->options->lender));
	json_put_size(json, "retained_bytes", counts.retained_bytes);
	json_costs(json, "first", &c->first);
	json_costs(json, "later", &c->later);
	if (!c->options->stats || !c->lender.arena)
		return;
	n = lend_arena_stats_json(c->lender.arena, text, sizeof text);
	if (n > 0 && (size_t)n < sizeof text)
		json_put_raw(json, "stats", text);
}

static void
print_json(struct contract *c)
{
	const struct contract_options *o = c->options;
	struct json_out json = { .file = stdout };
	double best = series_best(&c->series);
	double median = series_median(&c->series);

	json_begin(&json, NULL, '{');
	describe_json(&c->description, &json);
	json_put_size(&json, "threads", o->threads);
	json_put_size(&json, "repeat", o->repeat);
	json_put_real(&json, "seconds_best", best);
	json_put_real(&json, "seconds_median", median);
	json_put_real(&json, "gflops_best", gflops(c, best));
	json_put_real(&json, "gflops_median", gflops(c, median));
	json_lender(c, &json);
	if (o->verify)
		json_verdict(c, &json);
	if (o->output)
		json_put_text(&json, "output", o->output);
	else
		json_put_null(&json, "output");
	json_end(&json, '}');
}

void
contract_report(struct contract *c)
{
	if (c->options->json)
		print_json(c);
	else if (!c->options->quiet)
		print_human(c);
}
