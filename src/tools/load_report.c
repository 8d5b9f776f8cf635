/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "tools/load.h"
#include "tools/print.h"

static double
per_request(const struct load_result *r, uint64_t n)
{
	return r->latency.count ? (double)n / (double)r->latency.count : NAN;
}

static double
faults_each(const struct load_first *first)
{
	uint64_t n = first->latency.count;

	return n ? (double)first->faults / (double)n : NAN;
}

static void
print_first(const char *name, const struct load_first *first)
{
	char text[2][PRINT_SIZE];

	if (first->latency.count == 0)
		return;
	print_line(name, "%llu first requests: p50 %s, p99 %s, %.3g page "
		   "faults", (unsigned long long)first->latency.count,
		   print_seconds(latency_at(&first->latency, 0.5), text[0]),
		   print_seconds(latency_at(&first->latency, 0.99), text[1]),
		   faults_each(first));
}

static void
print_sessions(const struct load *load, const struct load_result *r)
{
	const struct lend_warmer_stats *w = &r->warmer;

	if (!load->options->session)
		return;
	print_line("sessions", "of %zu requests: %llu claims, %llu misses, "
		   "%llu prepared, %llu failed", load->options->session,
		   (unsigned long long)w->pool.claims,
		   (unsigned long long)w->pool.misses,
		   (unsigned long long)w->prepared,
		   (unsigned long long)w->failed);
	print_first("warm", &r->warm);
	print_first("cold", &r->cold);
}

static void
print_lent(const struct load *load, const struct load_result *r)
{
	char text[2][PRINT_SIZE];

	if (load->options->session)
		print_line("lent", "%s retained at most by one workspace",
			   print_bytes((double)r->retained, text[0]));
	else if (r->kind == LENDER_LEND)
		print_line("lent", "%s retained, %s leased at most",
			   print_bytes((double)r->retained, text[0]),
			   print_bytes((double)r->leased, text[1]));
	else
		print_line("lent", "%s retained at most",
			   print_bytes((double)r->retained, text[0]));
}

static void
print_one(const struct load *load, const struct load_result *r)
{
	char text[4][PRINT_SIZE];

	print_line("load", "%zu clients, %zu threads, %s for %.1f s",
		   r->clients, load->options->threads, lender_name(r->kind),
		   r->seconds);
	print_line("requests", "%llu, %.1f a second",
		   (unsigned long long)r->latency.count, load_rate(r));
	print_line("latency", "p50 %s, p99 %s, p99.9 %s, most %s",
		   print_seconds(latency_at(&r->latency, 0.5), text[0]),
		   print_seconds(latency_at(&r->latency, 0.99), text[1]),
		   print_seconds(latency_at(&r->latency, 0.999), text[2]),
		   print_seconds(r->latency.most, text[3]));
	print_line("rate", "%.2f GFLOP/s", r->flops / r->seconds * 1e-9);
	print_line("refused", "%llu, for the limit",
		   (unsigned long long)r->refused);
	print_lent(load, r);
	print_sessions(load, r);
	print_line("steady", "%.3g allocations and %.3g page faults a request",
		   per_request(r, r->allocations), per_request(r, r->faults));
	print_line("resident", "%s in the whole process, %s in the first half",
		   print_bytes((double)r->resident, text[0]),
		   print_bytes((double)r->resident_early, text[1]));
}

static void
print_table(const struct load *load)
{
	printf("%8s %-7s %11s %9s %10s %10s %10s %9s %9s\n", "clients",
	       "arena", "requests/s", "GFLOP/s", "p50", "p99", "p99.9",
	       "allocs", "faults");
	for (size_t i = 0; i < load->results_count; i++) {
		const struct load_result *r = &load->results[i];
		char text[3][PRINT_SIZE];

		printf("%8zu %-7s %11.1f %9.2f %10s %10s %10s %9.3g %9.3g\n",
		       r->clients, lender_name(r->kind), load_rate(r),
		       r->flops / r->seconds * 1e-9,
		       print_seconds(latency_at(&r->latency, 0.5), text[0]),
		       print_seconds(latency_at(&r->latency, 0.99), text[1]),
		       print_seconds(latency_at(&r->latency, 0.999), text[2]),
		       per_request(r, r->allocations),
		       per_request(r, r->faults));
	}
}

static void
json_first(struct json_out *json, const char *name,
	   const struct load_first *first)
{
	json_begin(json, name, '{');
	json_put_size(json, "requests", first->latency.count);
	json_put_real(json, "p50_seconds", latency_at(&first->latency, 0.5));
	json_put_real(json, "p99_seconds", latency_at(&first->latency, 0.99));
	json_put_real(json, "faults", faults_each(first));
	json_end(json, '}');
}

static void
json_sessions(struct json_out *json, const struct load_result *r)
{
	json_begin(json, "sessions", '{');
	json_put_size(json, "claims", r->warmer.pool.claims);
	json_put_size(json, "misses", r->warmer.pool.misses);
	json_put_size(json, "prepared", r->warmer.prepared);
	json_put_size(json, "failed", r->warmer.failed);
	json_first(json, "first_warm", &r->warm);
	json_first(json, "first_cold", &r->cold);
	json_end(json, '}');
}

static void
json_result(struct json_out *json, const struct load_result *r, bool sessions)
{
	json_begin(json, NULL, '{');
	json_put_text(json, "arena", lender_name(r->kind));
	json_put_size(json, "clients", r->clients);
	json_put_real(json, "seconds", r->seconds);
	json_put_size(json, "requests", r->latency.count);
	json_put_real(json, "requests_per_second", load_rate(r));
	json_put_real(json, "gflops", r->flops / r->seconds * 1e-9);
	json_put_real(json, "p50_seconds", latency_at(&r->latency, 0.5));
	json_put_real(json, "p99_seconds", latency_at(&r->latency, 0.99));
	json_put_real(json, "p999_seconds", latency_at(&r->latency, 0.999));
	json_put_real(json, "most_seconds", r->latency.most);
	json_put_size(json, "refused", r->refused);
	json_put_size(json, "retained_bytes", r->retained);
	if (r->kind == LENDER_LEND && !sessions)
		json_put_size(json, "leased_bytes", r->leased);
	json_put_real(json, "allocations_per_request",
		      per_request(r, r->allocations));
	json_put_real(json, "faults_per_request", per_request(r, r->faults));
	json_put_size(json, "resident_early_bytes", r->resident_early);
	json_put_size(json, "resident_bytes", r->resident);
	if (sessions)
		json_sessions(json, r);
	json_end(json, '}');
}

static void
print_json(const struct load *load)
{
	const struct load_options *o = load->options;
	struct json_out json = { .file = stdout };

	json_begin(&json, NULL, '{');
	json_put_size(&json, "threads", o->threads);
	json_put_size(&json, "limit_bytes", o->limit);
	json_put_size(&json, "rounds", o->rounds);
	json_put_size(&json, "session", o->session);
	json_put_size(&json, "warm", o->warm);
	json_begin(&json, "instances", '[');
	for (size_t i = 0; i < o->files_count; i++)
		json_put_text(&json, NULL, o->files[i]);
	json_end(&json, ']');
	json_begin(&json, "results", '[');
	for (size_t i = 0; i < load->results_count; i++)
		json_result(&json, &load->results[i], o->session > 0);
	json_end(&json, ']');
	json_end(&json, '}');
}

void
load_report(const struct load *load)
{
	if (load->options->json)
		print_json(load);
	else if (load->options->plot)
		print_table(load);
	else
		print_one(load, load->results);
}
