/* SPDX-License-Identifier: MIT */
/* Products of few columns: the larger operand in place, and packed. */
#ifndef LEND_BENCH_CONTRACT_COLUMNS_H
#define LEND_BENCH_CONTRACT_COLUMNS_H

#include <stdbool.h>

#include "bench/harness.h"

/* Adds their rows to the report, and prints them. */
void contract_columns(int rounds, uint64_t slice_ns, bool quick);

#endif
