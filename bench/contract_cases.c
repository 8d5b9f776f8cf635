/* SPDX-License-Identifier: MIT */
#include "bench/contract_cases.h"

#include <stdio.h>
#include <string.h>

#define QUICK_ELEMENTS ((size_t)1 << 17)

/* The extents of labels a, b, .. for double and for float. */
static const struct published {
	const char *name;
	unsigned short extent[2][CASE_RANK];
} published[] = {
	{ "abc-bda-dc",
	  { { 312, 312, 24, 312 }, { 384, 384, 24, 384 } } },
	{ "abc-dca-bd",
	  { { 312, 24, 296, 312 }, { 384, 24, 376, 384 } } },
	{ "abcd-dbea-ec",
	  { { 72, 72, 24, 72, 72 }, { 96, 84, 24, 96, 96 } } },
	{ "abcd-deca-be",
	  { { 72, 24, 72, 72, 72 }, { 96, 24, 84, 96, 84 } } },
	{ "abcd-ebad-ce",
	  { { 72, 72, 24, 72, 72 }, { 96, 84, 24, 84, 96 } } },
	{ "abcde-efbad-cf",
	  { { 48, 32, 24, 32, 48, 32 }, { 48, 36, 24, 36, 48, 36 } } },
	{ "abcde-ecbfa-fd",
	  { { 48, 32, 32, 24, 48, 48 }, { 48, 36, 36, 24, 48, 48 } } },
	{ "abcde-efcad-bf",
	  { { 48, 24, 32, 32, 48, 32 }, { 48, 24, 36, 36, 48, 36 } } },
	{ "abcd-ea-ebcd",
	  { { 72, 72, 72, 72, 72 }, { 96, 84, 84, 84, 96 } } },
	{ "abcd-eb-aecd",
	  { { 72, 72, 72, 72, 72 }, { 96, 84, 84, 84, 96 } } },
	{ "abcd-ec-abed",
	  { { 72, 72, 72, 72, 72 }, { 96, 84, 84, 84, 96 } } },
	{ "ab-ac-cb",
	  { { 5136, 5120, 5136 }, { 7248, 7240, 7248 } } },
	{ "ab-acd-dbc",
	  { { 312, 296, 296, 312 }, { 384, 376, 376, 384 } } },
	{ "ab-cad-dcb",
	  { { 312, 296, 312, 312 }, { 384, 376, 384, 384 } } },
	{ "abc-acd-db",
	  { { 312, 296, 296, 312 }, { 384, 376, 376, 384 } } },
	{ "abc-adc-bd",
	  { { 312, 312, 296, 296 }, { 384, 384, 376, 376 } } },
	{ "abc-adec-ebd",
	  { { 72, 72, 72, 72, 72 }, { 96, 84, 84, 84, 96 } } },
	{ "abcd-aebf-dfce",
	  { { 72, 72, 72, 72, 72, 72 }, { 96, 84, 84, 96, 84, 84 } } },
	{ "abcd-aebf-fdec",
	  { { 72, 72, 72, 72, 72, 72 }, { 96, 84, 84, 84, 84, 96 } } },
	{ "abcd-eafd-fbec",
	  { { 72, 72, 72, 72, 72, 72 }, { 96, 84, 84, 84, 96, 96 } } },
	{ "abcdef-dega-gfbc",
	  { { 24, 16, 16, 24, 16, 16, 24 }, { 24, 20, 20, 24, 20, 20, 24 } } },
	{ "abcdef-degb-gfac",
	  { { 24, 16, 16, 24, 16, 16, 24 }, { 24, 20, 20, 24, 20, 20, 24 } } },
	{ "abcdef-degc-gfab",
	  { { 24, 16, 16, 24, 16, 16, 24 }, { 24, 20, 20, 24, 20, 20, 24 } } },
	{ "abcdef-dfgb-geac",
	  { { 24, 16, 16, 24, 16, 16, 24 }, { 24, 20, 20, 24, 20, 20, 24 } } },
};

size_t
contract_cases(void)
{
	return sizeof(published) / sizeof(published[0]);
}

const char *
contract_case_name(size_t i)
{
	return published[i].name;
}

/* Cuts the next tensor's labels off the name. */
static const char *
take_labels(struct case_tensor *tensor, const char *name)
{
	size_t n = strcspn(name, "-");

	memcpy(tensor->labels, name, n);
	tensor->labels[n] = '\0';
	tensor->rank = n;
	return name + n + (name[n] == '-');
}

static void
lay(struct case_tensor *tensor, const unsigned short *extent)
{
	ptrdiff_t next = 1;

	for (size_t d = 0; d < tensor->rank; d++) {
		tensor->extent[d] = extent[tensor->labels[d] - 'a'];
		tensor->stride[d] = next;
		next *= (ptrdiff_t)tensor->extent[d];
	}
	tensor->elements = (size_t)next;
}

/* The product of the extents of all labels, twice: the operations. */
static double
flops_of(const struct contract_case *c, const unsigned short *extent)
{
	double flops = 2;

	for (int label = 'a'; label < 'a' + CASE_RANK; label++)
		if (strchr(c->tensor[CASE_A].labels, label) ||
		    strchr(c->tensor[CASE_B].labels, label))
			flops *= extent[label - 'a'];
	return flops;
}

static bool
is_large(const struct contract_case *c)
{
	for (int o = 0; o < CASE_OPERANDS; o++)
		if (c->tensor[o].elements > QUICK_ELEMENTS)
			return true;
	return false;
}

static void
lay_all(struct contract_case *c, const unsigned short *extent)
{
	c->bytes = 0;
	for (int o = 0; o < CASE_OPERANDS; o++) {
		lay(&c->tensor[o], extent);
		c->bytes += (double)(c->tensor[o].elements * c->element);
	}
	c->flops = flops_of(c, extent);
}

struct contract_case
contract_case_at(size_t i, bool single, bool quick)
{
	const struct published *from = &published[i];
	struct contract_case c = {
		.name = from->name,
		.single = single,
		.element = single ? sizeof(float) : sizeof(double),
	};
	unsigned short extent[CASE_RANK];
	const char *name = from->name;

	memcpy(extent, from->extent[single], sizeof(extent));
	name = take_labels(&c.tensor[CASE_C], name);
	name = take_labels(&c.tensor[CASE_A], name);
	take_labels(&c.tensor[CASE_B], name);
	snprintf(c.einsum, sizeof(c.einsum), "%s,%s->%s",
		 c.tensor[CASE_A].labels, c.tensor[CASE_B].labels,
		 c.tensor[CASE_C].labels);
	lay_all(&c, extent);
	while (quick && is_large(&c)) {
		for (int label = 0; label < CASE_RANK; label++)
			if (extent[label] > 4)
				extent[label] = (unsigned short)
						(extent[label] * 7 / 8);
		lay_all(&c, extent);
	}
	return c;
}
