/* SPDX-License-Identifier: MIT */
/*
 * Each function acquires one thing, lets the next one go on, and releases it:
 *
 *   instance - operands - network - threads - lender - output - repetitions
 */
#include "tools/network.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/memory.h"
#include "tools/message.h"
#include "tools/progress.h"

/* Repetitions. */

static int
complain_execute(const struct network *n, int error, const char *text)
{
	if (error == -EDQUOT)
		return complain("network: the limit of %zu bytes is reached; "
				"the network borrows %zu and buffers of %zu",
				n->options->limit, n->req_bytes,
				n->buffer_bytes);
	if (error == -ENOMEM)
		return complain("network: no memory to lend; the network "
				"borrows %zu bytes and buffers of %zu",
				n->req_bytes, n->buffer_bytes);
	return complain("network: %s", text);
}

static struct network_costs
costs_now(const struct network *n)
{
	struct lender_counts counts;
	struct rusage usage;

	lender_counts(&n->lender, &counts);
	getrusage(RUSAGE_SELF, &usage);
	return (struct network_costs){ counts.allocations,
				       (unsigned long long)usage.ru_minflt };
}

/* One of the repetitions; costs go to *costs. */
static int
repeat_once(struct network *n, struct network_costs *costs)
{
	struct lend_network_call call = {
		.operands = n->data.operand, .output = n->result
	};
	struct network_costs before = costs_now(n), after;
	struct lend_error why = { "" };
	double begin = now_seconds();
	int error = lender_execute_network(&n->lender, n->network,
					   &n->threads.exec, &call, &why);

	if (error)
		return complain_execute(n, error, why.text);
	series_add(&n->series, now_seconds() - begin);
	after = costs_now(n);
	costs->allocations += after.allocations - before.allocations;
	costs->faults += after.faults - before.faults;
	return 0;
}

static int
repeat(struct network *n)
{
	const struct network_options *o = n->options;
	int status = 0;

	if (!o->quiet)
		progress_start("contracting", o->repeat > 1 ? o->repeat : 0);
	for (size_t i = 0; i < o->repeat && !status; i++) {
		status = repeat_once(n, i ? &n->later : &n->first);
		progress_step(1);
	}
	progress_stop();
	return status;
}

/* Where the result goes. */

static int
with_memory(struct network *n)
{
	int status;

	n->result = memory_map(n->result_bytes);
	if (!n->result)
		return complain("network: no memory for the result's %zu "
				"bytes", n->result_bytes);
	status = repeat(n);
	memory_unmap(n->result, n->result_bytes);
	return status;
}

static int
with_file(struct network *n, const struct npy_header *header)
{
	const char *path = n->options->output;
	struct message why;
	int status;

	if (!npy_create(&n->output, path, header, &why))
		return complain("%s: %s", path, why.text);
	n->result = n->output.data;
	status = repeat(n);
	if (status) {
		npy_discard(&n->output);
		return status;
	}
	if (!npy_commit(&n->output, &why))
		return complain("%s: %s", path, why.text);
	return 0;
}

static int
with_lender(struct network *n)
{
	struct npy_header header = { .type = n->type,
				     .rank = n->layout.rank };
	const struct network_options *o = n->options;
	struct message why;
	int error, status;

	if (header.rank)
		memcpy(header.extent, n->layout.extent,
		       header.rank * sizeof header.extent[0]);
	if (!npy_measure(&header, &n->result_bytes, &why))
		return complain("network: the result: %s", why.text);
	error = lender_create(&n->lender, o->lender, o->limit);
	if (error)
		return complain("network: an arena: %s", strerror(-error));
	status = o->output ? with_file(n, &header) : with_memory(n);
	if (!status)
		network_report(n);
	lender_destroy(&n->lender);
	series_destroy(&n->series);
	return status;
}

/* The network. */

int
network_make(const struct network *n, const struct instance_path *path,
	     lend_network **network, struct lend_error *why)
{
	struct lend_network_options options = {
		.size = sizeof options, .kernel = n->options->kernel
	};

	return lend_network_create(network, n->instance.einsum, n->type,
				   n->instance.count, n->instance.layout,
				   path ? path->pair : NULL,
				   path ? path->steps : 0, &options, why);
}

const char *
network_path_name(const struct instance_path *path)
{
	return path ? path->name : "greedy";
}

static int
with_threads(struct network *n)
{
	int status;

	n->info.size = sizeof n->info;
	if (lend_network_describe(n->network, &n->info) ||
	    lend_network_req(n->network, n->options->threads, &n->req,
			     &n->buffer_bytes) ||
	    lend_req_bytes(&n->req, &n->req_bytes))
		return complain("network: what it borrows overflows");
	lend_network_output(n->network, &n->layout);
	status = threads_start(&n->threads, n->options->threads);
	if (status)
		return status;
	status = with_lender(n);
	threads_stop(&n->threads);
	return status;
}

/* Operands are made when the network is known to be right. */
static int
with_network(struct network *n)
{
	struct lend_error error;
	struct message why;
	double begin = now_seconds();
	int status;

	if (network_make(n, n->path, &n->network, &error))
		return complain("%s: %s", n->options->file, error.text);
	n->create_seconds = now_seconds() - begin;
	if (!n->data.operand &&
	    !network_data_make(&n->data, &n->instance, n->type, &why))
		status = complain("network: %s", why.text);
	else
		status = with_threads(n);
	lend_network_destroy(n->network);
	return status;
}

static int
with_data(struct network *n)
{
	const struct network_options *o = n->options;
	struct message why;
	int status;

	n->data.kind = o->data;
	n->data.seed = o->seed;
	n->type = o->typed ? o->type : n->instance.type;
	if (o->files) {
		enum lend_type type;

		if (!network_data_read(&n->data, &n->instance, o->files,
				       &type, &why))
			return complain("%s", why.text);
		if (o->typed && type != o->type) {
			network_data_free(&n->data);
			return complain("network: --type: the files' elements "
					"are %s", type_name(type));
		}
		n->type = type;
	}
	status = with_network(n);
	network_data_free(&n->data);
	return status;
}

/* The path that was asked for, or the usual one. */
static int
choose_path(struct network *n)
{
	const char *name = n->options->path;

	n->path = instance_path(&n->instance, name ? name : "opt_flops");
	if (n->path || !name || !strcmp(name, "greedy"))
		return 0;
	return complain("%s: it has no path '%s'%s%s%s", n->options->file,
			name, n->instance.paths ? "; its first one is '" : "",
			n->instance.paths ? n->instance.path[0].name : "",
			n->instance.paths ? "'" : "");
}

int
network_run(const struct network_options *options)
{
	/* Large, and one at a time. */
	static struct network n;
	struct message why;
	int status;

	n.options = options;
	if (!instance_read(&n.instance, options->file, &why))
		return complain("%s: %s", options->file, why.text);
	status = choose_path(&n);
	if (!status)
		status = with_data(&n);
	instance_free(&n.instance);
	return status;
}
