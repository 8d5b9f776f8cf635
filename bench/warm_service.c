/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* RUSAGE_THREAD */
#endif
#include "bench/warm_service.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include <lend/contract.h>
#include <lend/prepared.h>

#include "bench/harness.h"
#include "bench/report.h"

#define SIDE 256

struct service {
	lend_plan *plan;
	struct lend_exec exec;
	double *a, *b, *c;
	struct lend_prepared prepared;
	lend_warmer *warmer;
};

/* Time and faults of one first contraction. */
struct first {
	struct bench_series time, faults;
};

static long
faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_minflt;
}

static int
request(const char *id, struct lend_req *req, void *ctx)
{
	const struct service *service = ctx;

	(void)id;
	return lend_plan_req(service->plan, 1, 1, req);
}

static void
execute(struct service *service, lend_workspace *ws)
{
	const struct lend_call call = {
		.a = service->a, .b = service->b, .c = service->c,
		.pm = 1, .pn = 1,
	};
	struct lend_error why;

	if (lend_plan_execute_in(service->plan, ws, &service->exec, &call,
				 &why))
		bench_die("%s", why.text);
}

/* A workspace made for the request that waits for it. */
static lend_workspace *
make_cold(struct service *service)
{
	lend_workspace *ws;
	struct lend_req req;

	if (request(NULL, &req, service) ||
	    lend_workspace_create(&ws, &req, NULL))
		bench_die("no workspace");
	return ws;
}

static void
await_ready(struct service *service)
{
	static const struct timespec moment = { 0, 100000 };
	struct lend_warmer_stats stats;

	do {
		nanosleep(&moment, NULL);
		if (lend_warmer_stats(service->warmer, &stats))
			bench_die("no statistics");
	} while (stats.pool.ready == 0);
}

static lend_workspace *
claim(struct service *service)
{
	void *slot;

	if (lend_warmer_claim(service->warmer, "matmul", &slot))
		bench_die("nothing is ready");
	return slot;
}

static void
first_contraction(struct service *service, bool warm, struct first *first)
{
	uint64_t begin;
	long before;
	lend_workspace *ws;

	if (warm) {
		if (lend_warmer_refill(service->warmer, "matmul"))
			bench_die("no refill");
		await_ready(service);
	}
	before = faults();
	begin = bench_now();
	ws = warm ? claim(service) : make_cold(service);
	execute(service, ws);
	bench_series_add(&first->time, (double)(bench_now() - begin) / 1000);
	bench_series_add(&first->faults, (double)(faults() - before));
	if (lend_workspace_destroy(ws))
		bench_die("a loan is out");
}

static void
open_service(struct service *service)
{
	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;
	const size_t extent[] = { SIDE, SIDE };
	const struct lend_layout layout = { 2, extent, NULL };
	size_t bytes = SIDE * SIDE * sizeof(double);
	struct lend_error why;

	memset(service, 0, sizeof(*service));
	lend_exec_serial(&service->exec);
	if (lend_plan_create(&service->plan, "ab,bc->ac", LEND_F64, &layout,
			     &layout, NULL, NULL, &why))
		bench_die("%s", why.text);
	service->a = calloc(3, bytes);
	if (!service->a)
		bench_die("no memory");
	/* The operands are there: only the workspace is new. */
	memset(service->a, 1, 3 * bytes);
	service->b = service->a + SIDE * SIDE;
	service->c = service->b + SIDE * SIDE;
	service->prepared = (struct lend_prepared) {
		.size = sizeof(service->prepared), .exec = service->exec,
		.request = request, .ctx = service,
	};
	if (lend_prepared_use(&service->prepared, &options) ||
	    lend_warmer_create(&service->warmer, &options))
		bench_die("no warmer");
}

static void
report(const char *key, const char *unit, const char *measure,
       const struct bench_series *warm, const struct bench_series *cold)
{
	struct report_row *row = report_add(key, 1, unit, measure);
	struct bench_series ratio = bench_ratio(cold, warm);

	report_ours(row, warm);
	report_peer(row, "cold", bench_median(cold));
	report_ratio(row, "cold", &ratio);
	report_note(row, "a product of %d x %d doubles, in a new workspace "
		    "(cold) or a claimed one", SIDE, SIDE);
}

void
warm_service(int rounds)
{
	static struct first warm, cold;
	struct service service;

	open_service(&service);
	for (int i = 0; i < rounds; i++) {
		first_contraction(&service, i % 2, i % 2 ? &warm : &cold);
		first_contraction(&service, !(i % 2), i % 2 ? &cold : &warm);
	}
	report("first-contraction", "us", "wall", &warm.time, &cold.time);
	report("first-contraction-faults", "faults", "count", &warm.faults,
	       &cold.faults);
	if (lend_warmer_destroy(service.warmer, 60000))
		bench_die("the warmer does not end");
	lend_plan_destroy(service.plan);
	free(service.a);
}
