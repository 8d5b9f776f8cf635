/* SPDX-License-Identifier: MIT */
/*
 * Who contracts.  Each contender sets itself up for a case and a number of
 * threads, outside of the time measured, and then contracts as often as it
 * is told to: C = A * B, C overwritten.
 *
 *   contract_lend.c    lend's engine, from a warm arena, over its pool
 *   contract_ttgt.c    transpose, then a BLAS's gemm, then transpose
 *   contract_tblis.c   TBLIS, where its library is given
 *   contract_numpy.c   NumPy in a child, einsum and tensordot
 */
#ifndef LEND_BENCH_CONTRACT_PEER_H
#define LEND_BENCH_CONTRACT_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/contract_cases.h"

/* A case with its arrays; what one contender writes the next overwrites. */
struct contract_job {
	const struct contract_case *c;
	int threads;
	void *data[CASE_OPERANDS];
};

/* In ns: on the clock, and of all the threads' processors together. */
struct contract_time {
	uint64_t wall, cpu;
};

/* Of this process, now. */
struct contract_time contract_now(void);
struct contract_time contract_since(struct contract_time start);

struct contract_peer {
	const char *name;
	/* Loads what it is; false: absent, and `absent` says why. */
	bool (*open)(struct contract_peer *self);
	/* False: it has no way to do this one. */
	bool (*begin)(struct contract_peer *self,
		      const struct contract_job *job);
	/* Contracts `turns` times and returns how long that took. */
	struct contract_time (*run)(struct contract_peer *self,
				    unsigned turns);
	void (*end)(struct contract_peer *self);
	bool foreign;	/* its result is not in the job's C */
	bool present;
	char absent[160];
};

/* The libraries to look for; null: not given. */
struct contract_libraries {
	const char *blas, *tblis, *python;
};

extern struct contract_libraries contract_libraries;

enum {
	CONTRACT_LEND, CONTRACT_TTGT, CONTRACT_TBLIS, CONTRACT_EINSUM,
	CONTRACT_TENSORDOT, CONTRACT_PEERS
};

extern struct contract_peer contract_peers[CONTRACT_PEERS];

/* Fills in why it is absent; returns false. */
bool contract_refuse(struct contract_peer *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

bool contract_lend_open(struct contract_peer *self);
bool contract_lend_begin(struct contract_peer *self,
			 const struct contract_job *job);
struct contract_time contract_lend_run(struct contract_peer *self,
				       unsigned turns);
void contract_lend_end(struct contract_peer *self);

bool contract_ttgt_open(struct contract_peer *self);
bool contract_ttgt_begin(struct contract_peer *self,
			 const struct contract_job *job);
struct contract_time contract_ttgt_run(struct contract_peer *self,
				       unsigned turns);
void contract_ttgt_end(struct contract_peer *self);

bool contract_tblis_open(struct contract_peer *self);
bool contract_tblis_begin(struct contract_peer *self,
			  const struct contract_job *job);
struct contract_time contract_tblis_run(struct contract_peer *self,
					unsigned turns);
void contract_tblis_end(struct contract_peer *self);

bool contract_numpy_open(struct contract_peer *self);
bool contract_einsum_begin(struct contract_peer *self,
			   const struct contract_job *job);
bool contract_tensordot_begin(struct contract_peer *self,
			      const struct contract_job *job);
struct contract_time contract_numpy_run(struct contract_peer *self,
					unsigned turns);
void contract_numpy_end(struct contract_peer *self);

#endif
