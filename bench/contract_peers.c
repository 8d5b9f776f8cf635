/* SPDX-License-Identifier: MIT */
#include "bench/contract_peer.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "bench/harness.h"

struct contract_libraries contract_libraries;

struct contract_peer contract_peers[CONTRACT_PEERS] = {
	[CONTRACT_LEND] = {
		.name = "lend",
		.open = contract_lend_open,
		.begin = contract_lend_begin,
		.run = contract_lend_run,
		.end = contract_lend_end,
	},
	[CONTRACT_TTGT] = {
		.name = "ttgt",
		.open = contract_ttgt_open,
		.begin = contract_ttgt_begin,
		.run = contract_ttgt_run,
		.end = contract_ttgt_end,
	},
	[CONTRACT_TBLIS] = {
		.name = "tblis",
		.open = contract_tblis_open,
		.begin = contract_tblis_begin,
		.run = contract_tblis_run,
		.end = contract_tblis_end,
	},
	[CONTRACT_EINSUM] = {
		.name = "einsum",
		.open = contract_numpy_open,
		.begin = contract_einsum_begin,
		.run = contract_numpy_run,
		.end = contract_numpy_end,
		.foreign = true,
	},
	[CONTRACT_TENSORDOT] = {
		.name = "tensordot",
		.open = contract_numpy_open,
		.begin = contract_tensordot_begin,
		.run = contract_numpy_run,
		.end = contract_numpy_end,
		.foreign = true,
	},
};

struct contract_time
contract_now(void)
{
	struct timespec cpu;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (struct contract_time){
		.wall = bench_now(),
		.cpu = (uint64_t)cpu.tv_sec * 1000000000u +
		       (uint64_t)cpu.tv_nsec,
	};
}

struct contract_time
contract_since(struct contract_time start)
{
	struct contract_time now = contract_now();

	return (struct contract_time){
		now.wall - start.wall, now.cpu - start.cpu
	};
}

bool
contract_refuse(struct contract_peer *self, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(self->absent, sizeof(self->absent), format, args);
	va_end(args);
	return false;
}
