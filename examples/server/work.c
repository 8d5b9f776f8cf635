/* SPDX-License-Identifier: MIT */
/*
 * Each function acquires one thing and lets the next one go on:
 *
 *   parts - operands - plan - result - execution
 */
#include "work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <lend/buffer.h>
#include <lend/network.h>

#include "plans.h"
#include "request.h"
#include "server.h"
#include "tools/args.h"
#include "warm.h"

struct job {
	struct request *request;
	struct plans_key key;
	/* In one borrowed buffer, with room for each part and one more. */
	struct lend_layout *layout;	/* of the operands */
	struct lend_network_pair *path;
	const void **data;
	struct part *accumulate;	/* or null */
	struct lend_layout output;
	double alpha[2], beta[2];
	struct plan *plan;
	int found;		/* it has been asked for before */
};

/* alpha or beta as the type holds it. */
union scalar {
	float single[2];
	double real[2];
};

static union scalar
scalar_of(enum lend_type type, const double number[2])
{
	union scalar scalar = { .real = { number[0], number[1] } };

	if (type_real_bytes(type) == 4) {
		scalar.single[0] = (float)number[0];
		scalar.single[1] = (float)number[1];
	}
	return scalar;
}

/* ------------------------------------------------------------------------
 * The result
 * ------------------------------------------------------------------------ */

static bool
refuse_execution(struct job *job, int error, const char *text)
{
	struct request *request = job->request;
	size_t loans = 0, buffers = 0;
	struct lend_req req;

	if (error == -EINVAL)
		return request_refuse(request, 500, "contraction: %s", text);
	/* What it says is only for people: a sum that is cut does no harm. */
	if (!lend_network_req(job->plan->network,
			      lend_exec_budget(&request->server->exec), &req,
			      &buffers) &&
	    lend_req_bytes(&req, &loans) == 0)
		buffers += loans;
	return request_refuse_memory(request, error, buffers, "contraction");
}

static bool
execute(struct job *job, void *output)
{
	struct request *request = job->request;
	struct server *server = request->server;
	union scalar alpha = scalar_of(job->key.type, job->alpha);
	union scalar beta = scalar_of(job->key.type, job->beta);
	const struct lend_network_call call = {
		.operands = job->data, .output = output, .alpha = &alpha,
		.beta = job->accumulate ? &beta : NULL,
	};
	struct lend_error why = { "" };
	int error;

	error = warm_execute(server, job->plan, job->found, &call, &why);
	if (error)
		return refuse_execution(job, error, why.text);
	request->data = output;
	request->status = 200;
	return true;
}

/* The result's header and storage: its own, or that which it is added to. */
static bool
with_result(struct job *job)
{
	struct request *request = job->request;
	struct npy_header header = { .type = job->key.type };
	struct lend_layout output;
	struct message why;
	int error;

	lend_network_output(job->plan->network, &output);
	header.rank = output.rank;
	header.fortran = job->accumulate && job->accumulate->header.fortran;
	if (output.rank > 0)
		memcpy(header.extent, output.extent,
		       output.rank * sizeof header.extent[0]);
	if (!npy_measure(&header, &request->data_size, &why))
		return request_refuse(request, 400, "result: %s", why.text);
	request->head_size = npy_format(&header, request->head);
	if (job->accumulate)
		return execute(job, job->accumulate->data);
	/* An empty result has an address as well. */
	error = bytes_reserve(&request->result, request->server->arena,
			      request->data_size + !request->data_size);
	if (error)
		return request_refuse_memory(request, error,
					     request->data_size, "result");
	return execute(job, request->result.start);
}

/* ------------------------------------------------------------------------
 * The plan
 * ------------------------------------------------------------------------ */

static bool
check_flops(const struct job *job)
{
	double most = job->request->server->options.max_flops;
	struct lend_network_info info = { .size = sizeof info };

	if (lend_network_describe(job->plan->network, &info))
		return request_refuse(job->request, 500, "no description");
	if (info.flops <= most)
		return true;
	return request_refuse(job->request, 400, "einsum: takes %g "
			      "operations, and %g are allowed", info.flops,
			      most);
}

static bool
with_plan(struct job *job)
{
	struct server *server = job->request->server;
	struct lend_error why = { "" };
	int error;
	bool good;

	error = plans_take(server->plans, &job->key, &job->plan, &job->found,
			   &why);
	if (error)
		return request_refuse(job->request,
				      error == -ENOMEM ? 503 : 400,
				      "%s", why.text);
	metrics_planned(&server->metrics, job->found);
	good = check_flops(job) && with_result(job);
	plans_return(server->plans, job->plan);
	return good;
}

/* ------------------------------------------------------------------------
 * The parts
 * ------------------------------------------------------------------------ */

static bool
read_scalar(struct job *job, const char *name, double number[2])
{
	const struct part *part = request_find(job->request, name);
	struct request *request = job->request;

	number[0] = 1;
	number[1] = 0;
	if (!part)
		return true;
	if (!complex_parse(number, (char *)part->body.start))
		return request_refuse(request, 400, "field '%s': not a number "
				      "as 1.5, 1.5,-2 or 1.5-2i", name);
	if (number[1] != 0 && !type_is_complex(job->key.type))
		return request_refuse(request, 400, "field '%s': it has an "
				      "imaginary part, and the arrays are "
				      "real", name);
	return true;
}

static bool
check_type(const struct job *job, const struct part *part, const char *first)
{
	if (part->header.type == job->key.type)
		return true;
	return request_refuse(job->request, 400, "array '%s': its elements "
			      "are %s, those of '%s' are %s", part->name,
			      type_name(part->header.type), first,
			      type_name(job->key.type));
}

static bool
take_operands(struct job *job)
{
	struct request *request = job->request;
	const char *first = NULL;

	for (size_t i = 0; i < request->count; i++) {
		struct part *part = request_part(request, i);

		if (!part_is_operand(part))
			continue;
		if (!first) {
			first = part->name;
			job->key.type = part->header.type;
		}
		if (!check_type(job, part, first))
			return false;
		job->data[job->key.count] = part->data;
		job->layout[job->key.count++] = (struct lend_layout){
			part->header.rank, part->header.extent, part->stride,
		};
	}
	if (!first)
		return request_refuse(request, 400, "there is no operand");
	return !job->accumulate || check_type(job, job->accumulate, first);
}

/*
 * Pairs of positions, as "0,1;0,1", or as Python prints a list of tuples.
 * Whether they are a path the library knows.
 */
static bool
read_path(struct job *job)
{
	static const char between[] = " ,;()[]\n\r\t";
	struct request *request = job->request;
	const struct part *part = request_find(request, "path");
	char *p = part ? (char *)part->body.start : NULL;
	size_t n = 0;

	if (!part)
		return true;
	for (p += strspn(p, between); *p; p += strspn(p, between)) {
		struct lend_network_pair *pair = &job->path[n / 2];

		if (*p < '0' || *p > '9')
			return request_refuse(request, 400, "field 'path': no "
					      "position at byte %td",
					      p - (char *)part->body.start);
		if (n / 2 == request->count)
			return request_refuse(request, 400, "field 'path': "
					      "more steps than operands");
		*(n % 2 ? &pair->second : &pair->first) = strtoul(p, &p, 10);
		n++;
	}
	if (n % 2)
		return request_refuse(request, 400, "field 'path': %zu "
				      "positions are no pairs", n);
	job->key.path = job->path;
	job->key.steps = n / 2;
	return true;
}

/* The rest of what the plan is made from. */
static bool
take_fields(struct job *job)
{
	struct request *request = job->request;
	const struct part *einsum = request_find(request, "einsum");

	if (!einsum)
		return request_refuse(request, 400, "field 'einsum' is "
				      "missing");
	job->key.einsum = (char *)einsum->body.start;
	if (job->accumulate) {
		const struct npy_header *header = &job->accumulate->header;

		job->output = (struct lend_layout){
			header->rank, header->extent, job->accumulate->stride,
		};
		job->key.output = &job->output;
	} else if (request_find(request, "beta")) {
		return request_refuse(request, 400, "field 'beta': there is "
				      "no array 'accumulate' to multiply by "
				      "it");
	}
	return read_path(job) && read_scalar(job, "alpha", job->alpha) &&
	       read_scalar(job, "beta", job->beta);
}

static void
with_lists(struct job *job, void *lists)
{
	size_t room = job->request->count + 1;

	job->layout = lists;
	job->path = (void *)(job->layout + room);
	job->data = (void *)(job->path + room);
	job->key.operands = job->layout;
	job->accumulate = request_find(job->request, "accumulate");
	if (take_operands(job) && take_fields(job) && with_plan(job))
		request_release_inputs(job->request);
}

void
work(struct request *request)
{
	struct server *server = request->server;
	struct job job = { .request = request };
	size_t each = sizeof *job.layout + sizeof *job.path + sizeof *job.data;
	size_t bytes = (request->count + 1) * each;
	double began = metrics_now();
	void *lists;
	int error;

	error = lend_buffer_borrow(server->arena, bytes, &lists);
	if (error) {
		request_refuse_memory(request, error, bytes,
				      "the list of operands");
		return;
	}
	with_lists(&job, lists);
	lend_buffer_return(lists);
	if (request->status == 200)
		metrics_contracted(&server->metrics, metrics_now() - began);
}
