/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "tools/cleanup.h"
#include "tools/commands.h"
#include "tools/message.h"
#include "tools/print.h"

static const struct args_command *const commands[] = {
	&command_contract, &command_network, &command_load, &command_plan,
	&command_bench, &command_stats,
};
#define COMMANDS (sizeof commands / sizeof commands[0])

static void
help(void)
{
	puts("usage: lend COMMAND [ARGUMENT...]\n\n"
	     "Contracts tensors with scratch memory lent by an arena.\n\n"
	     "commands:");
	for (size_t i = 0; i < COMMANDS; i++)
		printf("  %-12s%s\n", commands[i]->name,
		       commands[i]->summary);
	puts("\noptions:\n"
	     "  --help      print this text; lend COMMAND --help, a command's\n"
	     "  --version   print the version");
}

static int
run(const struct args_command *command, int argc, char **argv)
{
	int status = command->run(command, argc, argv);
	int end = print_end();

	return status ? status : end;
}

int
main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : NULL;

	cleanup_install();
	if (!name)
		return complain("no command; lend --help lists them");
	if (!strcmp(name, "--help") || !strcmp(name, "-h")) {
		help();
		return print_end();
	}
	if (!strcmp(name, "--version")) {
		puts("lend " PACKAGE_VERSION);
		return print_end();
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(name, commands[i]->name))
			return run(commands[i], argc - 1, argv + 1);
	return complain("unknown %s '%s'; lend --help lists them",
			name[0] == '-' ? "option" : "command", name);
}
