/* SPDX-License-Identifier: MIT */
#include "support/einsum_case.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"

enum { A, B, C };

/* Elements around each tensor that nobody may touch. */
#define GUARD 32
/* All bits set: a NaN of every type. */
#define NAN_BYTE 0xff
#define GAP_BYTE 0xa5

/* ------------------------------------------------------------------------
 * The plan
 * --------------------------------------------------------------------- */

static struct lend_layout
given_layout(const struct random_einsum *einsum, int o)
{
	struct lend_layout layout = random_layout(einsum, o);

	if (einsum->tensor[o].plain)
		layout.stride = NULL;
	return layout;
}

static int
case_plan(lend_plan **plan, const struct random_einsum *einsum,
	  const struct lend_plan_options *options, struct lend_error *why)
{
	struct lend_layout a = given_layout(einsum, A);
	struct lend_layout b = given_layout(einsum, B);
	struct lend_layout c = given_layout(einsum, C);

	if (einsum->output == OUTPUT_STRIDES)
		c.extent = NULL;
	return lend_plan_create(plan, einsum->text, einsum->type, &a, &b,
				einsum->output == OUTPUT_NULL ? NULL : &c,
				options, why);
}

/* The output is where it was asked to be, with the extents of the inputs. */
static bool
output_matches(const struct einsum_case *c)
{
	struct lend_layout is, asked = random_layout(&c->einsum, C);

	lend_plan_output(c->plan, &is);
	if (is.rank != asked.rank)
		return false;
	for (size_t d = 0; d < is.rank; d++)
		if (is.extent[d] != asked.extent[d] ||
		    is.stride[d] != asked.stride[d])
			return false;
	return true;
}

/* ------------------------------------------------------------------------
 * Memory
 * --------------------------------------------------------------------- */

/* Makes room for the tensor; the odd offset spoils a nice alignment. */
static bool
memory_new(struct case_memory *memory, const struct lend_layout *layout,
	   size_t element, size_t odd)
{
	ptrdiff_t low = 0, high = 0;

	for (size_t d = 0; d < layout->rank; d++) {
		ptrdiff_t reach = (ptrdiff_t)layout->extent[d] - 1;

		if (reach < 0) {
			low = high = 0;
			break;
		}
		reach *= layout->stride[d];
		low += reach < 0 ? reach : 0;
		high += reach > 0 ? reach : 0;
	}
	memory->size = ((size_t)(high - low) + 1 + 2 * GUARD + odd) * element;
	memory->bytes = malloc(memory->size);
	memory->copy = malloc(memory->size);
	if (!memory->bytes || !memory->copy)
		return false;
	memory->start = memory->bytes +
			((size_t)-low + GUARD + odd) * element;
	return true;
}

static void
memory_free(struct case_memory *memory)
{
	free(memory->bytes);
	free(memory->copy);
}

static void
memory_keep(struct case_memory *memory)
{
	memcpy(memory->copy, memory->bytes, memory->size);
}

static void
write_number(enum lend_type type, void *start, ptrdiff_t at,
	     const double *number)
{
	switch (type) {
	case LEND_F32:
		((float *)start)[at] = (float)number[0];
		break;
	case LEND_F64:
		((double *)start)[at] = number[0];
		break;
	case LEND_CF32:
		((float *)start)[2 * at] = (float)number[0];
		((float *)start)[2 * at + 1] = (float)number[1];
		break;
	case LEND_CF64:
		memcpy((double *)start + 2 * at, number, 2 * sizeof(double));
		break;
	}
}

static double
some_number(uint64_t *random, bool exact)
{
	if (exact)
		return (double)random_below(random, 7) - 3;
	return (double)(int64_t)random_next(random) * 0x1p-63;
}

/* The next index of the layout, and how far it is; false: that was the last. */
static bool
next_index(const struct lend_layout *layout, size_t *index, ptrdiff_t *at)
{
	for (size_t d = layout->rank; d-- > 0;) {
		*at += layout->stride[d];
		if (++index[d] < layout->extent[d])
			return true;
		*at -= (ptrdiff_t)index[d] * layout->stride[d];
		index[d] = 0;
	}
	return false;
}

static bool
has_elements(const struct lend_layout *layout)
{
	for (size_t d = 0; d < layout->rank; d++)
		if (!layout->extent[d])
			return false;
	return true;
}

/* Numbers in all elements, or NaN. */
static void
fill_elements(struct case_memory *memory, const struct einsum_case *c, int o,
	      bool nan)
{
	uint64_t random = c->einsum.seed * 3 + (uint64_t)o;
	const struct lend_layout *layout = &c->layout[o];
	size_t index[NAIVE_RANK] = { 0 };
	double number[2] = { NAN, NAN };
	ptrdiff_t at = 0;

	if (!has_elements(layout))
		return;
	do {
		for (int i = 0; i < 2 && !nan; i++)
			number[i] = some_number(&random, c->einsum.exact);
		write_number(c->einsum.type, memory->start, at, number);
	} while (next_index(layout, index, &at));
}

static bool
is_zero(const double *number)
{
	return number[0] == 0 && number[1] == 0;
}

static bool
inputs_new(struct einsum_case *c)
{
	for (int o = A; o <= B; o++) {
		struct case_memory *memory = &c->input[o];

		if (!memory_new(memory, &c->layout[o], c->element,
				c->einsum.seed >> (3 * o) & 7))
			return false;
		memset(memory->bytes, NAN_BYTE, memory->size);
		fill_elements(memory, c, o, is_zero(c->einsum.alpha));
		memory_keep(memory);
	}
	return true;
}

bool
case_output_new(struct case_output *output, const struct einsum_case *c)
{
	if (memory_new(&output->memory, &c->layout[C], c->element,
		       c->einsum.seed >> 6 & 7))
		return true;
	memory_free(&output->memory);
	return false;
}

void
case_output_free(struct case_output *output)
{
	memory_free(&output->memory);
}

void
case_output_fill(struct case_output *output, const struct einsum_case *c)
{
	memset(output->memory.bytes, GAP_BYTE, output->memory.size);
	fill_elements(&output->memory, c, C, is_zero(c->einsum.beta));
	memory_keep(&output->memory);
}

/* ------------------------------------------------------------------------
 * What must come out
 * --------------------------------------------------------------------- */

static bool
expect(struct einsum_case *c)
{
	struct case_output output;
	struct naive_call call = {
		.type = c->einsum.type,
		.labels = c->einsum.labels,
		.layout = c->layout,
		.alpha = { c->einsum.alpha[0], c->einsum.alpha[1] },
		.beta = { c->einsum.beta[0], c->einsum.beta[1] },
	};

	if (!case_output_new(&output, c))
		return false;
	case_output_fill(&output, c);
	call.start[A] = c->input[A].start;
	call.start[B] = c->input[B].start;
	call.start[C] = output.memory.start;
	c->n = naive_elements(&call);
	c->terms = naive_terms(&call);
	c->expected = malloc((c->n + 1) * sizeof(*c->expected));
	if (c->expected)
		naive_einsum(&call, c->expected);
	case_output_free(&output);
	return c->expected;
}

static union case_number
factor_of(enum lend_type type, const double *number)
{
	union case_number factor = { .d = { number[0], number[1] } };

	if (type == LEND_F32 || type == LEND_CF32) {
		factor.f[0] = (float)number[0];
		factor.f[1] = (float)number[1];
	}
	return factor;
}

bool
case_open(struct einsum_case *c, const struct random_einsum *einsum,
	  const struct lend_plan_options *options, char *text)
{
	struct lend_error why = { "" };
	int error;

	memset(c, 0, sizeof(*c));
	c->einsum = *einsum;
	c->element = lend_type_bytes(einsum->type);
	for (int o = A; o <= C; o++)
		c->layout[o] = random_layout(&c->einsum, o);
	c->alpha = factor_of(einsum->type, einsum->alpha);
	c->beta = factor_of(einsum->type, einsum->beta);
	error = case_plan(&c->plan, &c->einsum, options, &why);
	if (error) {
		snprintf(text, CASE_TEXT, "no plan: %s: %s",
			 strerror(-error), why.text);
		return false;
	}
	if (output_matches(c) && inputs_new(c) && expect(c))
		return true;
	snprintf(text, CASE_TEXT, "another layout of C, or no memory");
	case_close(c);
	return false;
}

void
case_close(struct einsum_case *c)
{
	lend_plan_destroy(c->plan);
	memory_free(&c->input[A]);
	memory_free(&c->input[B]);
	free(c->expected);
}

struct lend_call
case_call(const struct einsum_case *c, const struct case_output *output)
{
	return (struct lend_call){
		.a = c->input[A].start,
		.b = c->input[B].start,
		.c = output->memory.start,
		.alpha = c->einsum.alpha_null ? NULL : &c->alpha,
		.beta = c->einsum.beta_null ? NULL : &c->beta,
	};
}

/* ------------------------------------------------------------------------
 * What did come out
 * --------------------------------------------------------------------- */

static void
read_number(enum lend_type type, const void *start, ptrdiff_t at,
	    double *number)
{
	bool complex = type == LEND_CF32 || type == LEND_CF64;

	for (int i = 0; i < 1 + complex; i++) {
		ptrdiff_t place = (1 + complex) * at + i;

		number[i] = type == LEND_F32 || type == LEND_CF32 ?
			    (double)((const float *)start)[place] :
			    ((const double *)start)[place];
	}
}

static long double
bound(const struct einsum_case *c, long double magnitude)
{
	bool single = c->einsum.type == LEND_F32 ||
		      c->einsum.type == LEND_CF32;

	if (c->einsum.exact)
		return 0;
	return CASE_FACTOR * (single ? FLT_EPSILON : DBL_EPSILON) *
	       ((long double)c->terms + 8) * magnitude;
}

/* So that a NaN is wrong as well. */
static bool
is_near(long double is, long double should, long double most)
{
	return fabsl(is - should) <= most;
}

bool
case_output_check(const struct case_output *output,
		  const struct einsum_case *c, char *text)
{
	const struct case_memory *memory = &output->memory;
	size_t start = (size_t)((unsigned char *)memory->start -
				memory->bytes);

	for (size_t i = 0; i < c->n; i++) {
		const struct naive_element *e = &c->expected[i];
		long double most = bound(c, e->magnitude);
		size_t at = start + (size_t)e->at * c->element;
		double is[2] = { 0, 0 };

		read_number(c->einsum.type, memory->start, e->at, is);
		if (!is_near(is[0], e->re, most) ||
		    !is_near(is[1], e->im, most)) {
			snprintf(text, CASE_TEXT, "element %zu of %zu is "
				 "%.17g%+.17gi, not %.17Lg%+.17Lgi +- %Lg",
				 i, c->n, is[0], is[1], e->re, e->im, most);
			return false;
		}
		/* What is left of the copy is not C's. */
		memcpy(memory->copy + at, memory->bytes + at, c->element);
	}
	if (case_output_untouched(output))
		return true;
	snprintf(text, CASE_TEXT, "written outside of C's elements");
	return false;
}

bool
case_output_untouched(const struct case_output *output)
{
	return memcmp(output->memory.bytes, output->memory.copy,
		      output->memory.size) == 0;
}

bool
case_inputs_untouched(const struct einsum_case *c)
{
	for (int o = A; o <= B; o++)
		if (memcmp(c->input[o].bytes, c->input[o].copy,
			   c->input[o].size) != 0)
			return false;
	return true;
}

struct writer {
	char *text;
	size_t left;
};

static void __attribute__((format(printf, 2, 3)))
put(struct writer *writer, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(writer->text, writer->left, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= writer->left)
		n = writer->left ? (int)writer->left - 1 : 0;
	writer->text += n;
	writer->left -= (size_t)n;
}

void
case_print(const struct random_einsum *einsum, char *text)
{
	static const char *const type[] = { "f32", "f64", "cf32", "cf64" };
	struct writer to = { text, CASE_TEXT };

	put(&to, "seed %llu, \"%s\", %s", (unsigned long long)einsum->seed,
	    einsum->text, type[einsum->type]);
	for (int o = A; o <= C; o++) {
		put(&to, ", %c%s", "ABC"[o],
		    einsum->tensor[o].plain ? " plain" : "");
		for (size_t d = 0; d < einsum->labels[o].n; d++)
			put(&to, " %zu:%td", einsum->tensor[o].extent[d],
			    einsum->tensor[o].stride[d]);
	}
	put(&to, ", output %d, alpha %g%+gi%s, beta %g%+gi%s",
	    (int)einsum->output, einsum->alpha[0], einsum->alpha[1],
	    einsum->alpha_null ? " (null)" : "", einsum->beta[0],
	    einsum->beta[1], einsum->beta_null ? " (null)" : "");
}
