/* SPDX-License-Identifier: MIT */
#include "tools/args.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "tools/message.h"

#define TEXT_COLUMN 27
#define LETTERS_MAX (3 + 2 * ARGS_OPTIONS_MAX)

void
args_start(struct args *args, const struct args_command *command, int argc,
	   char **argv)
{
	*args = (struct args){ .command = command, .argc = argc, .argv = argv };
	optind = 0;
	opterr = 0;
}

void
args_help(const struct args_command *command)
{
	printf("usage: lend %s [OPTION...]%s%s\n\n%s\n\n", command->name,
	       command->operands[0] ? " " : "", command->operands,
	       command->about);
	for (const struct args_option *o = command->option; o->name; o++) {
		char text[64];
		int length;

		if (o->letter)
			length = snprintf(text, sizeof text, "  -%c, --%s",
					  o->letter, o->name);
		else
			length = snprintf(text, sizeof text, "      --%s",
					  o->name);
		if (o->value)
			length += snprintf(text + length,
					   sizeof text - (size_t)length,
					   "=%s", o->value);
		printf("%-*s", TEXT_COLUMN, text);
		if (length >= TEXT_COLUMN)
			printf("\n%*s", TEXT_COLUMN, "");
		puts(o->text);
	}
}

static int
stop(struct args *args, int status)
{
	args->status = status;
	return ARGS_STOP;
}

/* Makes what getopt_long() wants. */
static void
translate(const struct args_option *option, char *letters,
	  struct option *longs)
{
	/* A value that is missing is told apart from an unknown option. */
	*letters++ = ':';
	for (int i = 0; option[i].name; i++) {
		longs[i] = (struct option){ option[i].name,
					    option[i].value ? 1 : 0, NULL,
					    i + 256 };
		if (!option[i].letter)
			continue;
		*letters++ = option[i].letter;
		if (option[i].value)
			*letters++ = ':';
	}
	*letters = '\0';
}

static int
complain_unknown(struct args *args, int got)
{
	const char *name = args->command->name;
	const char *given = args->argv[optind - 1];

	if (got == ':')
		complain("%s: option '%s' lacks its value", name, given);
	else if (optopt >= 256)
		complain("%s: option '%s' takes no value", name, given);
	else if (optopt)
		complain("%s: unknown option '-%c'; lend %s --help lists "
			 "them", name, optopt, name);
	else
		complain("%s: unknown or ambiguous option '%s'; lend %s "
			 "--help lists them", name, given, name);
	return stop(args, STATUS_BAD);
}

int
args_next(struct args *args)
{
	const struct args_option *option = args->command->option;
	struct option longs[ARGS_OPTIONS_MAX + 1] = { { 0 } };
	char letters[LETTERS_MAX];
	int got, i = 0;

	translate(option, letters, longs);
	got = getopt_long(args->argc, args->argv, letters, longs, NULL);
	args->at = optind;
	if (got == -1)
		return ARGS_END;
	if (got == '?' || got == ':')
		return complain_unknown(args, got);
	if (got >= 256)
		i = got - 256;
	else
		while (option[i].letter != got)
			i++;
	args->name = option[i].name;
	args->value = optarg;
	if (option[i].key)
		return option[i].key;
	args_help(args->command);
	return stop(args, 0);
}

bool
args_operands(struct args *args, int least, int most)
{
	const struct args_command *command = args->command;
	int n = args->argc - args->at;

	if (n >= least && n <= most)
		return true;
	if (n > most)
		complain("%s: '%s' is one operand too many; lend %s --help "
			 "shows how it is used", command->name,
			 args->argv[args->at + most], command->name);
	else
		complain("%s: %d of the operands %s are missing; lend %s "
			 "--help shows how it is used", command->name,
			 least - n, command->operands, command->name);
	stop(args, STATUS_BAD);
	return false;
}
