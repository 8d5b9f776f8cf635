/* SPDX-License-Identifier: MIT */
/* lend load: options. */
#include "tools/commands.h"
#include "tools/load.h"
#include "tools/message.h"

enum {
	OPT_CLIENTS = 1, OPT_THREADS, OPT_SECONDS, OPT_ROUNDS, OPT_ARENA,
	OPT_LIMIT, OPT_SESSION, OPT_WARM, OPT_PATH, OPT_TYPE, OPT_PLOT,
	OPT_JSON, OPT_QUIET
};

static const struct args_option options[] = {
	{ "clients", OPT_CLIENTS, 'c', "N",
	  "clients that ask at once (default 8)" },
	{ "threads", OPT_THREADS, 0, "T",
	  "threads that they share (default: all processors)" },
	{ "seconds", OPT_SECONDS, 's', "S",
	  "how long they ask, after a warm-up (default 5)" },
	{ "rounds", OPT_ROUNDS, 0, "R",
	  "measure R times, and take the median (default 1)" },
	{ "arena", OPT_ARENA, 0, "KIND",
	  "who lends: lend, mutex or malloc (default lend)" },
	{ "limit", OPT_LIMIT, 0, "BYTES",
	  "the most that the arena may retain; with K, M, G, T" },
	{ "session", OPT_SESSION, 0, "R",
	  "a workspace of its own for each R requests" },
	{ "warm", OPT_WARM, 0, "N",
	  "so many workspaces prepared for each network" },
	{ "path", OPT_PATH, 'p', "NAME",
	  "a path of theirs, or greedy (default: opt_flops)" },
	{ "type", OPT_TYPE, 't', "TYPE",
	  "f32, f64, cf32 or cf64 (default: the instance's)" },
	{ "plot", OPT_PLOT, 0, "FILE.svg",
	  "draw all arenas with 1, 2, 4 .. N clients" },
	{ "json", OPT_JSON, 0, NULL, "print JSON" },
	{ "quiet", OPT_QUIET, 'q', NULL, "print no table and no live line" },
	ARGS_HELP,
	{ 0 },
};

/* One option; false: its value was wrong, which is told. */
static bool
take(struct load_options *o, const struct args *args, int key)
{
	switch (key) {
	case OPT_CLIENTS: return args_count(args, &o->clients);
	case OPT_THREADS: return args_count(args, &o->threads);
	case OPT_ROUNDS: return args_count(args, &o->rounds);
	case OPT_SECONDS: return args_positive(args, &o->seconds);
	case OPT_ARENA: return args_lender(args, &o->lender);
	case OPT_LIMIT: return args_bytes(args, &o->limit);
	case OPT_SESSION: return args_count(args, &o->session);
	case OPT_WARM: return args_count(args, &o->warm);
	case OPT_TYPE:
		o->typed = true;
		return args_type(args, &o->type);
	case OPT_PATH: o->path = args->value; return true;
	case OPT_PLOT: o->plot = args->value; return true;
	case OPT_JSON: o->json = true; return true;
	default: o->quiet = true; return true;
	}
}

/* Options that go together: STATUS_BAD, told, where they do not. */
static int
check(const struct load_options *o)
{
	if (o->clients > LOAD_CLIENTS_MAX)
		return complain("load: --clients: %zu are more than %d",
				o->clients, LOAD_CLIENTS_MAX);
	if (!o->plot && args_check_limit("load", o->lender, o->limit))
		return STATUS_BAD;
	if (o->session && (o->lender != LENDER_LEND || o->plot))
		return complain("load: --session and --warm are for lend's "
				"arena alone");
	if (o->warm > LOAD_WARM_MAX)
		return complain("load: --warm: %zu are more than %d", o->warm,
				LOAD_WARM_MAX);
	if (o->warm && o->files_count > LEND_WARM_CAP_MAX)
		return complain("load: --warm: %zu instances are more than %d",
				o->files_count, LEND_WARM_CAP_MAX);
	return 0;
}

static int
run(const struct args_command *command, int argc, char **argv)
{
	struct load_options o = {
		.clients = 8, .seconds = 5, .rounds = 1
	};
	struct args args;
	int key;

	args_start(&args, command, argc, argv);
	while ((key = args_next(&args)) != ARGS_END) {
		if (key == ARGS_STOP)
			return args.status;
		if (!take(&o, &args, key))
			return STATUS_BAD;
	}
	if (!args_operands(&args, 1, argc))
		return args.status;
	o.files = argv + args.at;
	o.files_count = (size_t)(argc - args.at);
	if (o.threads == 0)
		o.threads = threads_of_machine();
	if (o.warm && !o.session)
		o.session = LOAD_SESSION;
	if (check(&o))
		return STATUS_BAD;
	return load_run(&o);
}

const struct args_command command_load = {
	"load", "INSTANCE.json...",
	"many clients contract networks at once",
	"Clients contract networks at once, on one pool and one arena, and ask\n"
	"for the next one as soon as they have a result.  Tells throughput,\n"
	"latency and what was lent.",
	options, run,
};
