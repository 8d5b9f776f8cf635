/* SPDX-License-Identifier: MIT */
#ifndef LEND_BENCH_CONTRACT_CHECK_H
#define LEND_BENCH_CONTRACT_CHECK_H

#include "bench/contract_peer.h"

/*
 * Whether some elements of the job's C, spread over all of it, are the sums
 * that they should be, and none of C's ends is left out.
 */
bool contract_check(const struct contract_job *job);

#endif
