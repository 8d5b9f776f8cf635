/* SPDX-License-Identifier: MIT */
/*
 * Threads lend under load for some seconds, from lend and from the mutex
 * reference in turn, half a second each; a line per second tells what came of
 * it.
 *
 * The load: a mix of three requests of different size; of each buffer one
 * cache line is written, as a kernel would write more; every 16th loan is a
 * team's.  It is the same for both.
 */
#include <lend/lend.h>

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness.h"
#include "bench/mutex_arena.h"

#define NS_PER_S 1000000000u
#define MIB ((double)(1 << 20))
#define TEAM_EVERY 16
#define PM ((size_t)2)
#define PN ((size_t)1)

static const struct lend_req requests[] = {
	{ 384 << 10, 1536, 1024, 8 << 20, 4096, 2 },
	{ 96 << 10, 768, 256, 2 << 20, 1024, 2 },
	{ 192 << 10, 3072, 2048, 4 << 20, 2048, 2 },
};
#define REQUESTS (sizeof(requests) / sizeof(requests[0]))

struct options {
	int threads;
	int seconds;
};

/* Both arenas; the loops get it as ctx. */
struct demo {
	lend_arena *lend;
	struct mutex_arena *mutex;
};

/* What one half second of one arena came to. */
struct half {
	double loans_per_second;
	double retained, leased;	/* in MiB, seen in the middle */
};

static void
check(int error, const char *what)
{
	if (__builtin_expect(error, 0))
		bench_die("%s: %s", what, strerror(-error));
}

static void
write_line(void *p, unsigned turn)
{
	*(volatile unsigned *)p = turn;
}

static void
lend_worker_loan(lend_arena *arena, unsigned turn)
{
	struct lend_worker loan;

	check(lend_worker_checkout(arena, &requests[turn % REQUESTS], &loan),
	      "checkout");
	write_line(loan.a, turn);
	write_line(loan.tile, turn);
	write_line(loan.scatter, turn);
	check(lend_worker_return(arena, &loan), "return");
}

static void
lend_team_loan(lend_arena *arena, unsigned turn)
{
	const struct lend_req *req = &requests[turn % REQUESTS];
	struct lend_team lease;

	check(lend_team_take(arena, req, PM, PN, &lease), "take");
	check(lend_team_panel(arena, &lease, req->b_bytes), "panel");
	write_line(lease.panel, turn);
	write_line(lease.scatter, turn);
	check(lend_team_return(arena, &lease), "team return");
}

static uint64_t
lend_load(void *ctx, const atomic_bool *stop)
{
	lend_arena *arena = ((struct demo *)ctx)->lend;
	uint64_t loans = 0;

	do {
		unsigned turn = (unsigned)loans;

		for (unsigned i = 1; i < TEAM_EVERY; i++)
			lend_worker_loan(arena, turn + i);
		lend_team_loan(arena, turn);
		loans += TEAM_EVERY;
	} while (!bench_stopped(stop));
	return loans;
}

static void
mutex_worker_loan(struct mutex_arena *arena, unsigned turn)
{
	struct mutex_worker loan;

	check(mutex_worker_checkout(arena, &requests[turn % REQUESTS], &loan),
	      "checkout");
	write_line(loan.a, turn);
	write_line(loan.tile, turn);
	write_line(loan.scatter, turn);
	mutex_worker_return(arena, &loan);
}

static void
mutex_team_loan(struct mutex_arena *arena, unsigned turn)
{
	const struct lend_req *req = &requests[turn % REQUESTS];
	struct mutex_team lease;

	check(mutex_team_take(arena, req, PM, PN, &lease), "take");
	check(mutex_team_panel(arena, &lease, req->b_bytes), "panel");
	write_line(lease.panel, turn);
	write_line(lease.scatter, turn);
	mutex_team_return(arena, &lease);
}

static uint64_t
mutex_load(void *ctx, const atomic_bool *stop)
{
	struct mutex_arena *arena = ((struct demo *)ctx)->mutex;
	uint64_t loans = 0;

	do {
		unsigned turn = (unsigned)loans;

		for (unsigned i = 1; i < TEAM_EVERY; i++)
			mutex_worker_loan(arena, turn + i);
		mutex_team_loan(arena, turn);
		loans += TEAM_EVERY;
	} while (!bench_stopped(stop));
	return loans;
}

/* A thread's look at an arena, while the others lend. */
struct look {
	const struct demo *demo;
	struct half half;
};

static void
look_at_lend(void *ctx)
{
	struct look *look = ctx;
	struct lend_stats stats;

	check(lend_arena_stats(look->demo->lend, &stats), "stats");
	look->half.retained = (double)stats.retained_bytes / MIB;
	look->half.leased = (double)stats.leased_bytes / MIB;
}

static void
look_at_mutex(void *ctx)
{
	struct look *look = ctx;
	struct mutex_stats stats;

	mutex_arena_stats(look->demo->mutex, &stats);
	look->half.retained = (double)stats.retained_bytes / MIB;
	look->half.leased = (double)stats.leased_bytes / MIB;
}

static struct half
run_half(struct bench_crew *crew, const struct options *options,
	 struct demo *demo, bench_loop_fn *load, void (*fn)(void *ctx))
{
	struct look look = { .demo = demo };
	struct bench_ticker *ticker =
		bench_ticker_start(fn, &look, NS_PER_S / 10);
	struct bench_sample sample = bench_slice(crew, options->threads, load,
						 demo, NS_PER_S / 2);

	bench_ticker_stop(ticker);
	look.half.loans_per_second = NS_PER_S / sample.wall;
	return look.half;
}

static double
huge_share(lend_arena *arena)
{
	struct lend_stats stats;
	size_t huge;

	if (lend_arena_huge_bytes(arena, &huge) ||
	    lend_arena_stats(arena, &stats) || stats.retained_bytes == 0)
		return NAN;
	return 100 * (double)huge / (double)stats.retained_bytes;
}

static void
print_head(const struct options *options, const struct demo *demo)
{
	struct lend_stats stats;

	check(lend_arena_stats(demo->lend, &stats), "stats");
	printf("%d threads, %d seconds; backend %s, protocol %s\n\n"
	       "%6s | %29s %7s %6s | %29s | %6s\n"
	       "%6s | %9s %9s %9s %7s %6s | %9s %9s %9s | %6s\n",
	       options->threads, options->seconds, stats.backend,
	       stats.protocol == LEND_PROTOCOL_FAST ? "fast" : "exchange",
	       "", "lend", "", "", "mutex", "", "second", "Mloans/s",
	       "retained", "leased", "growths", "huge", "Mloans/s", "retained",
	       "leased", "ratio");
}

static void
print_second(int second, const struct demo *demo, const struct half *lend,
	     const struct half *mutex)
{
	struct lend_stats stats;

	check(lend_arena_stats(demo->lend, &stats), "stats");
	printf("%6d | %9.2f %5.1f MiB %5.1f MiB %7llu %5.0f%% |"
	       " %9.2f %5.1f MiB %5.1f MiB | %5.1fx\n",
	       second, lend->loans_per_second / 1e6, lend->retained,
	       lend->leased, (unsigned long long)stats.growths,
	       huge_share(demo->lend), mutex->loans_per_second / 1e6,
	       mutex->retained, mutex->leased,
	       lend->loans_per_second / mutex->loans_per_second);
	fflush(stdout);
}

static void
run(const struct options *options)
{
	struct bench_crew *crew = bench_crew_create(options->threads);
	struct demo demo = { .mutex = mutex_arena_create() };

	check(demo.mutex ? 0 : -ENOMEM, "mutex arena");
	check(lend_arena_create(&demo.lend, NULL), "create");
	print_head(options, &demo);
	for (int second = 1; second <= options->seconds; second++) {
		struct half lend = run_half(crew, options, &demo, lend_load,
					    look_at_lend);
		struct half mutex = run_half(crew, options, &demo, mutex_load,
					     look_at_mutex);

		print_second(second, &demo, &lend, &mutex);
	}
	bench_crew_destroy(crew);
	check(lend_arena_destroy(demo.lend), "destroy");
	mutex_arena_destroy(demo.mutex);
}

static _Noreturn void
print_usage(FILE *file, int status)
{
	fprintf(file, "usage: demo [--threads N] [--seconds N]\n\n"
		"  --threads N  1 to %d (default: one per processor)\n"
		"  --seconds N  how long (default: 5)\n", BENCH_THREADS_MAX);
	exit(status);
}

static void
parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "threads", required_argument, NULL, 't' },
		{ "seconds", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 't')
			options->threads = atoi(optarg);
		else if (option == 's')
			options->seconds = atoi(optarg);
		else if (option == 'h')
			print_usage(stdout, 0);
		else
			print_usage(stderr, 2);
	}
	if (optind < argc || options->seconds < 1 || options->threads < 1 ||
	    options->threads > BENCH_THREADS_MAX)
		print_usage(stderr, 2);
}

int
main(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct options options = {
		.threads = processors < 1 ? 1 :
			   processors > BENCH_THREADS_MAX ?
			   BENCH_THREADS_MAX : (int)processors,
		.seconds = 5,
	};

	parse(argc, argv, &options);
	run(&options);
	return 0;
}
