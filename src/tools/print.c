/* SPDX-License-Identifier: MIT */
#include "tools/print.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/message.h"

void
print_line(const char *name, const char *format, ...)
{
	va_list args;

	printf("  %-12s", name);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

const char *
print_shape(size_t rank, const size_t *extent, char text[PRINT_SHAPE])
{
	size_t length = 0;

	if (rank == 0)
		return strcpy(text, "scalar");
	for (size_t i = 0; i < rank && length < PRINT_SHAPE; i++)
		length += (size_t)snprintf(text + length, PRINT_SHAPE - length,
					   "%s%zu", i ? " x " : "", extent[i]);
	return text;
}

const char *
print_bytes(double bytes, char text[PRINT_SIZE])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;

	while (bytes >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
		bytes /= 1024;
		unit++;
	}
	snprintf(text, PRINT_SIZE, "%.*f %s", unit ? 1 : 0, bytes,
		 units[unit]);
	return text;
}

const char *
print_seconds(double seconds, char text[PRINT_SIZE])
{
	if (seconds >= 1)
		snprintf(text, PRINT_SIZE, "%.3f s", seconds);
	else if (seconds >= 1e-3)
		snprintf(text, PRINT_SIZE, "%.3f ms", seconds * 1e3);
	else
		snprintf(text, PRINT_SIZE, "%.3f us", seconds * 1e6);
	return text;
}

int
print_end(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	return complain("standard output: %s", strerror(errno));
}

const char *
print_split(enum lend_split split)
{
	return split == LEND_SPLIT_N ? "columns" :
	       split == LEND_SPLIT_BATCH ? "batch" : "sum";
}

void
print_cost(const char *name, unsigned long long first,
	   unsigned long long later, size_t repeat)
{
	if (repeat > 1)
		print_line(name, "%llu at first, %llu in the other %zu", first,
			   later, repeat - 1);
	else
		print_line(name, "%llu", first);
}
