/* SPDX-License-Identifier: MIT */
/* lend contract: options and what they may not be together. */
#include <stdio.h>

#include "tools/commands.h"
#include "tools/contract.h"
#include "tools/message.h"

enum {
	OPT_OUTPUT = 1, OPT_THREADS, OPT_TEAM, OPT_REPEAT, OPT_ALPHA, OPT_BETA,
	OPT_ACCUMULATE, OPT_VERIFY, OPT_ARENA, OPT_LIMIT, OPT_KERNEL,
	OPT_STATS, OPT_JSON, OPT_QUIET
};

static const struct args_option options[] = {
	{ "output", OPT_OUTPUT, 'o', "C.npy",
	  "write the result there; without it, it is not kept" },
	{ "threads", OPT_THREADS, 0, "N",
	  "threads to use (default: all processors)" },
	{ "team", OPT_TEAM, 0, "PMxPN",
	  "the team, instead of the plan's own choice" },
	{ "repeat", OPT_REPEAT, 0, "R", "contract R times (default 1)" },
	{ "alpha", OPT_ALPHA, 0, "X",
	  "multiply the product by X: 1.5 or 1.5-2i (default 1)" },
	{ "beta", OPT_BETA, 0, "Y",
	  "multiply what is added to by Y (default 1)" },
	{ "accumulate", OPT_ACCUMULATE, 0, "C0.npy",
	  "add the product to this, which is not changed" },
	{ "verify", OPT_VERIFY, 0, NULL,
	  "compare with a naive contraction before it is written" },
	{ "arena", OPT_ARENA, 0, "KIND",
	  "who lends: lend, mutex or malloc (default lend)" },
	{ "limit", OPT_LIMIT, 0, "BYTES",
	  "the most that the arena may retain; with K, M, G, T" },
	{ "kernel", OPT_KERNEL, 0, "NAME",
	  "avx512, avx2 or portable (default: the best)" },
	{ "stats", OPT_STATS, 0, NULL, "tell what was lent in detail" },
	{ "json", OPT_JSON, 0, NULL, "print JSON" },
	{ "quiet", OPT_QUIET, 'q', NULL, "print no table and no progress" },
	ARGS_HELP,
	{ 0 },
};

static bool
take_flag(struct contract_options *o, int key)
{
	*(key == OPT_VERIFY ? &o->verify :
	  key == OPT_STATS ? &o->stats :
	  key == OPT_JSON ? &o->json : &o->quiet) = true;
	return true;
}

static bool
take_path(struct contract_options *o, const struct args *args, int key)
{
	*(key == OPT_OUTPUT ? &o->output :
	  key == OPT_ACCUMULATE ? &o->accumulate : &o->kernel) = args->value;
	return true;
}

/* One option; false: its value was wrong, which is told. */
static bool
take(struct contract_options *o, const struct args *args, int key)
{
	switch (key) {
	case OPT_OUTPUT:
	case OPT_ACCUMULATE:
	case OPT_KERNEL:
		return take_path(o, args, key);
	case OPT_THREADS:
		return args_count(args, &o->threads);
	case OPT_TEAM:
		return args_team(args, &o->pm, &o->pn);
	case OPT_REPEAT:
		return args_count(args, &o->repeat);
	case OPT_ALPHA:
		return args_complex(args, o->alpha);
	case OPT_BETA:
		o->beta_given = true;
		return args_complex(args, o->beta);
	case OPT_ARENA:
		return args_lender(args, &o->lender);
	case OPT_LIMIT:
		return args_bytes(args, &o->limit);
	default:
		return take_flag(o, key);
	}
}

/* Fills in what follows from other options; 0 or STATUS_BAD. */
static int
settle(struct contract_options *o)
{
	if (o->threads == 0)
		o->threads = o->pm ? o->pm * o->pn : threads_of_machine();
	if (o->pm * o->pn > o->threads)
		return complain("contract: a team of %zux%zu is more than %zu "
				"threads", o->pm, o->pn, o->threads);
	if (o->beta_given && !o->accumulate)
		return complain("contract: --beta without --accumulate: there "
				"is nothing to add to");
	return args_check_limit("contract", o->lender, o->limit);
}

static int
run(const struct args_command *command, int argc, char **argv)
{
	struct contract_options o = { .repeat = 1, .alpha = { 1, 0 },
				      .beta = { 1, 0 } };
	struct args args;
	int key, status;

	args_start(&args, command, argc, argv);
	while ((key = args_next(&args)) != ARGS_END) {
		if (key == ARGS_STOP)
			return args.status;
		if (!take(&o, &args, key))
			return STATUS_BAD;
	}
	if (!args_operands(&args, 3, 3))
		return args.status;
	o.einsum = argv[args.at];
	o.path[0] = argv[args.at + 1];
	o.path[1] = argv[args.at + 2];
	status = settle(&o);
	return status ? status : contract_run(&o);
}

const struct args_command command_contract = {
	"contract", "EINSUM A.npy B.npy",
	"contract two tensors",
	"Contracts two tensors of .npy files: C = X einsum(A, B) + Y C0.\n"
	"EINSUM names the labels of A, B and C, as 'ab,bc->ac'.",
	options, run,
};
