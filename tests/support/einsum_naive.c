/* SPDX-License-Identifier: MIT */
#include "support/einsum_naive.h"

#include <math.h>
#include <string.h>

enum { A, B, C };

/* The labels of all operands, those of the output first. */
struct space {
	size_t n, n_out;
	uint32_t point[2 * NAIVE_RANK];
	size_t extent[2 * NAIVE_RANK];
	/* By how much an operand moves with the label. */
	ptrdiff_t step[NAIVE_OPERANDS][2 * NAIVE_RANK];
};

struct number {
	long double re, im;
};

/* ------------------------------------------------------------------------
 * The text
 * --------------------------------------------------------------------- */

/* The code point at *text, which goes on to the next. */
static uint32_t
next_point(const char **text)
{
	const unsigned char *p = (const unsigned char *)*text;
	uint32_t point = *p++;
	int more = point >= 0xf0 ? 3 : point >= 0xe0 ? 2 : point >= 0xc0;

	if (more)
		point &= 0x3fu >> more;
	while (more-- > 0)
		point = point << 6 | (*p++ & 0x3fu);
	*text = (const char *)p;
	return point;
}

/* Reads labels up to a character that is none. */
static bool
parse_labels(const char **text, struct naive_labels *labels)
{
	labels->n = 0;
	while (**text && !strchr(",-", **text)) {
		uint32_t point = next_point(text);

		if (point == ' ')
			continue;
		if (labels->n == NAIVE_RANK)
			return false;
		labels->point[labels->n++] = point;
	}
	return true;
}

static size_t
count(const struct naive_labels *labels, uint32_t point)
{
	size_t n = 0;

	for (size_t i = 0; i < labels->n; i++)
		n += labels->point[i] == point;
	return n;
}

/* Puts it where it belongs by its code point. */
static bool
insert(struct naive_labels *labels, uint32_t point)
{
	size_t i = labels->n;

	if (labels->n++ == NAIVE_RANK)
		return false;
	for (; i > 0 && labels->point[i - 1] > point; i--)
		labels->point[i] = labels->point[i - 1];
	labels->point[i] = point;
	return true;
}

/* The output that a text without an arrow has. */
static bool
imply(struct naive_labels *labels)
{
	labels[C].n = 0;
	for (int o = A; o <= B; o++) {
		for (size_t i = 0; i < labels[o].n; i++) {
			uint32_t point = labels[o].point[i];

			if (count(&labels[A], point) +
			    count(&labels[B], point) > 1)
				continue;
			if (!insert(&labels[C], point))
				return false;
		}
	}
	return true;
}

bool
naive_parse(const char *text, struct naive_labels *labels)
{
	if (!parse_labels(&text, &labels[A]) || *text++ != ',')
		return false;
	if (!parse_labels(&text, &labels[B]))
		return false;
	if (!*text)
		return imply(labels);
	text += strlen("->");
	return parse_labels(&text, &labels[C]);
}

/* ------------------------------------------------------------------------
 * The sums
 * --------------------------------------------------------------------- */

static void
add_operand(struct space *space, const struct naive_call *call, int o)
{
	const struct lend_layout *layout = &call->layout[o];

	for (size_t d = 0; d < layout->rank; d++) {
		size_t i = 0;

		while (i < space->n &&
		       space->point[i] != call->labels[o].point[d])
			i++;
		if (i == space->n)
			space->point[space->n++] = call->labels[o].point[d];
		space->extent[i] = layout->extent[d];
		space->step[o][i] += layout->stride[d];
	}
}

static struct space
space_of(const struct naive_call *call)
{
	struct space space = { 0 };

	add_operand(&space, call, C);
	space.n_out = space.n;
	add_operand(&space, call, A);
	add_operand(&space, call, B);
	return space;
}

static size_t
product(const struct space *space, size_t begin, size_t end)
{
	size_t n = 1;

	for (size_t i = begin; i < end; i++)
		n *= space->extent[i];
	return n;
}

size_t
naive_elements(const struct naive_call *call)
{
	struct space space = space_of(call);

	return product(&space, 0, space.n_out);
}

size_t
naive_terms(const struct naive_call *call)
{
	struct space space = space_of(call);

	return product(&space, space.n_out, space.n);
}

/* Where the index-th place of the labels begin..end lies in the operand. */
static ptrdiff_t
offset(const struct space *space, int o, size_t begin, size_t end,
       size_t index)
{
	ptrdiff_t at = 0;

	for (size_t i = end; i-- > begin;) {
		at += (ptrdiff_t)(index % space->extent[i]) *
		      space->step[o][i];
		index /= space->extent[i];
	}
	return at;
}

static struct number
element(enum lend_type type, const void *start, ptrdiff_t at)
{
	struct number x = { 0, 0 };

	switch (type) {
	case LEND_F32:
		x.re = ((const float *)start)[at];
		break;
	case LEND_F64:
		x.re = ((const double *)start)[at];
		break;
	case LEND_CF32:
		x.re = ((const float *)start)[2 * at];
		x.im = ((const float *)start)[2 * at + 1];
		break;
	case LEND_CF64:
		x.re = ((const double *)start)[2 * at];
		x.im = ((const double *)start)[2 * at + 1];
		break;
	}
	return x;
}

static long double
size_of(struct number x)
{
	return x.im == 0 ? fabsl(x.re) : sqrtl(x.re * x.re + x.im * x.im);
}

/* out += factor * x */
static void
add_scaled(struct naive_element *out, struct number factor, struct number x,
	   long double magnitude)
{
	out->re += factor.re * x.re - factor.im * x.im;
	out->im += factor.re * x.im + factor.im * x.re;
	out->magnitude += size_of(factor) * magnitude;
}

static bool
is_zero(const double *x)
{
	return x[0] == 0 && x[1] == 0;
}

/* Adds up all products along the last label. */
static void
sum_line(const struct space *space, const struct naive_call *call,
	 ptrdiff_t a, ptrdiff_t b, struct naive_element *sum)
{
	size_t last = space->n - 1;

	for (size_t i = 0; i < space->extent[last]; i++) {
		struct number x = element(call->type, call->start[A], a);
		struct number y = element(call->type, call->start[B], b);

		sum->re += x.re * y.re - x.im * y.im;
		sum->im += x.re * y.im + x.im * y.re;
		sum->magnitude += size_of(x) * size_of(y);
		a += space->step[A][last];
		b += space->step[B][last];
	}
}

/* The sum of products for one element of the output. */
static struct naive_element
sum_at(const struct space *space, const struct naive_call *call,
       size_t index)
{
	ptrdiff_t a = offset(space, A, 0, space->n_out, index);
	ptrdiff_t b = offset(space, B, 0, space->n_out, index);
	/* The last summed label has a loop of its own. */
	size_t end = space->n > space->n_out ? space->n - 1 : space->n;
	size_t lines = product(space, space->n_out, end);
	struct space one = { .n = 1, .extent = { 1 } };
	struct naive_element sum = { 0 };

	for (size_t i = 0; i < lines; i++) {
		sum_line(end < space->n ? space : &one, call,
			 a + offset(space, A, space->n_out, end, i),
			 b + offset(space, B, space->n_out, end, i), &sum);
	}
	return sum;
}

void
naive_einsum(const struct naive_call *call, struct naive_element *out)
{
	struct space space = space_of(call);
	size_t n = product(&space, 0, space.n_out);
	struct number alpha = { call->alpha[0], call->alpha[1] };
	struct number beta = { call->beta[0], call->beta[1] };

	for (size_t i = 0; i < n; i++) {
		out[i] = (struct naive_element){ 0 };
		out[i].at = offset(&space, C, 0, space.n_out, i);
		if (!is_zero(call->alpha)) {
			struct naive_element sum = sum_at(&space, call, i);

			add_scaled(&out[i], alpha,
				   (struct number){ sum.re, sum.im },
				   sum.magnitude);
		}
		if (!is_zero(call->beta)) {
			struct number was = element(call->type,
						    call->start[C],
						    out[i].at);

			add_scaled(&out[i], beta, was, size_of(was));
		}
	}
}
