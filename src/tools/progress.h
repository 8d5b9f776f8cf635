/* SPDX-License-Identifier: MIT */
/*
 * A line on the terminal while something takes longer than a second.  One at
 * a time; nothing when standard error is no terminal.
 */
#ifndef LEND_TOOLS_PROGRESS_H
#define LEND_TOOLS_PROGRESS_H

#include <stddef.h>

/* `what` outlives it; `total` steps, 0: unknown. */
void progress_start(const char *what, size_t total);
/* Any thread. */
void progress_step(size_t steps);
void progress_stop(void);

#endif
