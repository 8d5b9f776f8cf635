/* SPDX-License-Identifier: MIT */
/* The benchmark of contractions; README.md says what each figure is. */
#include <lend/contract.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/contract_bound.h"
#include "bench/contract_cases.h"
#include "bench/contract_columns.h"
#include "bench/contract_measure.h"
#include "bench/contract_networks.h"
#include "bench/contract_peer.h"
#include "bench/contract_report.h"
#include "bench/contract_kernels.h"
#include "bench/contract_small.h"
#include "bench/contract_transpose.h"
#include "bench/report.h"
#include "bench/sanitized.h"

#define MS 1000000u
#define COUNTS_MAX 8

struct options {
	const char *json;
	const char *only;	/* contractions whose name has it */
	const char *hptt;
	const char *networks;	/* a folder of instances */
	bool networks_alone;
	bool quick;
	bool types[2];		/* f64, f32 */
	int threads[COUNTS_MAX];
	int counts;
	int repeats;
	bool skip[CONTRACT_PEERS];
	bool no_small;
	bool cpu;
};

static const char usage[] =
	"usage: contract [--json FILE] [--quick] [--only PATTERN]\n"
	"                [--types f64,f32] [--threads 1,2] [--repeats N]\n"
	"                [--without NAME,..] [--blas LIBRARY]\n"
	"                [--tblis LIBRARY] [--hptt LIBRARY]\n"
	"                [--python PROGRAM] [--cpu] [--networks FOLDER]\n"
	"                [--networks-alone]\n"
	"\n"
	"  --json FILE       write the figures there as well\n"
	"  --quick           small tensors, few repeats: a smoke run that\n"
	"                    judges nothing\n"
	"  --only PATTERN    contractions whose name has this in it\n"
	"  --types LIST      of f64, f32 (default: both)\n"
	"  --threads LIST    numbers of threads (default: 1,2)\n"
	"  --repeats N       rounds of each (default: 7, at most 64; at most\n"
	"                    3 of what takes longer than a second)\n"
	"  --networks FOLDER contract the networks of its .json files too\n"
	"  --networks-alone  and nothing else\n"
	"  --cpu             by the processors' time over the number of\n"
	"                    threads, not by the clock: for a busy machine\n"
	"  --without LIST    of lend, ttgt, tblis, einsum, tensordot, small\n"
	"  --blas LIBRARY    OpenBLAS, for transpose + gemm (default:\n"
	"                    LEND_BENCH_BLAS, else libopenblas.so.0)\n"
	"  --tblis LIBRARY   TBLIS (default: LEND_BENCH_TBLIS)\n"
	"  --hptt LIBRARY    transpose by HPTT (default: LEND_BENCH_HPTT,\n"
	"                    else by our own)\n"
	"  --python PROGRAM  a Python with NumPy (default: LEND_BENCH_PYTHON,\n"
	"                    else the first python3 that has it)\n";

static _Noreturn void
wrong_usage(void)
{
	fputs(usage, stderr);
	exit(2);
}

static void
parse_threads(struct options *options, char *list)
{
	options->counts = 0;
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		int n = atoi(word);

		if (n < 1 || n > BENCH_THREADS_MAX ||
		    options->counts == COUNTS_MAX)
			wrong_usage();
		options->threads[options->counts++] = n;
	}
	if (!options->counts)
		wrong_usage();
}

static void
parse_types(struct options *options, char *list)
{
	options->types[0] = strstr(list, "f64");
	options->types[1] = strstr(list, "f32");
	if (!options->types[0] && !options->types[1])
		wrong_usage();
}

static void
parse_without(struct options *options, char *list)
{
	for (char *word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		bool known = strcmp(word, "small") == 0;

		options->no_small |= known;
		for (int p = 0; p < CONTRACT_PEERS; p++) {
			if (strcmp(word, contract_peers[p].name))
				continue;
			options->skip[p] = known = true;
		}
		if (!known)
			wrong_usage();
	}
}

static void
parse_option(struct options *options, int option)
{
	switch (option) {
	case 'j': options->json = optarg; break;
	case 'q': options->quick = true; break;
	case 'o': options->only = optarg; break;
	case 't': parse_types(options, optarg); break;
	case 'n': parse_threads(options, optarg); break;
	case 'r': options->repeats = atoi(optarg); break;
	case 'c': options->cpu = true; break;
	case 'w': parse_without(options, optarg); break;
	case 'b': contract_libraries.blas = optarg; break;
	case 'T': contract_libraries.tblis = optarg; break;
	case 'H': options->hptt = optarg; break;
	case 'N': options->networks = optarg; break;
	case 'A': options->networks_alone = true; break;
	case 'p': contract_libraries.python = optarg; break;
	case 'h': fputs(usage, stdout); exit(0);
	default: wrong_usage();
	}
}

static void
parse(int argc, char **argv, struct options *options)
{
	static const struct option known[] = {
		{ "json", required_argument, NULL, 'j' },
		{ "quick", no_argument, NULL, 'q' },
		{ "only", required_argument, NULL, 'o' },
		{ "types", required_argument, NULL, 't' },
		{ "threads", required_argument, NULL, 'n' },
		{ "repeats", required_argument, NULL, 'r' },
		{ "cpu", no_argument, NULL, 'c' },
		{ "without", required_argument, NULL, 'w' },
		{ "blas", required_argument, NULL, 'b' },
		{ "tblis", required_argument, NULL, 'T' },
		{ "hptt", required_argument, NULL, 'H' },
		{ "python", required_argument, NULL, 'p' },
		{ "networks", required_argument, NULL, 'N' },
		{ "networks-alone", no_argument, NULL, 'A' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
		parse_option(options, option);
	if (optind < argc || options->repeats < 0 ||
	    options->repeats > BENCH_ROUNDS_MAX)
		wrong_usage();
}

static const char *
from_environment(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static void
open_peers(const struct options *options)
{
	if (options->hptt && !transpose_use(options->hptt))
		bench_die("%s: not HPTT", options->hptt);
	for (int p = 0; p < CONTRACT_PEERS; p++) {
		struct contract_peer *peer = &contract_peers[p];

		if (options->skip[p])
			contract_refuse(peer, "not wanted");
		else if (BENCH_SANITIZED && p != CONTRACT_LEND)
			contract_refuse(peer, "a sanitizer is compiled in");
		else
			peer->present = peer->open(peer);
		if (!peer->present)
			printf("absent: %s: %s\n", peer->name, peer->absent);
	}
}

/* Says what the bounds are made of. */
static void
report_bound(const struct contract_bound *bound, int threads)
{
	static const char *const key[] = { "f64 peak", "f32 peak" };
	struct report_row *row;

	for (int single = 0; single < 2; single++) {
		row = report_add(key[single], threads, "GFLOP/s", "wall");
		row->ours = bound->peak[single];
		report_note(row, "multiply-adds on registers alone");
	}
	row = report_add("bandwidth", threads, "GB/s", "wall");
	row->ours = bound->bandwidth;
	report_note(row, "reading 512 MiB front to back");
	printf("%d threads: peak %.1f (f64), %.1f (f32) GFLOP/s, reading "
	       "%.1f GB/s\n", threads, bound->peak[0], bound->peak[1],
	       bound->bandwidth);
}

static void
measure_case(const struct options *options, const struct contract_plan *plan,
	     const struct contract_bound *bounds,
	     const struct contract_case *c)
{
	for (int i = 0; i < options->counts; i++) {
		struct contract_figures figures;

		contract_measure(&figures, c, options->threads[i], plan);
		figures.bound = contract_bound_of(&bounds[i], c->single,
						  c->flops, c->bytes);
		contract_report_case(&figures);
	}
}

static void
measure(const struct options *options)
{
	struct contract_bound bounds[COUNTS_MAX];
	int repeats = options->repeats ? options->repeats :
		      options->quick ? 2 : 7;
	struct contract_plan plan = {
		.repeats = repeats,
		.slow_repeats = repeats < 3 ? repeats : 3,
		.cpu = options->cpu,
		.sample_ns = (options->quick ? 1 : 30) * MS,
	};
	struct bench_crew *crew = bench_crew_create(BENCH_THREADS_MAX);

	memcpy(plan.skip, options->skip, sizeof(plan.skip));
	for (int i = 0; i < options->counts; i++) {
		bounds[i] = contract_bound_measure(crew, options->threads[i],
						   options->cpu,
						   options->quick);
		report_bound(&bounds[i], options->threads[i]);
	}
	bench_crew_destroy(crew);
	putchar('\n');
	for (int single = 0; single < 2; single++) {
		for (size_t i = 0; i < contract_cases(); i++) {
			struct contract_case c;

			if (!options->types[single] ||
			    (options->only && !strstr(contract_case_name(i),
						      options->only)))
				continue;
			c = contract_case_at(i, single, options->quick);
			measure_case(options, &plan, bounds, &c);
		}
	}
	contract_report_sums();
	if (!options->no_small) {
		double peak[2];

		for (int i = 0; i < 2; i++)
			peak[i] = bounds[0].peak[i] / options->threads[0];
		contract_kernels(peak, repeats,
				 (options->quick ? 2 : 20) * MS);
		contract_small(repeats, (options->quick ? 2 : 20) * MS);
		contract_columns(repeats, (options->quick ? 2 : 20) * MS,
				 options->quick);
	}
}

/* A smoke run leaves out what takes long, and a second path. */
static void
measure_networks(const struct options *options)
{
	static const char *const paths[] = { "opt_flops", "opt_size", NULL };
	static const char *const quick[] = { "opt_flops", NULL };
	const struct contract_peer *numpy = &contract_peers[CONTRACT_EINSUM];
	struct networks_plan plan = {
		.folder = options->networks,
		.only = options->only ? options->only :
			options->quick ? "str_" : NULL,
		.path = options->quick ? quick : paths,
		.repeats = options->repeats ? options->repeats :
			   options->quick ? 2 : 5,
		.sample_ns = (options->quick ? 1 : 100) * MS,
		.cpu = options->cpu,
		.numpy = numpy->present,
	};

	for (int i = 0; i < options->counts; i++)
		contract_networks(&plan, options->threads[i]);
}

int
main(int argc, char **argv)
{
	struct options options = {
		.types = { true, true },
		.threads = { 1, 2 },
		.counts = 2,
		.hptt = from_environment("LEND_BENCH_HPTT", NULL),
	};
	int error = 0;

	contract_libraries.blas = from_environment("LEND_BENCH_BLAS",
						   "libopenblas.so.0");
	contract_libraries.tblis = from_environment("LEND_BENCH_TBLIS", NULL);
	contract_libraries.python = from_environment("LEND_BENCH_PYTHON", NULL);
	parse(argc, argv, &options);
	open_peers(&options);
	report_judge(!options.quick);
	if (!options.networks_alone)
		measure(&options);
	if (options.networks)
		measure_networks(&options);
	contract_report_print();
	if (options.json)
		error = report_write_json(options.json);
	if (error)
		bench_die("%s: %s", options.json, strerror(-error));
	return 0;
}
