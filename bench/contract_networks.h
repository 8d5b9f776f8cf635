/* SPDX-License-Identifier: MIT */
/* Networks along given paths, beside NumPy along the same. */
#ifndef LEND_BENCH_CONTRACT_NETWORKS_H
#define LEND_BENCH_CONTRACT_NETWORKS_H

#include <stdbool.h>
#include <stdint.h>

struct networks_plan {
	const char *folder;	/* of the instances */
	const char *only;	/* those whose name has it; null: all */
	const char *const *path;	/* names, up to a null */
	int repeats;
	uint64_t sample_ns;
	bool cpu;		/* by the processors' time over the threads */
	bool numpy;
};

/* Adds a row for each instance and path, and prints it. */
void contract_networks(const struct networks_plan *plan, int threads);

#endif
