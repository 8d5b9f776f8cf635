/* SPDX-License-Identifier: MIT */
#include "tools/message.h"

#include <stdarg.h>
#include <stdio.h>

bool
refuse(struct message *why, const char *format, ...)
{
	va_list args;

	if (!why)
		return false;
	va_start(args, format);
	vsnprintf(why->text, sizeof why->text, format, args);
	va_end(args);
	return false;
}

int
complain(const char *format, ...)
{
	va_list args;

	/* The result may be in the same file: keep the order. */
	fflush(stdout);
	va_start(args, format);
	fputs("lend: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return STATUS_BAD;
}
