/* SPDX-License-Identifier: MIT */
#include "tools/latency.h"

#include <math.h>

static size_t
bucket_of(uint64_t ns)
{
	unsigned shift;
	size_t bucket;

	if (ns < LATENCY_PARTS)
		return (size_t)ns;
	/* Its leading seven bits, and how many follow. */
	shift = 63 - (unsigned)__builtin_clzll(ns) - 6;
	bucket = (shift + 1) * (size_t)LATENCY_PARTS +
		 (size_t)((ns >> shift) - LATENCY_PARTS);
	return bucket < LATENCY_BUCKETS ? bucket : LATENCY_BUCKETS - 1;
}

/* The most that a bucket may stand for. */
static double
bucket_ns(size_t bucket)
{
	size_t shift = bucket / LATENCY_PARTS;

	if (shift == 0)
		return (double)bucket;
	return ldexp((double)(bucket % LATENCY_PARTS + LATENCY_PARTS + 1),
		     (int)shift - 1) - 1;
}

void
latency_add(struct latency *latency, double seconds)
{
	double ns = seconds > 0 ? seconds * 1e9 : 0;

	latency->count++;
	latency->sum += seconds;
	latency->most = fmax(latency->most, seconds);
	latency->bucket[bucket_of(ns < 0x1p63 ? (uint64_t)ns :
				  UINT64_MAX)]++;
}

void
latency_merge(struct latency *to, const struct latency *from)
{
	to->count += from->count;
	to->sum += from->sum;
	to->most = fmax(to->most, from->most);
	for (size_t i = 0; i < LATENCY_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

double
latency_at(const struct latency *latency, double share)
{
	uint64_t rank = (uint64_t)ceil(share * (double)latency->count), seen = 0;

	if (latency->count == 0)
		return NAN;
	rank = rank ? rank : 1;
	for (size_t i = 0; i < LATENCY_BUCKETS; i++) {
		seen += latency->bucket[i];
		if (seen >= rank)
			return fmin(bucket_ns(i) * 1e-9, latency->most);
	}
	return latency->most;
}
