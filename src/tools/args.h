/* SPDX-License-Identifier: MIT */
/*
 * Commands and their options, from tables: what is accepted and what --help
 * says are one.
 */
#ifndef LEND_TOOLS_ARGS_H
#define LEND_TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/contract.h>

#include "tools/lenders.h"

/* Every command has this one, and args_next() serves it. */
#define ARGS_HELP { "help", 0, 'h', NULL, "print this text" }

struct args_option {
	const char *name;	/* null: the end of the table */
	int key;		/* 1 and above; 0: --help */
	char letter;		/* 0: none */
	const char *value;	/* null: takes none */
	const char *text;
};

struct args_command {
	const char *name;
	const char *operands;
	const char *summary;	/* for the list of commands */
	const char *about;	/* lines */
	const struct args_option *option;
	int (*run)(const struct args_command *command, int argc, char **argv);
};

enum {
	ARGS_END = -1,		/* operands follow, from argv[args->at] */
	ARGS_STOP = -2		/* told already: exit with args->status */
};

#define ARGS_OPTIONS_MAX 32

struct args {
	const struct args_command *command;
	int argc;
	char **argv;
	int at;
	const char *name;	/* of the present option */
	const char *value;
	int status;
};

void args_start(struct args *args, const struct args_command *command,
		int argc, char **argv);
/* The next option's key, or one of the above. */
int args_next(struct args *args);
/* Whether there are `least` to `most` operands; else it is told. */
bool args_operands(struct args *args, int least, int most);

/*
 * The present option's value; what is none is told, with false.
 */
bool args_count(const struct args *args, size_t *count);	/* from 1 */
bool args_bytes(const struct args *args, size_t *bytes);	/* K, M, G, T */
bool args_positive(const struct args *args, double *number);
bool args_team(const struct args *args, size_t *pm, size_t *pn);
bool args_type(const struct args *args, enum lend_type *type);
bool args_lender(const struct args *args, enum lender_kind *kind);
bool args_complex(const struct args *args, double number[2]);
/* "1.5", "1.5,-2", "1.5-2i", "2i"; false, and nothing is told. */
bool complex_parse(double number[2], const char *text);

/* Whether the lender has the limit (0: none): 0, or STATUS_BAD, told. */
int args_check_limit(const char *command, enum lender_kind kind,
		     size_t limit);

void args_help(const struct args_command *command);

#endif
