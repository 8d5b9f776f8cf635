/* SPDX-License-Identifier: MIT */
#include "support/network_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"

struct number {
	double re, im;
};

static bool
is_complex(enum lend_type type)
{
	return type == LEND_CF32 || type == LEND_CF64;
}

static bool
is_single(enum lend_type type)
{
	return type == LEND_F32 || type == LEND_CF32;
}

static struct number
get(enum lend_type type, const char *at)
{
	struct number x = { 0, 0 };

	if (is_single(type)) {
		x.re = ((const float *)at)[0];
		x.im = is_complex(type) ? ((const float *)at)[1] : 0;
	} else {
		x.re = ((const double *)at)[0];
		x.im = is_complex(type) ? ((const double *)at)[1] : 0;
	}
	return x;
}

static void
put(enum lend_type type, char *at, struct number x)
{
	if (is_single(type)) {
		((float *)at)[0] = (float)x.re;
		if (is_complex(type))
			((float *)at)[1] = (float)x.im;
	} else {
		((double *)at)[0] = x.re;
		if (is_complex(type))
			((double *)at)[1] = x.im;
	}
}

static struct number
times(struct number x, struct number y)
{
	return (struct number){ x.re * y.re - x.im * y.im,
				x.re * y.im + x.im * y.re };
}

/* ------------------------------------------------------------------------
 * Layouts
 * --------------------------------------------------------------------- */

static void
plain_strides(struct network_tensor *t)
{
	ptrdiff_t stride = 1;

	for (size_t i = t->rank; i-- > 0;) {
		t->stride[i] = stride;
		stride *= (ptrdiff_t)(t->extent[i] ? t->extent[i] : 1);
	}
}

/* Dimensions in some order of memory, with gaps, some of them backwards. */
static void
wild_strides(struct network_tensor *t, bool input, uint64_t *state)
{
	ptrdiff_t stride = 1 + random_below(state, 2);
	size_t order[NETWORK_LABELS];

	for (size_t i = 0; i < t->rank; i++) {
		size_t at = random_below(state, (unsigned)i + 1);

		order[i] = order[at];
		order[at] = i;
	}
	for (size_t i = 0; i < t->rank; i++) {
		size_t d = order[i];

		t->stride[d] = random_below(state, 4) ? stride : -stride;
		stride *= (ptrdiff_t)(t->extent[d] ? t->extent[d] : 1);
		stride += random_below(state, 3) == 0;
		if (input && random_below(state, 10) == 0)
			t->stride[d] = 0;
	}
}

/* Memory for all elements, with a few before and after. */
static bool
new_memory(struct network_tensor *t, size_t element)
{
	ptrdiff_t low = 0, high = 0;
	size_t guard = 8;

	for (size_t i = 0; i < t->rank; i++) {
		ptrdiff_t last = t->extent[i] ?
			(ptrdiff_t)(t->extent[i] - 1) * t->stride[i] : 0;

		*(last < 0 ? &low : &high) += last;
	}
	t->bytes = ((size_t)(high - low) + 1 + 2 * guard) * element;
	t->memory = malloc(t->bytes);
	if (t->memory)
		t->start = t->memory +
			   (guard + (size_t)-low) * element;
	return t->memory;
}

/* All of it, gaps as well: small integers. */
static void
fill(struct network_tensor *t, enum lend_type type, uint64_t *state)
{
	size_t element = lend_type_bytes(type);

	for (size_t at = 0; at < t->bytes; at += element)
		put(type, t->memory + at, (struct number){
			(double)random_below(state, 3) - 1,
			is_complex(type) ?
				(double)random_below(state, 3) - 1 : 0 });
}

/* ------------------------------------------------------------------------
 * One at random
 * --------------------------------------------------------------------- */

static void
make_operands(struct network_case *c, uint64_t *state)
{
	/* A label that many have, as a batch of small products. */
	bool batch = random_below(state, 3) == 0;
	unsigned labels = 1 + random_below(state, batch ? NETWORK_LABELS / 2 :
						  NETWORK_LABELS);

	for (unsigned i = 0; i < labels; i++)
		c->extent[i] = random_below(state, 60) == 0 ? 0 :
			       1 + random_below(state, 3);
	if (batch)
		c->extent[0] = 16 + random_below(state, 12);
	for (size_t i = 0; i < c->count; i++) {
		struct network_tensor *t = &c->operand[i];

		t->rank = random_below(state, NETWORK_RANK);
		for (size_t d = 0; d < t->rank; d++)
			t->label[d] = random_below(state, labels);
		if (batch && random_below(state, 3))
			t->label[t->rank++] = 0;
		for (size_t d = 0; d < t->rank; d++)
			t->extent[d] = c->extent[t->label[d]];
	}
}

/* Some of the labels that stand somewhere, each once, in any order. */
static void
make_output(struct network_case *c, uint64_t *state)
{
	struct network_tensor *out = &c->output;
	bool there[NETWORK_LABELS] = { false };

	for (size_t i = 0; i < c->count; i++)
		for (size_t d = 0; d < c->operand[i].rank; d++)
			there[c->operand[i].label[d]] = true;
	for (unsigned l = 0; l < NETWORK_LABELS; l++) {
		bool batch = c->extent[l] >= 16;
		size_t at;

		/* One in three; three in four where it is the batch. */
		if (!there[l] || random_below(state, batch ? 4 : 3) >
				 (batch ? 2 : 0))
			continue;
		at = random_below(state, (unsigned)out->rank + 1);
		out->label[out->rank] = out->label[at];
		out->label[at] = l;
		out->rank++;
	}
	for (size_t d = 0; d < out->rank; d++)
		out->extent[d] = c->extent[out->label[d]];
}

static char *
write_labels(char *at, const struct network_tensor *t)
{
	static const char *const name[NETWORK_LABELS] = {
		"a", "Z", "\xc3\xa9", "0", "\xe4\xb8\xad", "b",
		"\xf0\x9f\x99\x82", "c", "\xc5\x81", "d"
	};

	for (size_t d = 0; d < t->rank; d++)
		at = stpcpy(at, name[t->label[d]]);
	return at;
}

static void
make_text(struct network_case *c)
{
	char *at = c->text;

	for (size_t i = 0; i < c->count; i++) {
		if (i)
			*at++ = ',';
		at = write_labels(at, &c->operand[i]);
	}
	at = stpcpy(at, "->");
	*write_labels(at, &c->output) = '\0';
}

static void
make_path(struct network_case *c, uint64_t *state)
{
	c->greedy = random_below(state, 4) == 0;
	for (size_t s = 0; s + 1 < c->count; s++) {
		unsigned length = (unsigned)(c->count - s);
		size_t x = random_below(state, length);
		size_t y = random_below(state, length - 1);

		c->path[s].first = x;
		c->path[s].second = y + (y >= x);
	}
}

static void
make_factor(enum lend_type type, double *number, union network_number *as,
	    uint64_t *state)
{
	number[0] = (double)random_below(state, 4) - 1;
	number[1] = is_complex(type) && random_below(state, 3) == 0;
	put(type, (char *)as, (struct number){ number[0], number[1] });
}

static bool
make_memory(struct network_case *c, uint64_t *state)
{
	size_t element = lend_type_bytes(c->type);

	for (size_t i = 0; i <= c->count; i++) {
		bool input = i < c->count;
		struct network_tensor *t = input ? &c->operand[i] : &c->output;

		t->plain = random_below(state, 2);
		if (t->plain)
			plain_strides(t);
		else
			wild_strides(t, input, state);
		if (!new_memory(t, element))
			return false;
		fill(t, c->type, state);
		if (input)
			c->operands[i] = t->start;
	}
	return true;
}

static struct lend_layout
layout_of(const struct network_tensor *t)
{
	return (struct lend_layout){ t->rank, t->extent,
				     t->plain ? NULL : t->stride };
}

static bool
make_network(struct network_case *c, struct lend_error *why)
{
	struct lend_layout layout[NETWORK_OPERANDS];
	struct lend_layout output = layout_of(&c->output);
	struct lend_network_options options = {
		.size = sizeof(options), .output = &output
	};

	for (size_t i = 0; i < c->count; i++)
		layout[i] = layout_of(&c->operand[i]);
	return lend_network_create(&c->network, c->text, c->type, c->count,
				   layout, c->greedy ? NULL : c->path,
				   c->greedy ? 0 : c->count - 1, &options,
				   why) == 0;
}

bool
network_case_open(struct network_case *c, uint64_t seed,
		  struct lend_error *why)
{
	uint64_t state = seed;

	memset(c, 0, sizeof(*c));
	c->type = (enum lend_type)random_below(&state, 4);
	c->count = 1 + random_below(&state, NETWORK_OPERANDS);
	make_operands(c, &state);
	make_output(c, &state);
	make_text(c);
	make_path(c, &state);
	make_factor(c->type, c->alpha, &c->alpha_number, &state);
	make_factor(c->type, c->beta, &c->beta_number, &state);
	strcpy(why->text, "no memory");
	if (make_memory(c, &state) && make_network(c, why))
		return true;
	network_case_close(c);
	return false;
}

void
network_case_close(struct network_case *c)
{
	for (size_t i = 0; i < c->count; i++)
		free(c->operand[i].memory);
	free(c->output.memory);
	lend_network_destroy(c->network);
}

struct lend_network_call
network_case_call(const struct network_case *c, void *output)
{
	return (struct lend_network_call){
		.operands = c->operands, .output = output,
		.alpha = &c->alpha_number, .beta = &c->beta_number
	};
}

struct network_tensor *
network_output_new(const struct network_case *c)
{
	struct network_tensor *output = malloc(sizeof(*output));

	if (!output)
		return NULL;
	*output = c->output;
	output->memory = malloc(output->bytes);
	if (!output->memory) {
		free(output);
		return NULL;
	}
	memcpy(output->memory, c->output.memory, output->bytes);
	output->start = output->memory + (c->output.start - c->output.memory);
	return output;
}

void
network_output_free(struct network_tensor *output)
{
	free(output->memory);
	free(output);
}

/* ------------------------------------------------------------------------
 * What it should give
 * --------------------------------------------------------------------- */

static ptrdiff_t
place(const struct network_tensor *t, const size_t *index)
{
	ptrdiff_t at = 0;

	for (size_t d = 0; d < t->rank; d++)
		at += (ptrdiff_t)index[t->label[d]] * t->stride[d];
	return at;
}

static struct number
product(const struct network_case *c, const size_t *index)
{
	ptrdiff_t element = (ptrdiff_t)lend_type_bytes(c->type);
	struct number x = { 1, 0 };

	for (size_t i = 0; i < c->count; i++)
		x = times(x, get(c->type, c->operand[i].start + element *
				 place(&c->operand[i], index)));
	return x;
}

/* Steps the labels that `which` has, the last one first; false: all done. */
static bool
next_index(const struct network_case *c, const bool *which, size_t *index)
{
	for (size_t l = NETWORK_LABELS; l-- > 0;) {
		if (!which[l])
			continue;
		if (++index[l] < c->extent[l])
			return true;
		index[l] = 0;
	}
	return false;
}

/* Labels of the output, and of the operands alone; whether any is empty. */
static void
sort_labels(const struct network_case *c, bool *out, bool *sums, bool *empty)
{
	memset(sums, 0, NETWORK_LABELS);
	memset(out, 0, NETWORK_LABELS);
	empty[0] = empty[1] = false;
	for (size_t d = 0; d < c->output.rank; d++)
		out[c->output.label[d]] = true;
	for (size_t i = 0; i < c->count; i++)
		for (size_t d = 0; d < c->operand[i].rank; d++)
			sums[c->operand[i].label[d]] =
				!out[c->operand[i].label[d]];
	for (size_t l = 0; l < NETWORK_LABELS; l++) {
		empty[0] |= out[l] && c->extent[l] == 0;
		empty[1] |= sums[l] && c->extent[l] == 0;
	}
}

static struct number
expected(const struct network_case *c, const bool *sums, bool no_terms,
	 size_t *index, struct number was)
{
	struct number alpha = { c->alpha[0], c->alpha[1] };
	struct number beta = { c->beta[0], c->beta[1] };
	struct number sum = { 0, 0 };

	if (!no_terms)
		do {
			struct number x = product(c, index);

			sum.re += x.re;
			sum.im += x.im;
		} while (next_index(c, sums, index));
	sum = times(alpha, sum);
	was = times(beta, was);
	return (struct number){ sum.re + was.re, sum.im + was.im };
}

bool
network_case_check(const struct network_case *c,
		   const struct network_tensor *output,
		   struct lend_error *why)
{
	ptrdiff_t element = (ptrdiff_t)lend_type_bytes(c->type);
	bool out[NETWORK_LABELS], sums[NETWORK_LABELS], empty[2];
	size_t index[NETWORK_LABELS] = { 0 };
	bool right = true;

	sort_labels(c, out, sums, empty);
	if (!empty[0])
		do {
			ptrdiff_t at = element * place(output, index);
			struct number was = get(c->type, c->output.start + at);
			struct number is = get(c->type, output->start + at);
			struct number x = expected(c, sums, empty[1], index,
						   was);

			if (right && (x.re != is.re || x.im != is.im)) {
				snprintf(why->text, sizeof(why->text),
					 "%.90s: %g%+gi, not %g%+gi", c->text,
					 is.re, is.im, x.re, x.im);
				right = false;
			}
			memcpy(output->start + at, c->output.start + at,
			       (size_t)element);
		} while (next_index(c, out, index));
	if (right && !network_case_untouched(c, output)) {
		snprintf(why->text, sizeof(why->text),
			 "%.90s: wrote beside the output", c->text);
		right = false;
	}
	return right;
}

bool
network_case_untouched(const struct network_case *c,
		       const struct network_tensor *output)
{
	return memcmp(output->memory, c->output.memory, output->bytes) == 0;
}
