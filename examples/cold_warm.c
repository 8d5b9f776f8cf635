/* SPDX-License-Identifier: MIT */
/*
 * Cold against warm: a plan's first contraction in a workspace that is made
 * for it on the spot, and in a prepared one.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE	/* RUSAGE_THREAD */
#endif
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include <lend/contract.h>
#include <lend/lend.h>

#define SIDE 256

static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

struct service {
	lend_plan *plan;
	struct lend_exec exec;
	lend_warmer *warmer;
};

static int
request(const char *id, struct lend_req *req, void *ctx)
{
	const struct service *service = ctx;

	/* A service would look the plan up by its id. */
	(void)id;
	return lend_plan_req(service->plan, 1, 1, req);
}

static int
make_cold(struct service *service, lend_workspace **ws)
{
	struct lend_req req = { .a_bytes = 0 };
	int error = request("product", &req, service);

	return error ? error : lend_workspace_create(ws, &req, NULL);
}

static int
claim_warm(struct service *service, lend_workspace **ws)
{
	static const struct timespec moment = { 0, 1000000 };
	struct lend_warmer_stats stats;
	void *slot;
	int error = lend_warmer_refill(service->warmer, "product");

	while (!error && !(error = lend_warmer_stats(service->warmer,
						     &stats)) &&
	       stats.pool.ready == 0)
		nanosleep(&moment, NULL);
	if (!error)
		error = lend_warmer_claim(service->warmer, "product", &slot);
	if (!error)
		*ws = slot;
	return error;
}

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

/* Where a measurement begins. */
struct mark {
	double time;
	long faults;
};

static struct mark
mark(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return (struct mark) { now(), usage.ru_minflt };
}

static int
contract(struct service *service, const char *how, lend_workspace *ws,
	 struct mark begin)
{
	const struct lend_call call = {
		.a = a, .b = b, .c = c, .pm = 1, .pn = 1,
	};
	struct lend_error why;
	struct mark end;

	if (lend_plan_execute_in(service->plan, ws, &service->exec, &call,
				 &why)) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	end = mark();
	printf("%s: %.0f us, %ld page faults\n", how, end.time - begin.time,
	       end.faults - begin.faults);
	return lend_workspace_destroy(ws) != 0;
}

static int
run(struct service *service)
{
	struct lend_prepared prepared = {
		.size = sizeof(prepared), .exec = service->exec,
		.request = request, .ctx = service,
	};
	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;
	lend_workspace *cold, *warm;
	struct mark begin;
	int failed;

	if (lend_prepared_use(&prepared, &options) ||
	    lend_warmer_create(&service->warmer, &options))
		return 1;
	begin = mark();
	failed = make_cold(service, &cold) ||
		 contract(service, "cold", cold, begin) ||
		 claim_warm(service, &warm) ||
		 contract(service, "warm", warm, mark());
	return failed | (lend_warmer_destroy(service->warmer, 10000) != 0);
}

int
main(void)
{
	const size_t extent[] = { SIDE, SIDE };
	const struct lend_layout layout = { 2, extent, NULL };
	struct service service = { .plan = NULL };
	struct lend_error why;
	int failed;

	for (size_t i = 0; i < SIDE; i++)
		for (size_t k = 0; k < SIDE; k++) {
			a[i][k] = (double)(i + k);
			b[i][k] = (double)(i * k % 5);
			/* Its pages are there: the workspace's count alone. */
			c[i][k] = 0;
		}
	lend_exec_serial(&service.exec);
	if (lend_plan_create(&service.plan, "ab,bc->ac", LEND_F64, &layout,
			     &layout, NULL, NULL, &why)) {
		fprintf(stderr, "%s\n", why.text);
		return 1;
	}
	failed = run(&service);
	lend_plan_destroy(service.plan);
	return failed;
}
