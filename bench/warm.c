/* SPDX-License-Identifier: MIT */
/* The benchmark of the warm pool; README.md says what each figure is. */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness.h"
#include "bench/report.h"
#include "bench/warm_pools.h"
#include "bench/warm_service.h"
#include "support/warm_hook.h"
#include "warm/root.h"

#define MS 1000000u
#define THREADS 8
#define BATCH 64
#define LATENCIES 100000

struct options {
	const char *json, *peer;
	bool quick;
	int rounds;
	uint64_t slice_ns;
	unsigned latencies;
};

/* What the threads of a slice share. */
struct setting {
	const struct pool_ops *ops;
	void *pool;
	unsigned ids;
	atomic_uint next;	/* which id a thread takes */
};

static uint64_t
rounds_loop(void *ctx, const atomic_bool *stop)
{
	struct setting *setting = ctx;
	unsigned id = atomic_fetch_add(&setting->next, 1) % setting->ids;
	uint64_t done = 0;

	do {
		for (int i = 0; i < BATCH; i++)
			setting->ops->round(setting->pool, id);
		done += BATCH;
	} while (!bench_stopped(stop));
	return done;
}

struct by_pool {
	struct bench_series of[POOLS];
};

static void
slice(struct bench_crew *crew, const struct pool_ops *ops, int threads,
      unsigned ids, size_t cap, uint64_t ns, struct bench_series *series)
{
	struct setting setting = { .ops = ops, .ids = ids };

	setting.pool = ops->make(cap);
	bench_series_add(series, bench_slice(crew, threads, rounds_loop,
					     &setting, ns).wall);
	ops->free(setting.pool);
}

static void
measure_rounds(struct bench_crew *crew, const struct options *options,
	       const char *key, int threads, unsigned ids, size_t cap,
	       double aim)
{
	struct by_pool figure = { 0 };
	struct report_row *row = report_add(key, threads, "ns", "wall");
	enum pool_id rival = pools[POOL_PEER].present ? POOL_PEER : POOL_MUTEX;
	struct bench_series ratio;

	for (int round = 0; round < options->rounds; round++)
		for (int i = 0; i < POOLS; i++) {
			int which = (round + i) % POOLS;

			if (pools[which].present)
				slice(crew, &pools[which], threads, ids, cap,
				      options->slice_ns, &figure.of[which]);
		}
	report_ours(row, &figure.of[POOL_LEND]);
	for (int i = POOL_LEND + 1; i < POOLS; i++)
		if (pools[i].present)
			report_peer(row, pools[i].name,
				    bench_median(&figure.of[i]));
	ratio = bench_ratio(&figure.of[rival], &figure.of[POOL_LEND]);
	report_ratio(row, pools[rival].name, &ratio);
	if (rival == POOL_PEER)
		report_aim(row, AIM_RATIO_AT_LEAST, aim);
	report_note(row, "begin_fill, offer, claim; %u id%s, cap %zu%s", ids,
		    ids == 1 ? "" : "s", cap,
		    cap == 2 ? "" : " (the peer's is 2)");
}

/* A thread that is stopped in the middle of an operation. */

static struct {
	struct setting *setting;
	int step;
	atomic_bool armed;
	sem_t parked, released;
} park;

static void
park_here(int step)
{
	if (step != park.step || !atomic_exchange(&park.armed, false))
		return;
	sem_post(&park.parked);
	while (sem_wait(&park.released))
		;
}

static void *
be_parked(void *arg)
{
	park.armed = true;
	park.setting->ops->round(park.setting->pool, 0);
	return arg;
}

static double
slice_parked(struct bench_crew *crew, const struct options *options, int step)
{
	struct setting setting = { .ops = &pools[POOL_LEND], .ids = 1 };
	pthread_t thread;
	double ns;

	setting.pool = setting.ops->make(2);
	park.setting = &setting;
	park.step = step;
	sem_init(&park.parked, 0, 0);
	sem_init(&park.released, 0, 0);
	warm_hook = park_here;
	if (pthread_create(&thread, NULL, be_parked, NULL))
		bench_die("no thread");
	while (sem_wait(&park.parked))
		;
	ns = bench_slice(crew, 2, rounds_loop, &setting,
			 options->slice_ns).wall;
	sem_post(&park.released);
	pthread_join(thread, NULL);
	warm_hook = NULL;
	setting.ops->free(setting.pool);
	return ns;
}

static void
measure_parked(struct bench_crew *crew, const struct options *options)
{
	struct bench_series parked = { 0 }, quiet = { 0 }, ratio;
	struct report_row *row = report_add("round-beside-a-stopped-thread", 2,
					    "ns", "wall");

	for (int round = 0; round < options->rounds; round++) {
		slice(crew, &pools[POOL_LEND], 2, 1, 2, options->slice_ns,
		      &quiet);
		bench_series_add(&parked, slice_parked(
			crew, options, round % (WARM_INSTALLED + 1)));
	}
	ratio = bench_ratio(&parked, &quiet);
	report_ours(row, &parked);
	report_peer(row, "none stopped", bench_median(&quiet));
	report_ratio(row, "none stopped", &ratio);
	report_note(row, "stopped in the middle of an operation, at each step; "
		    "behind a mutex the rate is 0");
}

/* Claims while others refill, evict and drain. */

static atomic_bool over;

static void *
disturb(void *arg)
{
	struct setting *setting = arg;

	for (unsigned i = 0; !over; i++) {
		setting->ops->fill(setting->pool, 0, 4);
		setting->ops->fill(setting->pool, 1 + i % 3, 1);
		if (i % 16 == 0)
			setting->ops->drain(setting->pool, 1 + i % 3);
	}
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void
claim_latencies(const struct pool_ops *ops, unsigned n, uint32_t *ns)
{
	struct setting setting = { .ops = ops, .ids = 1 };
	pthread_t thread;

	setting.pool = ops->make(2);
	over = false;
	if (pthread_create(&thread, NULL, disturb, &setting))
		bench_die("no thread");
	for (unsigned i = 0; i < n; i++) {
		uint64_t begin = bench_now();

		(void)ops->claim(setting.pool, 0);
		ns[i] = (uint32_t)(bench_now() - begin);
	}
	over = true;
	pthread_join(thread, NULL);
	ops->free(setting.pool);
	qsort(ns, n, sizeof(*ns), compare);
}

static void
measure_latency(const struct options *options, const char *key, double share)
{
	static uint32_t ns[LATENCIES];
	struct by_pool figure = { 0 };
	struct report_row *row = report_add(key, 1, "ns", "wall");
	enum pool_id rival = pools[POOL_PEER].present ? POOL_PEER : POOL_MUTEX;
	struct bench_series ratio;
	unsigned n = options->latencies;

	for (int round = 0; round < options->rounds; round++)
		for (int i = 0; i < POOLS; i++) {
			if (!pools[i].present)
				continue;
			claim_latencies(&pools[i], n, ns);
			bench_series_add(&figure.of[i],
					 ns[(unsigned)(share * (n - 1))]);
		}
	report_ours(row, &figure.of[POOL_LEND]);
	for (int i = POOL_LEND + 1; i < POOLS; i++)
		if (pools[i].present)
			report_peer(row, pools[i].name,
				    bench_median(&figure.of[i]));
	ratio = bench_ratio(&figure.of[rival], &figure.of[POOL_LEND]);
	report_ratio(row, pools[rival].name, &ratio);
	report_note(row, "a claim while another thread refills, evicts and "
		    "drains; the clock's two reads included");
}

static const char usage[] =
	"usage: warm [--json FILE] [--peer LIBRARY] [--rounds N] [--quick]\n"
	"\n"
	"  --json FILE     write the figures there as well\n"
	"  --peer LIBRARY  measure it as \"peer\" (see warm_pools.c; default:\n"
	"                  the environment's LEND_BENCH_PEER)\n"
	"  --rounds N      rounds of each figure (default: 15, at most 64)\n"
	"  --quick         a smoke run of seconds that judges nothing\n";

static void
parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "json", required_argument, NULL, 'j' },
		{ "peer", required_argument, NULL, 'p' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'j')
			options->json = optarg;
		else if (option == 'p')
			options->peer = optarg;
		else if (option == 'r')
			options->rounds = atoi(optarg);
		else if (option == 'q')
			options->quick = true;
		else {
			fputs(usage, option == 'h' ? stdout : stderr);
			exit(option == 'h' ? 0 : 2);
		}
	}
	if (optind < argc || options->rounds < 0 ||
	    options->rounds > BENCH_ROUNDS_MAX) {
		fputs(usage, stderr);
		exit(2);
	}
}

static void
measure(const struct options *options)
{
	struct bench_crew *crew = bench_crew_create(THREADS);

	report_judge(!options->quick);
	measure_rounds(crew, options, "round-one-id", 1, 1, 2, 2.5);
	measure_rounds(crew, options, "round-one-id", 2, 1, 2, 1);
	measure_rounds(crew, options, "round-one-id", 8, 1, 2, 1);
	measure_rounds(crew, options, "round-8-ids", 1, 8, 8, 2);
	measure_rounds(crew, options, "round-8-ids", 8, 8, 8, 2);
	measure_parked(crew, options);
	bench_crew_destroy(crew);
	measure_latency(options, "claim-p50", 0.5);
	measure_latency(options, "claim-p99.9", 0.999);
	warm_service(options->rounds);
}

int
main(int argc, char **argv)
{
	struct options options = { .peer = getenv("LEND_BENCH_PEER") };
	int error = 0;

	parse(argc, argv, &options);
	if (!options.rounds)
		options.rounds = options.quick ? 2 : 15;
	options.slice_ns = options.quick ? 1 * MS : 10 * MS;
	options.latencies = options.quick ? 2000 : LATENCIES;
	pools_open(options.peer);
	if (!pools[POOL_PEER].present)
		printf("absent: peer: %s\n\n", pools[POOL_PEER].absent);
	measure(&options);
	report_print();
	if (options.json)
		error = report_write_json(options.json);
	if (error)
		bench_die("%s: %s", options.json, strerror(-error));
	return 0;
}
