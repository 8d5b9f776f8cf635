/* SPDX-License-Identifier: MIT */
#include "tools/naive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which operand a label was read for. */
enum operand { A, B, C };

/* The next code point of what the library has accepted as UTF-8. */
static unsigned
next_code(const char **text)
{
	const unsigned char *p = (const unsigned char *)*text;
	unsigned code = *p++;
	int more = code >= 0xf0 ? 3 : code >= 0xe0 ? 2 : code >= 0xc0 ? 1 : 0;

	if (more)
		code &= 0x3fu >> more;
	for (; more > 0 && *p; more--)
		code = code << 6 | (*p++ & 0x3fu);
	*text = (const char *)p;
	return code;
}

static struct naive_label *
find(struct naive *naive, unsigned code)
{
	for (size_t i = 0; i < naive->labels; i++)
		if (naive->label[i].code == code)
			return &naive->label[i];
	return NULL;
}

static struct naive_label *
find_or_add(struct naive *naive, unsigned code)
{
	struct naive_label *label = find(naive, code);

	if (label || naive->labels == NAIVE_LABELS)
		return label;
	label = &naive->label[naive->labels++];
	memset(label, 0, sizeof *label);
	label->code = code;
	return label;
}

/* The stride of dimension d; without strides the layout is row-major. */
static ptrdiff_t
stride_of(const struct lend_layout *layout, size_t d)
{
	size_t stride = 1;

	if (layout->stride)
		return layout->stride[d];
	for (size_t i = d + 1; i < layout->rank; i++)
		stride *= layout->extent[i];
	return (ptrdiff_t)stride;
}

/* Reads one operand's labels up to a character of `ends`. */
static bool
read_operand(struct naive *naive, const char **text, const char *ends,
	     enum operand operand, const struct lend_layout *layout)
{
	size_t d = 0;

	while (**text && !strchr(ends, **text)) {
		struct naive_label *label;

		if (**text == ' ') {
			++*text;
			continue;
		}
		label = find_or_add(naive, next_code(text));
		if (!label || d == layout->rank)
			return false;
		label->extent = layout->extent[d];
		/* A label that stands twice walks along the diagonal. */
		if (operand == A)
			label->a += stride_of(layout, d);
		else
			label->b += stride_of(layout, d);
		d++;
	}
	return d == layout->rank;
}

/* Of an operand's part of the einsum. */
static size_t
times(const char *from, const char *to, unsigned code)
{
	size_t n = 0;

	while (from < to)
		n += next_code(&from) == code;
	return n;
}

static int
by_code(const void *a, const void *b)
{
	const struct naive_label *x = a, *y = b;

	return (x->code > y->code) - (x->code < y->code);
}

/* Puts label number `from` at the output's end. */
static void
move_to_output(struct naive *naive, size_t from)
{
	struct naive_label label = naive->label[from];

	naive->label[from] = naive->label[naive->outputs];
	naive->label[naive->outputs++] = label;
}

static bool
read_output(struct naive *naive, const char *text)
{
	while (*text) {
		struct naive_label *label;

		if (*text == ' ') {
			text++;
			continue;
		}
		label = find(naive, next_code(&text));
		if (!label || label < naive->label + naive->outputs)
			return false;
		move_to_output(naive, (size_t)(label - naive->label));
	}
	return true;
}

/* Without an output: what stands once, in order. */
static void
imply_output(struct naive *naive, const char *einsum)
{
	const char *end = einsum + strlen(einsum);

	qsort(naive->label, naive->labels, sizeof naive->label[0], by_code);
	for (size_t i = 0; i < naive->labels; i++)
		if (times(einsum, end, naive->label[i].code) == 1)
			move_to_output(naive, i);
}

static bool
read_einsum(struct naive *naive, const char *einsum,
	    const struct lend_layout *a, const struct lend_layout *b)
{
	const char *text = einsum;

	if (!read_operand(naive, &text, ",", A, a) || *text++ != ',' ||
	    !read_operand(naive, &text, "-", B, b))
		return false;
	if (!*text) {
		imply_output(naive, einsum);
		return true;
	}
	return text[1] == '>' && read_output(naive, text + 2);
}

bool
naive_prepare(struct naive *naive, const char *einsum, enum lend_type type,
	      const struct lend_layout *a, const struct lend_layout *b,
	      const struct lend_layout *c, const struct lend_layout *c0,
	      struct message *why)
{
	memset(naive, 0, sizeof *naive);
	naive->type = type;
	naive->alpha[0] = 1;
	naive->elements = naive->terms = 1;
	if (!read_einsum(naive, einsum, a, b) || naive->outputs != c->rank ||
	    (c0 && c0->rank != c->rank))
		return refuse(why, "verify: '%s' reads otherwise than it was "
			      "executed", einsum);
	for (size_t i = 0; i < naive->labels; i++) {
		struct naive_label *label = &naive->label[i];

		if (i >= naive->outputs) {
			naive->terms *= label->extent;
			continue;
		}
		naive->elements *= label->extent;
		label->c = stride_of(c, i);
		if (c0)
			label->c0 = stride_of(c0, i);
	}
	return true;
}

static void
load(enum lend_type type, const void *array, ptrdiff_t i,
     long double value[2])
{
	value[1] = 0;
	switch (type) {
	case LEND_F32:
		value[0] = ((const float *)array)[i];
		break;
	case LEND_F64:
		value[0] = ((const double *)array)[i];
		break;
	case LEND_CF32:
		value[0] = ((const float *)array)[2 * i];
		value[1] = ((const float *)array)[2 * i + 1];
		break;
	case LEND_CF64:
		value[0] = ((const double *)array)[2 * i];
		value[1] = ((const double *)array)[2 * i + 1];
		break;
	}
}

static long double
size_of(const long double x[2])
{
	return (x[0] < 0 ? -x[0] : x[0]) + (x[1] < 0 ? -x[1] : x[1]);
}

/* sum += x * y, by the formula alone: infinities are not followed up. */
static void
add_product(struct naive_element *sum, const long double x[2],
	    const long double y[2])
{
	sum->value[0] += x[0] * y[0] - x[1] * y[1];
	sum->value[1] += x[0] * y[1] + x[1] * y[0];
	sum->magnitude += size_of(x) * size_of(y);
}

/* The sum over what is no output label, at these offsets of A and B. */
static struct naive_element
sum_up(const struct naive *naive, ptrdiff_t a, ptrdiff_t b)
{
	struct naive_element sum = { { 0, 0 }, 0 };
	size_t index[NAIVE_LABELS] = { 0 };
	long double x[2], y[2];

	for (size_t term = 0; term < naive->terms; term++) {
		load(naive->type, naive->a, a, x);
		load(naive->type, naive->b, b, y);
		add_product(&sum, x, y);
		for (size_t i = naive->labels; i-- > naive->outputs;) {
			const struct naive_label *label = &naive->label[i];

			a += label->a;
			b += label->b;
			if (++index[i] < label->extent)
				break;
			index[i] = 0;
			a -= label->a * (ptrdiff_t)label->extent;
			b -= label->b * (ptrdiff_t)label->extent;
		}
	}
	return sum;
}

struct naive_element
naive_element(const struct naive *naive, size_t i, ptrdiff_t *offset)
{
	long double alpha[2] = { naive->alpha[0], naive->alpha[1] };
	long double beta[2] = { naive->beta[0], naive->beta[1] };
	struct naive_element result = { { 0, 0 }, 0 }, sum;
	ptrdiff_t a = 0, b = 0, c0 = 0;
	long double x[2];

	*offset = 0;
	for (size_t d = naive->outputs; d-- > 0;) {
		const struct naive_label *label = &naive->label[d];
		ptrdiff_t index = (ptrdiff_t)(i % label->extent);

		i /= label->extent;
		a += index * label->a;
		b += index * label->b;
		c0 += index * label->c0;
		*offset += index * label->c;
	}
	if (alpha[0] != 0 || alpha[1] != 0) {
		sum = sum_up(naive, a, b);
		add_product(&result, alpha, sum.value);
		result.magnitude = size_of(alpha) * sum.magnitude;
	}
	if (naive->c0 && (beta[0] != 0 || beta[1] != 0)) {
		load(naive->type, naive->c0, c0, x);
		add_product(&result, beta, x);
	}
	return result;
}

void
naive_place(const struct naive *naive, size_t i, char *text, size_t size)
{
	size_t index[NAIVE_LABELS], length = 0;

	for (size_t d = naive->outputs; d-- > 0;) {
		index[d] = i % naive->label[d].extent;
		i /= naive->label[d].extent;
	}
	snprintf(text, size, "[");
	for (size_t d = 0; d < naive->outputs && length < size; d++) {
		length = strlen(text);
		snprintf(text + length, size - length, "%s%zu", d ? ", " : "",
			 index[d]);
	}
	length = strlen(text);
	snprintf(text + length, size - length, "]");
}
