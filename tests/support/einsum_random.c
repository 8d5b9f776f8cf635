/* SPDX-License-Identifier: MIT */
#include "support/einsum_random.h"

#include <string.h>

#include "support/random.h"

enum { A, B, C };

/* In which operands a label stands. */
enum kind { BATCH, FREE_A, FREE_B, SUM, SUM_A, SUM_B, KINDS };

static const bool stands[KINDS][NAIVE_OPERANDS] = {
	[BATCH] = { true, true, true },
	[FREE_A] = { true, false, true },
	[FREE_B] = { false, true, true },
	[SUM] = { true, true, false },
	[SUM_A] = { true, false, false },
	[SUM_B] = { false, true, false },
};

#define LABELS_MAX 14

struct label {
	uint32_t point;
	enum kind kind;
	size_t extent;
};

struct draft {
	uint64_t random;
	struct random_wish wish;
	size_t n;
	struct label label[LABELS_MAX];
};

static unsigned
below(struct draft *draft, unsigned n)
{
	return random_below(&draft->random, n);
}

/* True in so many cases of a hundred. */
static bool
chance(struct draft *draft, unsigned per_cent)
{
	return below(draft, 100) < per_cent;
}

/* ------------------------------------------------------------------------
 * Labels and extents
 * --------------------------------------------------------------------- */

/* The first of some code points of one, two, three and four bytes. */
static uint32_t
some_point(struct draft *draft)
{
	static const struct {
		uint32_t first;
		unsigned n;
	} range[] = {
		{ 'a', 26 }, { 'A', 26 }, { '0', 10 }, { '!', 11 },
		{ 0x3b1, 25 }, { 0x4e00, 500 }, { 0x1f600, 60 },
	};
	unsigned r = chance(draft, 70) ? below(draft, 2) : below(draft, 7);

	return range[r].first + below(draft, range[r].n);
}

static uint32_t
new_point(struct draft *draft)
{
	uint32_t point;
	size_t i;

	do {
		point = some_point(draft);
		for (i = 0; i < draft->n; i++)
			if (draft->label[i].point == point)
				break;
	} while (i < draft->n);
	return point;
}

static void
add_labels(struct draft *draft, enum kind kind, unsigned n)
{
	while (n-- > 0 && draft->n < LABELS_MAX) {
		uint32_t point = new_point(draft);

		draft->label[draft->n++] = (struct label){
			.point = point,
			.kind = kind,
		};
	}
}

/* How many labels of each kind. */
static void
draw_labels(struct draft *draft)
{
	/* Up to so many of batch, free twice, contracted, summed twice. */
	static const unsigned char style[][KINDS] = {
		{ 0, 1, 1, 1, 0, 0 },	/* matrices */
		{ 0, 2, 2, 2, 0, 0 },
		{ 1, 2, 2, 2, 0, 0 },
		{ 3, 3, 3, 3, 0, 0 },
		{ 0, 3, 3, 0, 0, 0 },	/* outer */
		{ 3, 0, 0, 0, 0, 0 },	/* elementwise */
		{ 0, 0, 0, 3, 0, 0 },	/* inner */
		{ 1, 2, 0, 2, 0, 0 },	/* by a vector */
		{ 1, 0, 2, 2, 0, 0 },
		{ 1, 1, 1, 1, 2, 2 },
		{ 0, 1, 1, 0, 2, 2 },
		{ 2, 2, 2, 2, 1, 1 },
		{ 0, 0, 0, 0, 2, 2 },
		{ 0, 0, 0, 0, 0, 0 },	/* scalars */
	};
	unsigned n = sizeof(style) / sizeof(style[0]);
	/* The first ones are what people contract. */
	unsigned s = chance(draft, 50) ? below(draft, 4) : below(draft, n);

	if (s == n - 1 && chance(draft, 80))
		s = 1;
	for (int kind = 0; kind < KINDS; kind++) {
		unsigned most = style[s][kind];
		unsigned least = s == 0 && most;

		add_labels(draft, (enum kind)kind,
			   least + (most ? below(draft, most + 1 - least)
					 : 0));
	}
}

/* What a block may end at, and one more, one less. */
static size_t
edge(struct draft *draft, enum kind kind)
{
	static const unsigned rows[] = {
		4, 6, 8, 12, 16, 24, 32, 48, 64, 72, 96, 120, 144, 192, 240,
	};
	static const unsigned depth[] = { 64, 128, 192, 256, 320, 384, 512 };
	unsigned at = kind == SUM ?
		      depth[below(draft, sizeof(depth) / sizeof(*depth))] :
		      rows[below(draft, sizeof(rows) / sizeof(*rows))];

	return at - 1 + below(draft, 3);
}

static size_t
some_extent(struct draft *draft, enum kind kind)
{
	if (!draft->wish.plain && below(draft, 150) == 0)
		return 0;
	if (chance(draft, 12))
		return 1;
	if (draft->wish.edges)
		return kind == SUM || chance(draft, 60) ?
		       edge(draft, kind) : 1 + below(draft, 3);
	if (chance(draft, 75))
		return 2 + below(draft, 6);
	return 2 + below(draft, 40);
}

/* Extents in a random order of the labels, until the budget is used. */
static void
draw_extents(struct draft *draft)
{
	size_t left = draft->wish.products;
	size_t at = below(draft, LABELS_MAX);

	for (size_t i = 0; i < draft->n; i++) {
		struct label *label = &draft->label[(i + at) % draft->n];
		size_t extent = some_extent(draft, label->kind);

		if (extent > left)
			extent = left;
		label->extent = extent;
		if (extent)
			left /= extent;
	}
	/* Large ones are for teams: grow what is there. */
	for (size_t i = 0; i < draft->n && left > 64; i++) {
		if (!draft->label[i].extent ||
		    draft->wish.products < 1000000)
			continue;
		draft->label[i].extent *= 3;
		left /= 3;
	}
}

static size_t
extent_of(const struct draft *draft, uint32_t point)
{
	for (size_t i = 0; i < draft->n; i++)
		if (draft->label[i].point == point)
			return draft->label[i].extent;
	return 0;
}

static void
shuffle(struct draft *draft, struct naive_labels *labels)
{
	for (size_t i = labels->n; i > 1; i--) {
		size_t j = below(draft, (unsigned)i);
		uint32_t point = labels->point[i - 1];

		labels->point[i - 1] = labels->point[j];
		labels->point[j] = point;
	}
}

/* Lets some labels stand twice, or three times. */
static void
add_diagonals(struct draft *draft, struct naive_labels *labels)
{
	size_t elements = 1;

	for (size_t i = 0; i < labels->n; i++)
		elements *= extent_of(draft, labels->point[i]);
	while (labels->n && chance(draft, 12)) {
		uint32_t point =
			labels->point[below(draft, (unsigned)labels->n)];

		elements *= extent_of(draft, point);
		if (elements > 300000 || labels->n == NAIVE_RANK)
			return;
		labels->point[labels->n++] = point;
	}
}

static void
draw_operands(struct draft *draft, struct random_einsum *einsum)
{
	for (int o = A; o <= C; o++) {
		struct naive_labels *labels = &einsum->labels[o];

		for (size_t i = 0; i < draft->n; i++)
			if (stands[draft->label[i].kind][o])
				labels->point[labels->n++] =
					draft->label[i].point;
		if (o != C)
			add_diagonals(draft, labels);
		if (o != C || chance(draft, 80))
			shuffle(draft, labels);
	}
}

/* ------------------------------------------------------------------------
 * The text
 * --------------------------------------------------------------------- */

static char *
put_point(char *to, uint32_t point)
{
	if (point < 0x80) {
		*to++ = (char)point;
		return to;
	}
	if (point < 0x800) {
		*to++ = (char)(0xc0 | point >> 6);
	} else {
		if (point < 0x10000) {
			*to++ = (char)(0xe0 | point >> 12);
		} else {
			*to++ = (char)(0xf0 | point >> 18);
			*to++ = (char)(0x80 | (point >> 12 & 0x3f));
		}
		*to++ = (char)(0x80 | (point >> 6 & 0x3f));
	}
	*to++ = (char)(0x80 | (point & 0x3f));
	return to;
}

static char *
put_labels(struct draft *draft, char *to, const struct naive_labels *labels)
{
	bool spaces = chance(draft, 5);

	for (size_t i = 0; i < labels->n; i++) {
		if (spaces && chance(draft, 50))
			*to++ = ' ';
		to = put_point(to, labels->point[i]);
	}
	if (spaces)
		*to++ = ' ';
	return to;
}

/* Without the arrow the output is what the text says. */
static void
write_text(struct draft *draft, struct random_einsum *einsum)
{
	bool implied = chance(draft, 5);
	char *to = put_labels(draft, einsum->text, &einsum->labels[A]);

	*to++ = ',';
	to = put_labels(draft, to, &einsum->labels[B]);
	if (!implied) {
		*to++ = '-';
		*to++ = '>';
		to = put_labels(draft, to, &einsum->labels[C]);
	}
	*to = '\0';
	if (implied)
		naive_parse(einsum->text, einsum->labels);
}

/* ------------------------------------------------------------------------
 * Layouts
 * --------------------------------------------------------------------- */

static void
row_major(struct random_tensor *tensor, size_t rank)
{
	ptrdiff_t next = 1;

	for (size_t d = rank; d-- > 0;) {
		tensor->stride[d] = next;
		next *= (ptrdiff_t)(tensor->extent[d] ? tensor->extent[d] : 1);
	}
}

/* Any order of the strides; the elements are distinct. */
static void
nest(struct draft *draft, struct random_tensor *tensor, size_t rank)
{
	struct naive_labels order = { .n = rank };
	bool gaps = !draft->wish.plain && chance(draft, 40);
	bool back = chance(draft, 30);
	ptrdiff_t next = gaps && chance(draft, 40) ? 2 : 1;

	for (size_t d = 0; d < rank; d++)
		order.point[d] = (uint32_t)d;
	shuffle(draft, &order);
	for (size_t i = 0; i < rank; i++) {
		size_t d = order.point[i];
		size_t extent = tensor->extent[d];

		tensor->stride[d] = back && chance(draft, 50) ? -next : next;
		next *= (ptrdiff_t)(extent ? extent : 1);
		if (gaps && chance(draft, 30))
			next += 1 + below(draft, 9);
	}
}

/* Inputs may say one element under several indices. */
static void
fold(struct draft *draft, struct random_tensor *tensor, size_t rank)
{
	for (size_t d = 0; d < rank; d++) {
		if (chance(draft, 30))
			tensor->stride[d] = 0;
		else if (chance(draft, 20))
			tensor->stride[d] = (ptrdiff_t)below(draft, 7) - 3;
	}
}

static void
draw_layout(struct draft *draft, struct random_einsum *einsum, int o)
{
	struct random_tensor *tensor = &einsum->tensor[o];
	size_t rank = einsum->labels[o].n;

	for (size_t d = 0; d < rank; d++)
		tensor->extent[d] = extent_of(draft,
					      einsum->labels[o].point[d]);
	tensor->plain = chance(draft, 25);
	if (tensor->plain)
		row_major(tensor, rank);
	else
		nest(draft, tensor, rank);
	if (o != C && !tensor->plain && !draft->wish.plain &&
	    chance(draft, 15))
		fold(draft, tensor, rank);
}

/* What is not handed over is as the library makes it. */
static void
draw_output(struct draft *draft, struct random_einsum *einsum)
{
	struct random_tensor *tensor = &einsum->tensor[C];

	einsum->output = chance(draft, 60) ? OUTPUT_WHOLE :
			 (enum random_output)below(draft, OUTPUT_KINDS);
	if (einsum->output == OUTPUT_EXTENTS ||
	    einsum->output == OUTPUT_NULL)
		tensor->plain = true;
	if (tensor->plain)
		row_major(tensor, einsum->labels[C].n);
}

/* ------------------------------------------------------------------------
 * Numbers
 * --------------------------------------------------------------------- */

static double
some_factor(struct draft *draft, bool exact)
{
	if (exact)
		return (double)below(draft, 5) - 2;
	return (double)(int64_t)random_next(&draft->random) * 0x1p-62;
}

/* Null, 0, 1, other, complex. */
static void
draw_factor(struct draft *draft, bool complex, bool exact, double *factor,
	    bool *null, double of_null)
{
	unsigned what = below(draft, 8);

	*null = what == 0;
	factor[0] = factor[1] = 0;
	if (what == 0)
		factor[0] = of_null;
	else if (what <= 3)
		factor[0] = what == 1 ? 0 : 1;
	else
		factor[0] = some_factor(draft, exact);
	if (complex && what >= 6)
		factor[1] = some_factor(draft, exact);
}

static void
round_to_float(double *factor)
{
	for (int i = 0; i < 2; i++)
		factor[i] = (float)factor[i];
}

static void
draw_numbers(struct draft *draft, struct random_einsum *einsum)
{
	bool complex;

	einsum->type = (enum lend_type)below(draft, 4);
	complex = einsum->type == LEND_CF32 || einsum->type == LEND_CF64;
	/* All partial sums must fit a float. */
	einsum->exact = chance(draft, 50) && draft->wish.products <= 200000;
	draw_factor(draft, complex, einsum->exact, einsum->alpha,
		    &einsum->alpha_null, 1);
	draw_factor(draft, complex, einsum->exact, einsum->beta,
		    &einsum->beta_null, 0);
	if (einsum->type == LEND_F32 || einsum->type == LEND_CF32) {
		round_to_float(einsum->alpha);
		round_to_float(einsum->beta);
	}
}

void
random_einsum(struct random_einsum *einsum, uint64_t seed,
	      const struct random_wish *wish)
{
	struct draft draft = { .random = seed, .wish = *wish };

	memset(einsum, 0, sizeof(*einsum));
	einsum->seed = seed;
	random_next(&draft.random);
	draw_labels(&draft);
	draw_extents(&draft);
	draw_operands(&draft, einsum);
	write_text(&draft, einsum);
	for (int o = A; o <= C; o++)
		draw_layout(&draft, einsum, o);
	draw_output(&draft, einsum);
	draw_numbers(&draft, einsum);
}

struct lend_layout
random_layout(const struct random_einsum *einsum, int o)
{
	return (struct lend_layout){
		.rank = einsum->labels[o].n,
		.extent = einsum->tensor[o].extent,
		.stride = einsum->tensor[o].stride,
	};
}
