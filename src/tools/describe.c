/* SPDX-License-Identifier: MIT */
#include "tools/describe.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "tools/print.h"

/* What pm x pn workers and the team borrow together. */
static bool
sum_request(struct description *d)
{
	struct lend_req all = d->info.req, team = all;
	size_t one, shared, workers = d->info.pm * d->info.pn;

	team.a_bytes = team.tile_bytes = team.worker_scatter = 0;
	if (lend_req_bytes(&all, &one) || lend_req_bytes(&team, &shared))
		return false;
	return !__builtin_mul_overflow(one - shared, workers,
				       &d->req_bytes) &&
	       !__builtin_add_overflow(d->req_bytes, shared, &d->req_bytes);
}

bool
describe(struct description *d, const char *einsum, const lend_plan *plan,
	 const struct lend_layout *a, const struct lend_layout *b,
	 size_t budget, size_t pm, size_t pn, struct message *why)
{
	int error;

	memset(d, 0, sizeof *d);
	d->einsum = einsum;
	d->a = a;
	d->b = b;
	d->bound = NAN;
	d->info.size = sizeof d->info;
	lend_plan_output(plan, &d->c);
	error = lend_plan_describe(plan, budget, &d->info);
	if (!error && pm > 0) {
		d->info.pm = pm;
		d->info.pn = pn;
		error = lend_plan_req(plan, pm, pn, &d->info.req);
	}
	if (error)
		return refuse(why, "%s", strerror(-error));
	if (!sum_request(d))
		return refuse(why, "the request overflows");
	return true;
}

double
describe_bound(const struct description *d, double peak, double bandwidth)
{
	if (isnan(peak) || isnan(bandwidth) || d->info.bytes <= 0)
		return NAN;
	return fmin(peak, d->info.flops / d->info.bytes * bandwidth);
}

void
describe_print(const struct description *d)
{
	const struct lend_plan_info *i = &d->info;
	char text[PRINT_SHAPE], size[PRINT_SIZE];

	print_line("A", "%s", print_shape(d->a->rank, d->a->extent, text));
	print_line("B", "%s", print_shape(d->b->rank, d->b->extent, text));
	print_line("C", "%s", print_shape(d->c.rank, d->c.extent, text));
	print_line("matrices", "%zu x %zu, sum over %zu; batch of %zu%s", i->m,
		   i->n, i->k, i->batch, i->swapped ? "; B gives the rows"
						    : "");
	if (i->sum_a > 1 || i->sum_b > 1)
		print_line("sums", "%zu in A alone, %zu in B alone", i->sum_a,
			   i->sum_b);
	if (!i->loops) {
		print_line("kernel", "%s, tile %zu x %zu%s", i->kernel, i->mr,
			   i->nr, i->in_place ? ", rows as they lie" : "");
		print_line("blocks", "mc %zu, nc %zu, kc %zu", i->mc, i->nc,
			   i->kc);
	} else {
		print_line("kernel", "%s, loops over the arrays", i->kernel);
	}
	print_line("team", "%zu x %zu, groups share the %s", i->pm, i->pn,
		   print_split(i->split));
	print_line("work", "%.4g GFLOP, %s moved at least, %.3g FLOP a byte",
		   i->flops * 1e-9, print_bytes(i->bytes, size),
		   i->bytes > 0 ? i->flops / i->bytes : 0.0);
}

void
describe_print_request(const struct description *d)
{
	const struct lend_req *r = &d->info.req;
	char size[PRINT_SIZE];

	print_line("request", "%s for the whole team",
		   print_bytes((double)d->req_bytes, size));
	print_line("  worker", "A block %zu B, tile %zu B, scatter %zu x 8 B",
		   r->a_bytes, r->tile_bytes, r->worker_scatter);
	print_line("  shared", "B panel %zu B, scatter %zu x 8 B, %zu "
		   "barrier%s", r->b_bytes, r->team_scatter, r->barriers,
		   r->barriers == 1 ? "" : "s");
}

static void
json_shape(struct json_out *json, const char *key,
	   const struct lend_layout *layout)
{
	json_begin(json, key, '[');
	for (size_t i = 0; i < layout->rank; i++)
		json_put_size(json, NULL, layout->extent[i]);
	json_end(json, ']');
}

static void
json_request(struct json_out *json, const struct description *d)
{
	const struct lend_req *r = &d->info.req;

	json_begin(json, "request", '{');
	json_put_size(json, "a_bytes", r->a_bytes);
	json_put_size(json, "tile_bytes", r->tile_bytes);
	json_put_size(json, "worker_scatter", r->worker_scatter);
	json_put_size(json, "b_bytes", r->b_bytes);
	json_put_size(json, "team_scatter", r->team_scatter);
	json_put_size(json, "barriers", r->barriers);
	json_put_size(json, "team_bytes", d->req_bytes);
	json_end(json, '}');
}

void
describe_json(const struct description *d, struct json_out *json)
{
	const struct lend_plan_info *i = &d->info;

	json_put_text(json, "einsum", d->einsum);
	json_put_text(json, "type", type_name(i->type));
	json_shape(json, "a", d->a);
	json_shape(json, "b", d->b);
	json_shape(json, "c", &d->c);
	json_put_size(json, "m", i->m);
	json_put_size(json, "n", i->n);
	json_put_size(json, "k", i->k);
	json_put_size(json, "batch", i->batch);
	json_put_size(json, "sum_a", i->sum_a);
	json_put_size(json, "sum_b", i->sum_b);
	json_put_bool(json, "swapped", i->swapped);
	json_put_bool(json, "in_place", i->in_place);
	json_put_bool(json, "loops", i->loops);
	json_put_text(json, "kernel", i->kernel);
	json_put_size(json, "mr", i->mr);
	json_put_size(json, "nr", i->nr);
	json_put_size(json, "mc", i->mc);
	json_put_size(json, "nc", i->nc);
	json_put_size(json, "kc", i->kc);
	json_put_size(json, "pm", i->pm);
	json_put_size(json, "pn", i->pn);
	json_put_text(json, "split", print_split(i->split));
	json_put_real(json, "flops", i->flops);
	json_put_real(json, "bytes", i->bytes);
	json_put_real(json, "intensity", i->bytes > 0 ? i->flops / i->bytes : NAN);
	json_request(json, d);
}
