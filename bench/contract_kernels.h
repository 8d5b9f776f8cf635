/* SPDX-License-Identifier: MIT */
/* What kernels reach alone, beside the peak. */
#ifndef LEND_BENCH_CONTRACT_KERNELS_H
#define LEND_BENCH_CONTRACT_KERNELS_H

#include "bench/harness.h"

/*
 * Adds a row for each kernel, and prints it.  `peak`: of one thread, for
 * double and float, in flops per ns.
 */
void contract_kernels(const double peak[2], int rounds, uint64_t slice_ns);

#endif
