/* SPDX-License-Identifier: MIT */
/* lend bench: options, and the order of things. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/bench.h"
#include "tools/commands.h"
#include "tools/threads.h"

enum {
	OPT_QUICK = 1, OPT_TYPE, OPT_THREADS, OPT_SCALE, OPT_KERNEL, OPT_JSON
};

static const struct args_option options[] = {
	{ "quick", OPT_QUICK, 0, NULL,
	  "few repetitions: figures to see that it works" },
	{ "type", OPT_TYPE, 't', "TYPE",
	  "f32, f64, cf32 or cf64 alone (default: f64, then f32)" },
	{ "threads", OPT_THREADS, 0, "N",
	  "N threads alone (default: one, then all processors)" },
	{ "scale", OPT_SCALE, 0, "N", "divide all extents by N" },
	{ "kernel", OPT_KERNEL, 0, "NAME",
	  "avx512, avx2 or portable (default: the best)" },
	{ "json", OPT_JSON, 0, NULL, "print JSON" },
	ARGS_HELP,
	{ 0 },
};

struct selection {
	enum lend_type type[2];
	size_t types;
	size_t threads[2];
	size_t counts;
	struct bench_case *cases;
	size_t n;
};

static bool
take(struct bench_options *o, struct selection *s, struct args *args, int key)
{
	switch (key) {
	case OPT_TYPE:
		s->types = 1;
		return args_type(args, &s->type[0]);
	case OPT_THREADS:
		s->counts = 1;
		return args_count(args, &s->threads[0]);
	case OPT_SCALE:
		return args_count(args, &o->scale);
	case OPT_KERNEL:
		o->kernel = args->value;
		return true;
	case OPT_QUICK:
		o->quick = true;
		return true;
	default:
		o->json = true;
		return true;
	}
}

/* What the operands name: a list's case each, or an einsum and its sizes. */
static int
select_cases(struct selection *s, char **argv, int n)
{
	struct message why;

	for (int i = 0; i < n; i++) {
		struct bench_case *c = &s->cases[s->n++];

		if (cases_named(c, argv[i]))
			continue;
		if (!strchr(argv[i], ','))
			return complain("bench: '%s' is neither an einsum of "
					"two operands nor in the list",
					argv[i]);
		if (i + 1 == n)
			return complain("bench: no sizes after '%s', as "
					"a:72,b:24", argv[i]);
		if (!cases_custom(c, argv[i], argv[i + 1], &why))
			return complain("%s: %s", argv[i], why.text);
		i++;
	}
	return 0;
}

static int
select_all(struct selection *s)
{
	for (; s->n < cases_listed(); s->n++)
		cases_from_list(&s->cases[s->n], s->n);
	return 0;
}

/* One type with one number of threads. */
static int
run_group(struct bench *bench, const struct selection *s, size_t threads_n,
	  enum lend_type type)
{
	struct threads threads;
	int status = threads_start(&threads, threads_n);

	if (status)
		return status;
	status = bench_group(bench, type, &threads.exec);
	for (size_t i = 0; i < s->n && !status; i++)
		status = bench_case_run(bench, &s->cases[i]);
	if (!status)
		bench_group_end(bench);
	threads_stop(&threads);
	return status;
}

/* Refuses before anything is measured what cannot be made. */
static int
check_cases(const struct bench_options *o, const struct selection *s)
{
	struct case_shapes shapes;
	struct message why;

	for (size_t i = 0; i < s->n; i++)
		for (size_t t = 0; t < s->types; t++)
			if (!cases_shapes(&s->cases[i], s->type[t], o->scale,
					  &shapes, &why))
				return complain("%s: %s", s->cases[i].name,
						why.text);
	return 0;
}

static int
run_selection(const struct bench_options *o, const struct selection *s)
{
	struct bench bench = { .options = o };
	int status = check_cases(o, s);

	if (status)
		return status;
	status = bench_start(&bench);
	for (size_t t = 0; t < s->types && !status; t++)
		for (size_t i = 0; i < s->counts && !status; i++)
			status = run_group(&bench, s, s->threads[i],
					   s->type[t]);
	bench_end(&bench);
	return status;
}

static int
run(const struct args_command *command, int argc, char **argv)
{
	struct bench_options o = { .scale = 1 };
	struct selection s = { .type = { LEND_F64, LEND_F32 }, .types = 2 };
	struct args args;
	int key, status, n;

	args_start(&args, command, argc, argv);
	while ((key = args_next(&args)) != ARGS_END) {
		if (key == ARGS_STOP)
			return args.status;
		if (!take(&o, &s, &args, key))
			return STATUS_BAD;
	}
	if (s.counts == 0) {
		s.threads[0] = 1;
		s.threads[1] = threads_of_machine();
		s.counts = s.threads[1] > 1 ? 2 : 1;
	}
	n = argc - args.at;
	s.cases = calloc(cases_listed() + (size_t)n, sizeof s.cases[0]);
	if (!s.cases)
		return complain("bench: no memory");
	if (n == 0 || (n == 1 && !strcmp(argv[args.at], "all")))
		status = select_all(&s);
	else
		status = select_cases(&s, argv + args.at, n);
	if (!status)
		status = run_selection(&o, &s);
	free(s.cases);
	return status;
}

const struct args_command command_bench = {
	"bench", "[all | NAME | EINSUM SIZES]...",
	"measure contractions beside their bounds",
	"Measures contractions, each beside its bound: the lower of the peak and\n"
	"of its bytes at the memory's bandwidth, both measured in the same run.\n"
	"A NAME is one of the 24 of the TCCG benchmark, as abcd-aebf-dfce; SIZES\n"
	"are of an einsum's labels, as a:72,b:24.",
	options, run,
};
