/* SPDX-License-Identifier: MIT */
/*
 * One run of `lend network`, step by step.
 *
 *   cmd_network.c       options
 *   instance.c          the file that describes it
 *   network_data.c      operands
 *   network_run.c       network, output, repetitions
 *   network_report.c    what is told about it
 */
#ifndef LEND_TOOLS_NETWORK_H
#define LEND_TOOLS_NETWORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/network.h>

#include "tools/clock.h"
#include "tools/instance.h"
#include "tools/lenders.h"
#include "tools/network_data.h"
#include "tools/npy.h"
#include "tools/threads.h"

struct network_options {
	const char *file;	/* the instance */
	const char *path;	/* null: opt_flops if there is one, or greedy */
	const char *files;	/* of --data; null: made up */
	enum data_kind data;
	uint64_t seed;
	const char *output;	/* null: the result is not kept */
	const char *kernel;
	enum lend_type type;
	bool typed, stats, json, quiet;
	size_t threads, repeat, limit;
	enum lender_kind lender;
};

struct network {
	const struct network_options *options;
	struct instance instance;
	const struct instance_path *path;	/* null: greedy */
	enum lend_type type;
	struct network_data data;
	lend_network *network;
	struct lend_network_info info;
	struct lend_req req;
	size_t req_bytes;	/* of the largest team */
	size_t buffer_bytes;	/* the most at one time */
	struct lend_layout layout;	/* of the output */
	struct threads threads;
	struct lender lender;
	struct npy_output output;
	void *result;
	size_t result_bytes;
	/* What was seen. */
	struct series series;
	double create_seconds;
	struct network_costs {
		unsigned long long allocations, faults;
	} first, later;		/* later: of all other repetitions */
};

/* All of it; the exit status. */
int network_run(const struct network_options *options);

/* A network of the instance along a path, null: greedy. */
int network_make(const struct network *n, const struct instance_path *path,
		 lend_network **network, struct lend_error *why);
const char *network_path_name(const struct instance_path *path);

/* Human or JSON, as the options say. */
void network_report(struct network *n);

#endif
