/* SPDX-License-Identifier: MIT */
#include "support/capture.h"

#include <check.h>
#include <unistd.h>

static int kept = -1, readable = -1;

void
capture_begin(void)
{
	int ends[2];

	ck_assert_int_eq(pipe(ends), 0);
	readable = ends[0];
	kept = dup(STDERR_FILENO);
	ck_assert_int_ge(kept, 0);
	ck_assert_int_ge(dup2(ends[1], STDERR_FILENO), 0);
	close(ends[1]);
}

void
capture_end(char *text, size_t size)
{
	size_t length = 0;
	ssize_t n;

	/* The last writing end goes with it, so the reading below ends. */
	ck_assert_int_ge(dup2(kept, STDERR_FILENO), 0);
	close(kept);
	do {
		n = read(readable, text + length, size - 1 - length);
		length += n > 0 ? (size_t)n : 0;
	} while (n > 0);
	close(readable);
	text[length] = '\0';
}
