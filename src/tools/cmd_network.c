/* SPDX-License-Identifier: MIT */
/* lend network: options. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/commands.h"
#include "tools/message.h"
#include "tools/network.h"

enum {
	OPT_PATH = 1, OPT_DATA, OPT_OUTPUT, OPT_TYPE, OPT_THREADS, OPT_REPEAT,
	OPT_ARENA, OPT_LIMIT, OPT_KERNEL, OPT_STATS, OPT_JSON, OPT_QUIET
};

static const struct args_option options[] = {
	{ "path", OPT_PATH, 'p', "NAME",
	  "a path of the instance or greedy (default opt_flops)" },
	{ "data", OPT_DATA, 'd', "DATA",
	  "seed, seed:N, ones, a folder, or files with commas" },
	{ "output", OPT_OUTPUT, 'o', "R.npy",
	  "write the result there; without it, it is not kept" },
	{ "type", OPT_TYPE, 't', "TYPE",
	  "f32, f64, cf32 or cf64 (default: the instance's)" },
	{ "threads", OPT_THREADS, 0, "N",
	  "threads to use (default: all processors)" },
	{ "repeat", OPT_REPEAT, 0, "R", "contract R times (default 1)" },
	{ "arena", OPT_ARENA, 0, "KIND",
	  "who lends: lend, mutex or malloc (default lend)" },
	{ "limit", OPT_LIMIT, 0, "BYTES",
	  "the most that the arena may retain; with K, M, G, T" },
	{ "kernel", OPT_KERNEL, 0, "NAME",
	  "avx512, avx2 or portable (default: the best)" },
	{ "stats", OPT_STATS, 0, NULL, "tell each step and what was lent" },
	{ "json", OPT_JSON, 0, NULL, "print JSON" },
	{ "quiet", OPT_QUIET, 'q', NULL, "print no table and no progress" },
	ARGS_HELP,
	{ 0 },
};

static bool
take_seed(struct network_options *o, const struct args *args)
{
	const char *text = args->value + strlen("seed");
	char *end;

	o->data = DATA_SEED;
	if (!*text)
		return true;
	errno = 0;
	o->seed = strtoull(text + 1, &end, 10);
	if (*text == ':' && text[1] >= '0' && text[1] <= '9' && !*end &&
	    !errno)
		return true;
	complain("network: --data: '%s' is no seed as seed:7", args->value);
	return false;
}

static bool
take_data(struct network_options *o, const struct args *args)
{
	o->files = NULL;
	if (!strncmp(args->value, "seed", 4) &&
	    (!args->value[4] || args->value[4] == ':'))
		return take_seed(o, args);
	if (!strcmp(args->value, "ones")) {
		o->data = DATA_ONES;
		return true;
	}
	o->data = DATA_FILES;
	o->files = args->value;
	return true;
}

static bool
take_flag(struct network_options *o, int key)
{
	*(key == OPT_STATS ? &o->stats :
	  key == OPT_JSON ? &o->json : &o->quiet) = true;
	return true;
}

static bool
take_name(struct network_options *o, const struct args *args, int key)
{
	*(key == OPT_PATH ? &o->path :
	  key == OPT_OUTPUT ? &o->output : &o->kernel) = args->value;
	return true;
}

/* One option; false: its value was wrong, which is told. */
static bool
take(struct network_options *o, const struct args *args, int key)
{
	switch (key) {
	case OPT_PATH:
	case OPT_OUTPUT:
	case OPT_KERNEL:
		return take_name(o, args, key);
	case OPT_DATA:
		return take_data(o, args);
	case OPT_TYPE:
		o->typed = true;
		return args_type(args, &o->type);
	case OPT_THREADS:
		return args_count(args, &o->threads);
	case OPT_REPEAT:
		return args_count(args, &o->repeat);
	case OPT_ARENA:
		return args_lender(args, &o->lender);
	case OPT_LIMIT:
		return args_bytes(args, &o->limit);
	default:
		return take_flag(o, key);
	}
}

static int
run(const struct args_command *command, int argc, char **argv)
{
	struct network_options o = { .repeat = 1, .seed = 1 };
	struct args args;
	int key;

	args_start(&args, command, argc, argv);
	while ((key = args_next(&args)) != ARGS_END) {
		if (key == ARGS_STOP)
			return args.status;
		if (!take(&o, &args, key))
			return STATUS_BAD;
	}
	if (!args_operands(&args, 1, 1))
		return args.status;
	o.file = argv[args.at];
	if (o.threads == 0)
		o.threads = threads_of_machine();
	if (args_check_limit("network", o.lender, o.limit))
		return STATUS_BAD;
	return network_run(&o);
}

const struct args_command command_network = {
	"network", "INSTANCE.json",
	"contract a network of tensors",
	"Contracts a network of tensors along a path.\n"
	"INSTANCE.json has its einsum, shapes and paths.",
	options, run,
};
