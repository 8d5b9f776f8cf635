/* SPDX-License-Identifier: MIT */
/*
 * One run of `lend contract`, step by step.
 *
 *   cmd_contract.c       options
 *   contract_run.c       inputs, plan, output, repetitions
 *   contract_report.c    what is told about it
 */
#ifndef LEND_TOOLS_CONTRACT_H
#define LEND_TOOLS_CONTRACT_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/contract.h>

#include "tools/clock.h"
#include "tools/describe.h"
#include "tools/lenders.h"
#include "tools/naive.h"
#include "tools/npy.h"
#include "tools/threads.h"

struct contract_options {
	const char *einsum;
	const char *path[2];	/* A, B */
	const char *output;	/* null: C is not kept */
	const char *accumulate;	/* null: nothing is added to */
	const char *kernel;
	size_t threads, pm, pn, repeat, limit;
	double alpha[2], beta[2];
	bool beta_given, verify, stats, json, quiet;
	enum lender_kind lender;
};

struct contract {
	const struct contract_options *options;
	struct npy_input a, b, c0;
	struct lend_layout a_layout, b_layout, c0_layout;
	ptrdiff_t a_stride[LEND_MAX_RANK], b_stride[LEND_MAX_RANK],
		  c0_stride[LEND_MAX_RANK];
	enum lend_type type;
	lend_plan *plan;
	struct description description;
	struct threads threads;
	struct lender lender;
	struct npy_output output;
	void *c;
	size_t c_bytes;
	/* What was seen. */
	struct series series;
	struct contract_costs {
		unsigned long long allocations, faults;
	} first, later;		/* later: of all other repetitions */
	struct naive naive;
	struct naive_verdict verdict;
};

/* All of it; the exit status. */
int contract_run(const struct contract_options *options);

/* Human or JSON, as the options say. */
void contract_report(struct contract *contract);
/* Tells what --verify found to be wrong.  Returns STATUS_MISMATCH. */
int contract_report_mismatch(const struct contract *contract);

#endif
