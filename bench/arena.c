/* SPDX-License-Identifier: MIT */
/* The benchmark of the arena; README.md says what each figure is. */
#include <lend/arena.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/contenders.h"
#include "bench/figures.h"
#include "bench/report.h"

#define MS 1000000u

struct options {
	const char *json;
	const char *peer;
	bool quick;
	bool realtime;
	int rounds;
};

static const char usage[] =
	"usage: arena [--json FILE] [--peer LIBRARY] [--rounds N]\n"
	"             [--realtime] [--quick]\n"
	"\n"
	"  --json FILE     write the figures there as well\n"
	"  --peer LIBRARY  measure it as \"peer\"; it has the C ABI of peer.h\n"
	"                  (default: the environment's LEND_BENCH_PEER)\n"
	"  --rounds N      rounds of each figure (default: 15, at most 64)\n"
	"  --realtime      measure at real-time priority, where there is a\n"
	"                  processor for each thread: for a busy machine\n"
	"  --quick         a smoke run of seconds that judges nothing\n";

static void
parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "json", required_argument, NULL, 'j' },
		{ "peer", required_argument, NULL, 'p' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "realtime", no_argument, NULL, 't' },
		{ "quick", no_argument, NULL, 'q' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'j') {
			options->json = optarg;
		} else if (option == 'p') {
			options->peer = optarg;
		} else if (option == 'r') {
			options->rounds = atoi(optarg);
		} else if (option == 't') {
			options->realtime = true;
		} else if (option == 'q') {
			options->quick = true;
		} else {
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

static struct figures_plan
plan_of(const struct options *options)
{
	struct figures_plan full = {
		.rounds = 15,
		.slice_ns = 10 * MS,
		.quiet_slice_ns = 3 * MS,
		.tries = 20,
		.laps = 60,
		.lap_ns = 25 * MS,
		.threads = { 1, 2, 4, 8, 16, 64 },
		.touch_bytes = (size_t)1 << 30,
		.touch_rounds = 4,
		.counted_loans = 10000,
	};
	struct figures_plan quick = {
		.quick = true,
		.rounds = 2,
		.slice_ns = 1 * MS,
		.laps = 2,
		.lap_ns = 5 * MS,
		.threads = { 1, 2, 4 },
		.touch_bytes = (size_t)64 << 20,
		.touch_rounds = 1,
		.counted_loans = 200,
	};
	struct figures_plan plan = options->quick ? quick : full;

	if (options->rounds)
		plan.rounds = options->rounds;
	return plan;
}

static void
print_setting(void)
{
	struct lend_stats stats;

	if (lend_arena_stats(contenders[LEND].state, &stats))
		bench_die("no stats");
	printf("%ld processors; lend: backend %s, protocol %s\n",
	       sysconf(_SC_NPROCESSORS_ONLN), stats.backend,
	       stats.protocol == LEND_PROTOCOL_FAST ? "fast" : "exchange");
	for (int i = 0; i < CONTENDERS; i++)
		if (!contenders[i].present)
			printf("absent: %s: %s\n", contenders[i].name,
			       contenders[i].absent);
	putchar('\n');
	fflush(stdout);
}

/* Says how far to believe the figures. */
static void
report_others(double per_cent)
{
	struct report_row *row = report_add("load-of-others", 1, "%", "cpu");

	row->ours = per_cent;
	report_note(row, "of the processors, used by others during the run");
}

static void
measure(const struct options *options)
{
	struct figures_plan plan = plan_of(options);
	struct bench_load load = bench_load_now();
	int error = 0;

	report_judge(!plan.quick);
	plan.crew = bench_crew_create(BENCH_THREADS_MAX);
	if (options->realtime)
		error = bench_crew_realtime(plan.crew);
	if (error)
		bench_die("real-time priority: %s", strerror(-error));
	figures_loans(&plan);
	figures_disturbed(&plan);
	figures_buffers(&plan);
	bench_crew_destroy(plan.crew);
	report_others(bench_load_of_others(&load));
	figures_counted(&plan);
	figures_touch(&plan);
	figures_bookkeeping();
}

int
main(int argc, char **argv)
{
	struct options options = { .peer = getenv("LEND_BENCH_PEER") };
	int error = 0;

	parse(argc, argv, &options);
	contender_peer_library = options.peer;
	contenders_open();
	print_setting();
	measure(&options);
	contenders_close();
	report_print();
	if (options.json)
		error = report_write_json(options.json);
	if (error)
		bench_die("%s: %s", options.json, strerror(-error));
	return 0;
}
