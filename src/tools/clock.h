/* SPDX-License-Identifier: MIT */
/* Time, and figures of it. */
#ifndef LEND_TOOLS_CLOCK_H
#define LEND_TOOLS_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

/* CLOCK_MONOTONIC */
double now_seconds(void);

/* Seconds of each repetition.  Start with zeroes. */
struct series {
	double *value;
	size_t n, room;
	bool sorted;
};

void series_destroy(struct series *series);
/* Without memory the value is not kept. */
void series_add(struct series *series, double seconds);
/* NAN when there are none. */
double series_best(struct series *series);
double series_median(struct series *series);

#endif
