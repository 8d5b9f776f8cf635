/* SPDX-License-Identifier: MIT */
/*
 * How long requests took, in buckets: 64 to each doubling, so that a figure
 * read from it is at most 1.6 % above what was measured.
 */
#ifndef LEND_TOOLS_LATENCY_H
#define LEND_TOOLS_LATENCY_H

#include <stddef.h>
#include <stdint.h>

#define LATENCY_PARTS 64
#define LATENCY_BUCKETS (58 * LATENCY_PARTS)

/* Start with zeroes.  One thread adds. */
struct latency {
	uint64_t count;
	double sum, most;			/* seconds */
	uint64_t bucket[LATENCY_BUCKETS];	/* by nanoseconds */
};

void latency_add(struct latency *latency, double seconds);
void latency_merge(struct latency *to, const struct latency *from);

/* The seconds that this share (0 to 1) took at most; NAN of nothing. */
double latency_at(const struct latency *latency, double share);

#endif
