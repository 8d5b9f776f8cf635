/* SPDX-License-Identifier: MIT */
/* What an execution costs beside the work: plans, and small ones. */
#ifndef LEND_BENCH_CONTRACT_SMALL_H
#define LEND_BENCH_CONTRACT_SMALL_H

#include "bench/harness.h"

/* Adds their rows to the report, and prints them. */
void contract_small(int rounds, uint64_t slice_ns);

#endif
