/* SPDX-License-Identifier: MIT */
/*
 * What the machine could do at best, measured here and now.
 *
 *   peak       multiply-adds on registers alone, in the widest vectors that
 *              the processor has
 *   bandwidth  reading 512 MiB front to back, the threads taking pieces of
 *              4 MiB in turn: no byte is read twice before all were
 *
 * Each is the best of several slices, as others can only make it less.
 */
#ifndef LEND_BENCH_CONTRACT_BOUND_H
#define LEND_BENCH_CONTRACT_BOUND_H

#include <stdbool.h>

#include "bench/harness.h"

struct contract_bound {
	double peak[2];		/* double, float: flops per ns */
	double bandwidth;	/* bytes per ns */
};

/* With `cpu` by the processors' time: what others take is not in it. */
struct contract_bound contract_bound_measure(struct bench_crew *crew,
					     int threads, bool cpu,
					     bool quick);

/*
 * The most flops per ns that a contraction could have: those of the peak, or
 * fewer, where moving each byte once takes longer.
 */
double contract_bound_of(const struct contract_bound *bound, bool single,
			 double flops, double bytes);

#endif
