/* SPDX-License-Identifier: MIT */
/*
 * What is written to standard error, through a pipe.  Both functions assert.
 * No more may be written between them than a pipe holds, 64 KiB.
 */
#ifndef TESTS_SUPPORT_CAPTURE_H
#define TESTS_SUPPORT_CAPTURE_H

#include <stddef.h>

/* From here on standard error goes to the pipe. */
void capture_begin(void);
/* Standard error is again what it was; `text` gets what was written. */
void capture_end(char *text, size_t size);

#endif
