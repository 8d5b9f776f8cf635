/* SPDX-License-Identifier: MIT */
/* What was measured, as rows of the report and as a table for people. */
#ifndef LEND_BENCH_CONTRACT_REPORT_H
#define LEND_BENCH_CONTRACT_REPORT_H

#include <stddef.h>

#include "bench/contract_measure.h"

/* Adds the row of one contraction, and its line of the table. */
void contract_report_case(const struct contract_figures *figures);
/* Adds the rows that sum up all contractions so far. */
void contract_report_sums(void);
/* Prints the rest; the lines of contractions are printed as they come. */
void contract_report_print(void);

#endif
