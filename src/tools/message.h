/* SPDX-License-Identifier: MIT */
/* What the program says when something is wrong. */
#ifndef LEND_TOOLS_MESSAGE_H
#define LEND_TOOLS_MESSAGE_H

#include <stdbool.h>

/* Exit statuses, apart from 0. */
enum {
	STATUS_MISMATCH = 1,	/* --verify found a difference */
	STATUS_BAD = 2		/* bad input or environment, nothing written */
};

/* What was wrong, in one line; whoever prints it says where. */
struct message {
	char text[512];
};

/* Fills *why, which may be null.  Returns false. */
bool refuse(struct message *why, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints one line on standard error.  Returns STATUS_BAD. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
