/* SPDX-License-Identifier: MIT */
/* One contraction by all contenders in turn, and what is told of it. */
#ifndef LEND_BENCH_CONTRACT_MEASURE_H
#define LEND_BENCH_CONTRACT_MEASURE_H

#include "bench/contract_bound.h"
#include "bench/contract_peer.h"
#include "bench/harness.h"

struct contract_figures {
	const struct contract_case *c;
	int threads;
	bool cpu;		/* by the processors' time */
	double bound;		/* flops per ns, as all figures here */
	struct bench_series series[CONTRACT_PEERS];
};

struct contract_plan {
	int repeats;
	int slow_repeats;	/* of what takes longer than SLOW_NS a time */
	uint64_t sample_ns;	/* the least of a sample */
	/*
	 * By the processors' time, divided by the threads: what others take
	 * is not in it, nor what threads wait for each other asleep.
	 */
	bool cpu;
	bool skip[CONTRACT_PEERS];
};

#define CONTRACT_SLOW_NS 1000000000u

/* Each round begins with another contender. */
void contract_measure(struct contract_figures *figures,
		      const struct contract_case *c, int threads,
		      const struct contract_plan *plan);

#endif
