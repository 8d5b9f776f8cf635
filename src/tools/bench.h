/* SPDX-License-Identifier: MIT */
/*
 * How `lend bench` measures and tells.
 *
 *   start { group { case run } group end } end
 *
 * A group is one type with one number of threads, for which peak and
 * bandwidth are measured.  Functions return 0 or an exit status, told.
 */
#ifndef LEND_TOOLS_BENCH_H
#define LEND_TOOLS_BENCH_H

#include <stdbool.h>

#include <lend/contract.h>

#include "tools/cases.h"
#include "tools/json.h"
#include "tools/message.h"

struct bench_options {
	bool quick, json;
	size_t scale;
	const char *kernel;
};

struct bench {
	const struct bench_options *options;
	/* Private. */
	lend_arena *arena;
	size_t executions;
	struct json_out json;
	enum lend_type type;
	const struct lend_exec *exec;
	double peak, bandwidth;	/* GFLOP/s, GB/s */
	double shares, logs;	/* sums over the group's cases */
	size_t cases;
};

int bench_start(struct bench *bench);
int bench_group(struct bench *bench, enum lend_type type,
		const struct lend_exec *exec);
int bench_case_run(struct bench *bench, const struct bench_case *c);
void bench_group_end(struct bench *bench);
void bench_end(struct bench *bench);

#endif
