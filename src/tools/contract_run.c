/* SPDX-License-Identifier: MIT */
/*
 * Each function acquires one thing, lets the next one go on, and releases it:
 *
 *   inputs - plan - threads - lender - output - repetitions - verify - name
 */
#include "tools/contract.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "tools/memory.h"
#include "tools/message.h"
#include "tools/progress.h"

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

/* What the type made of it, for the naive contraction. */
static void
scalar_read(enum lend_type type, const union scalar *scalar,
	    double number[2])
{
	bool single = type_real_bytes(type) == 4;

	number[0] = single ? scalar->single[0] : scalar->real[0];
	number[1] = 0;
	if (type_is_complex(type))
		number[1] = single ? scalar->single[1] : scalar->real[1];
}

/* C0 into C, which is row-major, in whatever order C0 lies. */
static void
copy_accumulated(const struct contract *c)
{
	const struct lend_layout *from = &c->c0_layout;
	size_t bytes = lend_type_bytes(c->type);
	size_t index[LEND_MAX_RANK] = { 0 };
	const char *source = c->c0.data;
	char *target = c->c;

	if (!c->c0.header.fortran) {
		memcpy(target, source, c->c_bytes);
		return;
	}
	for (size_t i = 0; i < c->c0.header.count; i++) {
		memcpy(target, source, bytes);
		target += bytes;
		for (size_t d = from->rank; d-- > 0;) {
			ptrdiff_t step = from->stride[d] * (ptrdiff_t)bytes;

			source += step;
			if (++index[d] < from->extent[d])
				break;
			index[d] = 0;
			source -= step * (ptrdiff_t)from->extent[d];
		}
	}
}

static int
complain_execute(const struct contract *c, int error, const char *text)
{
	if (error == -EDQUOT)
		return complain("contract: the limit of %zu bytes is reached; "
				"the team borrows %zu", c->options->limit,
				c->description.req_bytes);
	if (error == -ENOMEM)
		return complain("contract: no memory to lend; the team "
				"borrows %zu bytes",
				c->description.req_bytes);
	return complain("contract: %s", text);
}

static struct contract_costs
costs_now(const struct contract *c)
{
	struct lender_counts counts;
	struct rusage usage;

	lender_counts(&c->lender, &counts);
	getrusage(RUSAGE_SELF, &usage);
	return (struct contract_costs){ counts.allocations,
					(unsigned long long)usage.ru_minflt };
}

/* One of the repetitions; costs go to *costs. */
static int
repeat_once(struct contract *c, const struct lend_call *call,
	    struct contract_costs *costs)
{
	struct contract_costs before, after;
	struct lend_error why = { "" };
	double begin;
	int error;

	if (call->beta)
		copy_accumulated(c);
	before = costs_now(c);
	begin = now_seconds();
	error = lender_execute(&c->lender, c->plan, &c->threads.exec, call,
			       &why);
	if (error)
		return complain_execute(c, error, why.text);
	series_add(&c->series, now_seconds() - begin);
	after = costs_now(c);
	costs->allocations += after.allocations - before.allocations;
	costs->faults += after.faults - before.faults;
	return 0;
}

static int
repeat(struct contract *c)
{
	const struct contract_options *o = c->options;
	union scalar alpha = scalar_of(c->type, o->alpha);
	union scalar beta = scalar_of(c->type, o->beta);
	struct lend_call call = {
		.a = c->a.data, .b = c->b.data, .c = c->c, .alpha = &alpha,
		.beta = o->accumulate ? &beta : NULL, .pm = o->pm, .pn = o->pn,
	};
	int status = 0;

	if (!o->quiet)
		progress_start("contracting", o->repeat > 1 ? o->repeat : 0);
	for (size_t i = 0; i < o->repeat && !status; i++) {
		status = repeat_once(c, &call, i ? &c->later : &c->first);
		progress_step(1);
	}
	progress_stop();
	scalar_read(c->type, &alpha, c->naive.alpha);
	scalar_read(c->type, &beta, c->naive.beta);
	return status;
}

static int
verify(struct contract *c)
{
	const struct contract_options *o = c->options;
	double alpha[2] = { c->naive.alpha[0], c->naive.alpha[1] };
	double beta[2] = { c->naive.beta[0], c->naive.beta[1] };
	struct message why;

	if (!naive_prepare(&c->naive, o->einsum, c->type, &c->a_layout,
			   &c->b_layout, &c->description.c,
			   o->accumulate ? &c->c0_layout : NULL, &why))
		return complain("%s", why.text);
	memcpy(c->naive.alpha, alpha, sizeof alpha);
	memcpy(c->naive.beta, beta, sizeof beta);
	c->naive.a = c->a.data;
	c->naive.b = c->b.data;
	c->naive.c0 = o->accumulate ? c->c0.data : NULL;
	if (!o->quiet)
		progress_start("verifying", c->naive.elements);
	naive_verify(&c->naive, c->c, &c->threads.exec, &c->verdict);
	progress_stop();
	return c->verdict.wrong ? contract_report_mismatch(c) : 0;
}

/* Whether what was read is what was there all the time. */
static int
check_inputs(const struct contract *c)
{
	const struct contract_options *o = c->options;
	struct message why;

	if (!npy_unchanged(&c->a, &why))
		return complain("%s: %s", o->path[0], why.text);
	if (!npy_unchanged(&c->b, &why))
		return complain("%s: %s", o->path[1], why.text);
	if (o->accumulate && !npy_unchanged(&c->c0, &why))
		return complain("%s: %s", o->accumulate, why.text);
	return 0;
}

static int
work(struct contract *c)
{
	int status = repeat(c);

	if (!status && c->options->verify)
		status = verify(c);
	if (!status)
		status = check_inputs(c);
	return status;
}

static int
with_memory(struct contract *c)
{
	int status;

	c->c = memory_map(c->c_bytes);
	if (!c->c)
		return complain("contract: no memory for the result's %zu "
				"bytes", c->c_bytes);
	status = work(c);
	memory_unmap(c->c, c->c_bytes);
	return status;
}

static int
with_file(struct contract *c, const struct npy_header *header)
{
	const char *path = c->options->output;
	struct message why;
	int status;

	if (!npy_create(&c->output, path, header, &why))
		return complain("%s: %s", path, why.text);
	c->c = c->output.data;
	status = work(c);
	if (status) {
		npy_discard(&c->output);
		return status;
	}
	if (!npy_commit(&c->output, &why))
		return complain("%s: %s", path, why.text);
	return 0;
}

static int
with_lender(struct contract *c)
{
	struct npy_header header = { .type = c->type,
				     .rank = c->description.c.rank };
	const struct contract_options *o = c->options;
	struct message why;
	int error, status;

	memcpy(header.extent, c->description.c.extent,
	       header.rank * sizeof header.extent[0]);
	if (!npy_measure(&header, &c->c_bytes, &why))
		return complain("contract: the result: %s", why.text);
	error = lender_create(&c->lender, o->lender, o->limit);
	if (error)
		return complain("contract: an arena: %s", strerror(-error));
	status = o->output ? with_file(c, &header) : with_memory(c);
	if (!status)
		contract_report(c);
	lender_destroy(&c->lender);
	series_destroy(&c->series);
	return status;
}

static int
with_plan(struct contract *c)
{
	const struct contract_options *o = c->options;
	struct message why;
	int status;

	if (!describe(&c->description, o->einsum, c->plan, &c->a_layout,
		      &c->b_layout, o->threads, o->pm, o->pn, &why))
		return complain("contract: %s", why.text);
	if (o->accumulate &&
	    (c->c0_layout.rank != c->description.c.rank ||
	     memcmp(c->c0_layout.extent, c->description.c.extent,
		    c->c0_layout.rank * sizeof(size_t))))
		return complain("%s: its shape is not the result's",
				o->accumulate);
	status = threads_start(&c->threads, o->threads);
	if (status)
		return status;
	status = with_lender(c);
	threads_stop(&c->threads);
	return status;
}

static int
plan(struct contract *c)
{
	const struct contract_options *o = c->options;
	struct lend_plan_options plan_options = { .size = sizeof plan_options,
						  .kernel = o->kernel };
	struct lend_error error;
	int status;

	if (!type_is_complex(c->type) && (o->alpha[1] != 0 || o->beta[1] != 0))
		return complain("contract: %s has an imaginary part, and the "
				"tensors are real",
				o->alpha[1] != 0 ? "alpha" : "beta");
	if (lend_plan_create(&c->plan, o->einsum, c->type, &c->a_layout,
			     &c->b_layout, NULL, &plan_options, &error))
		return complain("%s: %s", o->einsum, error.text);
	status = with_plan(c);
	lend_plan_destroy(c->plan);
	return status;
}

/* Opens `path`, whose type must be that of the first one, and goes on. */
static int
with_input(struct contract *c, const char *path, struct npy_input *input,
	   ptrdiff_t *stride, struct lend_layout *layout,
	   int (*next)(struct contract *c))
{
	struct message why;
	int status;

	if (!npy_open(input, path, &why))
		return complain("%s: %s", path, why.text);
	npy_layout(&input->header, stride, layout);
	if (input == &c->a)
		c->type = input->header.type;
	if (input->header.type == c->type)
		status = next(c);
	else
		status = complain("%s: its elements are %s, those of %s are "
				  "%s", path, type_name(input->header.type),
				  c->options->path[0], type_name(c->type));
	npy_close(input);
	return status;
}

static int
with_c0(struct contract *c)
{
	if (!c->options->accumulate)
		return plan(c);
	return with_input(c, c->options->accumulate, &c->c0, c->c0_stride,
			  &c->c0_layout, plan);
}

static int
with_b(struct contract *c)
{
	return with_input(c, c->options->path[1], &c->b, c->b_stride,
			  &c->b_layout, with_c0);
}

int
contract_run(const struct contract_options *options)
{
	/* Large, and one at a time. */
	static struct contract c;

	c.options = options;
	return with_input(&c, options->path[0], &c.a, c.a_stride, &c.a_layout,
			  with_b);
}
