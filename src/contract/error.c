/* SPDX-License-Identifier: MIT */
#include "contract/error.h"

#include <stdarg.h>
#include <stdio.h>

int
lend__fail(struct lend_error *why, int error, const char *format, ...)
{
	va_list args;

	if (!why)
		return error;
	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	return error;
}
