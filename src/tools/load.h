/* SPDX-License-Identifier: MIT */
/*
 * One run of `lend load`: clients that contract networks at once.
 *
 *   cmd_load.c      options
 *   load.c          instances, pool, and which measurements are made
 *   load_run.c      one measurement: clients, a lender, a time
 *   load_client.c   what a client does
 *   load_session.c  workspaces of sessions, cold and prepared
 *   load_report.c   what is told about them
 *   load_plot.c     the same as a picture
 *
 * A request is one execution of one network.  Its result, too, is borrowed
 * from the lender, as a server would for its answer, and given back.  With
 * sessions the lender is a workspace's arena for some requests, else one arena
 * is for all.
 */
#ifndef LEND_TOOLS_LOAD_H
#define LEND_TOOLS_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <lend/network.h>
#include <lend/warmer.h>

#include "tools/instance.h"
#include "tools/json.h"
#include "tools/latency.h"
#include "tools/lenders.h"
#include "tools/network_data.h"
#include "tools/threads.h"

#define LOAD_KINDS 3
#define LOAD_CLIENTS_MAX 4096
#define LOAD_WARM_MAX 1024
/* Requests of a session, where only --warm is given. */
#define LOAD_SESSION 16

struct load_options {
	char **files;
	size_t files_count;
	const char *path;	/* null: opt_flops if there is one, or greedy */
	const char *plot;	/* null: one number of clients, one lender */
	enum lend_type type;
	bool typed, json, quiet;
	size_t clients, threads, limit, rounds;
	size_t session;		/* requests of each; 0: no sessions */
	size_t warm;		/* workspaces ready for each network */
	double seconds;
	enum lender_kind lender;
};

/* What is asked for. */
struct load_case {
	const char *file;
	struct instance instance;
	struct network_data data;
	lend_network *network;
	double flops;
	size_t result_bytes;
	struct lend_req req;
	size_t buffer_bytes, req_bytes;
};

/* First requests of sessions, with what it takes to have a workspace. */
struct load_first {
	struct latency latency;
	uint64_t faults;	/* of the clients' threads */
};

/* One measurement. */
struct load_result {
	enum lender_kind kind;
	size_t clients;
	double seconds;
	double flops;
	struct latency latency;
	uint64_t refused;	/* for the arena's limit */
	uint64_t allocations, faults;
	size_t retained, leased;	/* the most seen; leased: lend's */
	/* The most of the process: from a tenth to half of the time, later. */
	size_t resident_early, resident;
	/* With sessions, and then `retained` is the most of one of them. */
	struct load_first cold, warm;
	struct lend_warmer_stats warmer;
};

struct load {
	const struct load_options *options;
	struct load_case *cases;
	struct threads threads;
	struct load_result *results;
	size_t results_count;
};

/* All of it; the exit status. */
int load_run(const struct load_options *options);

/* 0, or STATUS_BAD, told. */
int load_measure(const struct load *load, enum lender_kind kind,
		 size_t clients, struct load_result *result);

/* Requests per second. */
double load_rate(const struct load_result *result);

void load_report(const struct load *load);
/* Writes the picture; 0, or STATUS_BAD, told. */
int load_plot(const struct load *load);

#endif
