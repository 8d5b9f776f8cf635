/* SPDX-License-Identifier: MIT */
/* How the program's tables look. */
#ifndef LEND_TOOLS_PRINT_H
#define LEND_TOOLS_PRINT_H

#include <stddef.h>

#include <lend/contract.h>

/* "  name       text" on standard output. */
void print_line(const char *name, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* "72 x 72 x 24", "scalar"; into text, cut. */
#define PRINT_SHAPE 256
const char *print_shape(size_t rank, const size_t *extent,
			char text[PRINT_SHAPE]);

/* "3.0 MiB" */
#define PRINT_SIZE 32
const char *print_bytes(double bytes, char text[PRINT_SIZE]);
/* "1.23 ms" */
const char *print_seconds(double seconds, char text[PRINT_SIZE]);

/* What the first of some repetitions took of something, and what the others. */
void print_cost(const char *name, unsigned long long first,
		unsigned long long later, size_t repeat);

/* Flushes standard output.  0, or STATUS_BAD, told, when that fails. */
int print_end(void);

const char *print_split(enum lend_split split);

#endif
