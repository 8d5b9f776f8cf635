/* SPDX-License-Identifier: MIT */
/* The figures: each function measures some and adds their rows. */
#ifndef LEND_BENCH_FIGURES_H
#define LEND_BENCH_FIGURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/harness.h"

#define THREAD_COUNTS 6

/* How much of everything a run does. */
struct figures_plan {
	bool quick;
	int rounds;
	uint64_t slice_ns;	/* of one contender's loan loop */
	uint64_t quiet_slice_ns;	/* with a processor for each thread */
	int tries;		/* of these, when others disturb */
	int laps;		/* rounds of what runs beside a ticker */
	uint64_t lap_ns;	/* and their length */
	int threads[THREAD_COUNTS];	/* up to the first 0 */
	size_t touch_bytes;
	int touch_rounds;
	size_t counted_loans;
	struct bench_crew *crew;	/* BENCH_THREADS_MAX threads */
};

/* Worker and team loans on each number of threads, and their flatness. */
void figures_loans(const struct figures_plan *plan);
/* Plain buffers of several sizes. */
void figures_buffers(const struct figures_plan *plan);
/* The cost of stats; lenders beside a poller, beside a trimmer. */
void figures_disturbed(const struct figures_plan *plan);
/* Page faults and huge pages of one large buffer. */
void figures_touch(const struct figures_plan *plan);
/* System calls and allocations per loan. */
void figures_counted(const struct figures_plan *plan);
/* Bytes per slot, set and table entry. */
void figures_bookkeeping(void);

#endif
