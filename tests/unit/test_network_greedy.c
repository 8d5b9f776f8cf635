/* SPDX-License-Identifier: MIT */
/*
 * Found paths against a search that remembers nothing: it computes the cost
 * of every pair anew at each step.
 */
#include "lend/network.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define MOST 40
#define VALUES (2 * MOST)
#define LABELS 12

/* The larger ones have many pairs, and tensors that lose many partners. */
static const struct {
	unsigned most;		/* operands */
	unsigned networks;
} sizes[] = { { 14, 1500 }, { MOST, 100 } };

#define TURNS 4			/* of each size */

struct search {
	size_t count, extent[LABELS];
	unsigned labels[VALUES];	/* of each tensor, as bits */
	unsigned output;
	bool here[VALUES];
	size_t first[MOST], second[MOST];
	double products;
};

static double
size_of(const struct search *s, unsigned labels)
{
	double size = 1;

	for (int l = 0; l < LABELS; l++)
		if (labels >> l & 1)
			size *= (double)s->extent[l];
	return size;
}

/* What the product of x and y keeps, when `values` are there. */
static unsigned
kept(const struct search *s, size_t values, size_t x, size_t y)
{
	unsigned others = s->output;

	for (size_t i = 0; i < values; i++)
		if (s->here[i] && i != x && i != y)
			others |= s->labels[i];
	return (s->labels[x] | s->labels[y]) & others;
}

static double
cost_of(const struct search *s, size_t values, int rule, size_t x, size_t y)
{
	double product = size_of(s, kept(s, values, x, y));
	double both = size_of(s, s->labels[x]) + size_of(s, s->labels[y]);

	switch (rule) {
	case 1: return product;
	case 2: return product - 4 * both;
	case 3: return product / both;
	default: return product - both;
	}
}

/* The pair of least cost that shares a label, the oldest of equal ones. */
static bool
best_pair(const struct search *s, size_t values, int rule, size_t *x,
	  size_t *y)
{
	double least = INFINITY;

	for (size_t i = 0; i < values; i++)
		for (size_t j = i + 1; j < values; j++) {
			double cost;

			if (!s->here[i] || !s->here[j] ||
			    !(s->labels[i] & s->labels[j]))
				continue;
			cost = cost_of(s, values, rule, i, j);
			if (cost >= least)
				continue;
			least = cost;
			*x = i;
			*y = j;
		}
	return least < INFINITY;
}

static size_t
smallest(const struct search *s, size_t values, size_t but)
{
	size_t least = values;

	for (size_t i = 0; i < values; i++)
		if (s->here[i] && i != but && (least == values ||
		    size_of(s, s->labels[i]) < size_of(s, s->labels[least])))
			least = i;
	return least;
}

static void
search(struct search *s, int rule)
{
	s->products = 0;
	for (size_t i = 0; i < s->count; i++)
		s->here[i] = true;
	for (size_t n = 0; n + 1 < s->count; n++) {
		size_t values = s->count + n, x = 0, y = 0;

		if (!best_pair(s, values, rule, &x, &y)) {
			x = smallest(s, values, values);
			y = smallest(s, values, x);
		}
		s->first[n] = x;
		s->second[n] = y;
		s->products += size_of(s, s->labels[x] | s->labels[y]);
		s->labels[values] = kept(s, values, x, y);
		s->here[x] = s->here[y] = false;
		s->here[values] = true;
	}
}

static void
make(struct search *s, uint64_t seed, unsigned most)
{
	unsigned all = 0, labels = 2 + random_below(&seed, LABELS - 1);

	memset(s, 0, sizeof(*s));
	s->count = 2 + random_below(&seed, most - 1);
	for (int l = 0; l < LABELS; l++)
		s->extent[l] = 1 + random_below(&seed, 5);
	for (size_t i = 0; i < s->count; i++) {
		unsigned rank = random_below(&seed, 4);

		for (unsigned d = 0; d < rank; d++)
			s->labels[i] |= 1u << random_below(&seed, labels);
		all |= s->labels[i];
	}
	s->output = all & (unsigned)random_next(&seed) &
		    (unsigned)random_next(&seed);
}

static char *
write_labels(char *at, unsigned labels)
{
	for (int l = 0; l < LABELS; l++)
		if (labels >> l & 1)
			*at++ = (char)('a' + l);
	*at = '\0';
	return at;
}

static lend_network *
find(const struct search *s, char *text)
{
	static size_t extent[MOST][LABELS];
	struct lend_layout layout[MOST] = { { 0 } };
	lend_network *network = NULL;
	struct lend_error why = { "" };
	char *at = text;
	int error;

	for (size_t i = 0; i < s->count; i++) {
		if (i)
			*at++ = ',';
		at = write_labels(at, s->labels[i]);
		for (int l = 0; l < LABELS; l++)
			if (s->labels[i] >> l & 1)
				extent[i][layout[i].rank++] = s->extent[l];
		layout[i].extent = extent[i];
	}
	at = stpcpy(at, "->");
	write_labels(at, s->output);
	error = lend_network_create(&network, text, LEND_F32, s->count,
				    layout, NULL, 0, NULL, &why);
	ck_assert_msg(error == 0, "%s: %s", text, why.text);
	return network;
}

START_TEST(test_exact)
{
	const unsigned most = sizes[_i / TURNS].most;

	for (uint64_t i = 0; i < scale(sizes[_i / TURNS].networks); i++) {
		struct search best, now;
		char text[MOST * (LABELS + 1) + LABELS + 3];
		lend_network *network;

		make(&now, (uint64_t)_i << 32 | i, most);
		search(&now, 0);
		best = now;
		for (int rule = 1; rule < 4; rule++) {
			search(&now, rule);
			if (now.products < best.products)
				best = now;
		}
		network = find(&now, text);
		for (size_t n = 0; n + 1 < best.count; n++) {
			struct lend_network_step step = {
				.size = sizeof(step)
			};

			ck_assert_int_eq(lend_network_step(network, n, &step),
					 0);
			ck_assert_msg(step.first == best.first[n] &&
				      step.second == best.second[n],
				      "%s, step %zu: %zu and %zu, not %zu and "
				      "%zu", text, n, step.first, step.second,
				      best.first[n], best.second[n]);
		}
		lend_network_destroy(network);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("network_greedy");
	TCase *tcase = suite_case(suite, "greedy");

	tcase_add_loop_test(tcase, test_exact, 0,
			    TURNS * sizeof(sizes) / sizeof(sizes[0]));
	return suite_run(suite);
}
