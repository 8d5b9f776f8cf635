/* SPDX-License-Identifier: MIT */
/*
 * What a network's steps are: which labels they keep, how results lie, which
 * plans are shared, which path is found.
 */
#include "lend/network.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/suite.h"

#define OPERANDS 8
#define STEPS 8
#define TEXT 256
#define DIMS 6

/* Extents by letter: a is 2, b 3, .. */
static size_t
extent_of(char label)
{
	return 2 + (size_t)(label - 'a');
}

/* All labels are letters, and all layouts row-major. */
static lend_network *
make(const char *einsum, const struct lend_network_pair *path)
{
	static size_t extent[OPERANDS][DIMS];
	struct lend_layout layout[OPERANDS] = { { 0 } };
	lend_network *network = NULL;
	struct lend_error why = { "" };
	size_t n = 0;
	int error;

	for (const char *at = einsum; *at && *at != '-'; at++) {
		if (*at == ',') {
			n++;
			continue;
		}
		extent[n][layout[n].rank++] = extent_of(*at);
		layout[n].extent = extent[n];
	}
	error = lend_network_create(&network, einsum, LEND_F64, n + 1, layout,
				    path, path ? n : 0, NULL, &why);
	ck_assert_msg(error == 0, "%s: %s", einsum, why.text);
	return network;
}

static void
expect_step(const lend_network *network, size_t step, const char *expected)
{
	char text[TEXT];

	ck_assert_uint_eq(lend_network_einsum(network, step, text, TEXT),
			  strlen(expected));
	ck_assert_str_eq(text, expected);
}

static struct lend_network_info
describe(const lend_network *network)
{
	struct lend_network_info info = { .size = sizeof(info) };

	ck_assert_int_eq(lend_network_describe(network, &info), 0);
	return info;
}

/* ------------------------------------------------------------------------
 * Labels and layouts
 * --------------------------------------------------------------------- */

static const struct expected {
	const char *einsum;
	struct lend_network_pair path[STEPS];
	const char *step[STEPS];
} expected[] = {
	/* A label goes when nobody else has it. */
	{ "ab,bc,cd->ad", { { 0, 1 }, { 0, 1 } },
	  { "ab,bc->ca", "cd,ca->ad" } },
	{ "ab,bc,cd->ad", { { 1, 2 }, { 1, 0 } },
	  { "bc,cd->bd", "bd,ab->ad" } },
	/* It stays while a later operand, or the output, has it. */
	{ "ax,bx,cx->", { { 0, 1 }, { 0, 1 } },
	  { "ax,bx->x", "cx,x->" } },
	{ "ax,bx,cx->x", { { 0, 1 }, { 0, 1 } },
	  { "ax,bx->x", "cx,x->x" } },
	{ "ab,ab,ab->ab", { { 2, 0 }, { 1, 0 } },
	  { "ab,ab->ab", "ab,ab->ab" } },
	/* Matrices: the batch, then the sum, then what is free. */
	{ "abc,acd,ade->abe", { { 0, 1 }, { 0, 1 } },
	  { "abc,acd->adb", "ade,adb->abe" } },
	/* Small products for many of a batch: the sum, then the elements. */
	{ "zab,zbc,zcd->zad", { { 0, 1 }, { 0, 1 } },
	  { "zab,zbc->cza", "zcd,cza->zad" } },
	/* A sum within an operand, a diagonal, an outer product. */
	{ "abb,c,cd->ad", { { 0, 1 }, { 0, 1 } },
	  { "abb,c->ca", "cd,ca->ad" } },
	/* One operand. */
	{ "abc->ca", { { 0 } }, { "abc->ca" } },
};

#define EXPECTED ((int)(sizeof(expected) / sizeof(expected[0])))

START_TEST(test_steps)
{
	const struct expected *e = &expected[_i];
	bool single = !strchr(e->einsum, ',');
	lend_network *network = make(e->einsum, single ? NULL : e->path);
	size_t steps = 0;

	for (; steps < STEPS && e->step[steps]; steps++)
		expect_step(network, steps, e->step[steps]);
	ck_assert_uint_eq(describe(network).steps, steps);
	lend_network_destroy(network);
}
END_TEST

START_TEST(test_numbers)
{
	const struct lend_network_pair path[] = { { 0, 1 }, { 1, 0 } };
	lend_network *network = make("ab,bc,cd->ad", path);
	struct lend_network_step step = { .size = sizeof(step) };
	struct lend_network_info info = describe(network);
	struct lend_layout output;
	struct lend_req req;
	size_t bytes;

	ck_assert_uint_eq(info.operands, 3);
	ck_assert_uint_eq(info.labels, 4);
	ck_assert_double_eq(info.flops, 2 * 2 * 3 * 4 + 2 * 2 * 4 * 5);
	ck_assert_double_eq(info.largest, 2 * 4);
	/* The product, and two pointers. */
	ck_assert_uint_eq(info.peak_bytes, 8 * 2 * 4 + 2 * sizeof(void *));
	ck_assert_int_eq(lend_network_req(network, 1, &req, &bytes), 0);
	ck_assert_uint_eq(bytes, info.peak_bytes);
	ck_assert_int_eq(lend_network_step(network, 1, &step), 0);
	ck_assert_uint_eq(step.first, 3);
	ck_assert_uint_eq(step.second, 2);
	ck_assert_uint_eq(step.pair.first, 1);
	ck_assert_uint_eq(step.pair.second, 0);
	ck_assert_double_eq(step.elements, 2 * 5);
	ck_assert_double_eq(step.flops, 2 * 2 * 4 * 5);
	ck_assert_ptr_nonnull(step.plan);
	lend_network_output(network, &output);
	ck_assert_uint_eq(output.rank, 2);
	ck_assert_uint_eq(output.extent[0], 2);
	ck_assert_uint_eq(output.extent[1], 5);
	ck_assert_int_eq(output.stride[0], 5);
	lend_network_destroy(network);
}
END_TEST

/* Steps that differ in their labels' names alone have one plan. */
START_TEST(test_shared_plans)
{
	static const size_t side[] = { 4, 4 };
	static const ptrdiff_t turned[] = { 1, 4 };
	static const struct lend_network_pair path[] = {
		{ 0, 1 }, { 0, 1 }, { 0, 1 }
	};
	struct lend_layout layout[4];
	lend_network *network;

	for (int i = 0; i < 4; i++)
		layout[i] = (struct lend_layout){ 2, side, NULL };
	/* (ab ab) (cd cd) give scalars, and these one more. */
	ck_assert_int_eq(lend_network_create(&network, "ab,ab,cd,cd->",
					     LEND_F64, 4, layout, path, 3,
					     NULL, NULL), 0);
	ck_assert_uint_eq(describe(network).plans, 2);
	lend_network_destroy(network);
	/* Other strides are another step, and so are other extents. */
	layout[1].stride = turned;
	ck_assert_int_eq(lend_network_create(&network, "ab,ab,cd,cd->",
					     LEND_F64, 4, layout, path, 3,
					     NULL, NULL), 0);
	ck_assert_uint_eq(describe(network).plans, 3);
	lend_network_destroy(network);
	network = make("ab,ab,cd,cd->", path);
	ck_assert_uint_eq(describe(network).plans, 3);
	lend_network_destroy(network);
}
END_TEST

/* Without an arrow the output has what stands once, by code points. */
START_TEST(test_implied)
{
	const struct lend_network_pair path[] = { { 0, 1 }, { 0, 1 } };
	lend_network *network = make("db,ba,ac", path);
	struct lend_layout output;

	lend_network_output(network, &output);
	ck_assert_uint_eq(output.rank, 2);
	ck_assert_uint_eq(output.extent[0], extent_of('c'));
	ck_assert_uint_eq(output.extent[1], extent_of('d'));
	lend_network_destroy(network);
}
END_TEST

/* ------------------------------------------------------------------------
 * Found paths
 * --------------------------------------------------------------------- */

START_TEST(test_greedy)
{
	/* From the small end: every other way is dearer. */
	lend_network *network = make("hg,gf,fe,ed,d->h", NULL);
	struct lend_network_step step = { .size = sizeof(step) };

	for (size_t s = 0; s < 4; s++) {
		ck_assert_int_eq(lend_network_step(network, s, &step), 0);
		ck_assert_uint_eq(step.first, s ? 3 - s : 3);
		ck_assert_uint_eq(step.second, 4 + s);
	}
	lend_network_destroy(network);
	/* Nothing in common: the smallest first. */
	network = make("c,a,b->abc", NULL);
	ck_assert_int_eq(lend_network_step(network, 0, &step), 0);
	ck_assert_uint_eq(step.first, 1);
	ck_assert_uint_eq(step.second, 2);
	lend_network_destroy(network);
}
END_TEST

/* The pairs that were found, as a path, make the same network. */
START_TEST(test_found_again)
{
	const char *einsum = "abz,bcz,cd,dez,efz,az->f";
	lend_network *found = make(einsum, NULL), *again = make(einsum, NULL);
	struct lend_network_pair path[STEPS];
	char text[2][TEXT];

	for (size_t s = 0; s < 5; s++) {
		struct lend_network_step step = { .size = sizeof(step) };

		ck_assert_int_eq(lend_network_step(found, s, &step), 0);
		path[s] = step.pair;
	}
	for (int turn = 0; turn < 2; turn++) {
		for (size_t s = 0; s < 5; s++) {
			lend_network_einsum(found, s, text[0], TEXT);
			lend_network_einsum(again, s, text[1], TEXT);
			ck_assert_str_eq(text[0], text[1]);
		}
		lend_network_destroy(again);
		again = make(einsum, path);
	}
	lend_network_destroy(again);
	lend_network_destroy(found);
}
END_TEST

/* Many operands, and a label that all of them have. */
START_TEST(test_many)
{
	enum { MANY = 500 };
	static char text[MANY * 10];
	static struct lend_layout layout[MANY];
	static const size_t extent[] = { 3, 4, 3 };
	struct lend_network_info info;
	lend_network *network;
	struct lend_error why;
	int at = 0;

	for (int i = 0; i < MANY; i++) {
		layout[i] = (struct lend_layout){ 3, extent, NULL };
		/* Points from 0x800 on: three bytes each. */
		at += sprintf(text + at, "%s%c%c%c@%c%c%c", i ? "," : "",
			      0xe0 + (0x800 + i) / 4096,
			      0x80 + (0x800 + i) / 64 % 64, 0x80 + i % 64,
			      0xe0 + (0x801 + i) / 4096,
			      0x80 + (0x801 + i) / 64 % 64,
			      0x80 + (i + 1) % 64);
	}
	strcpy(text + at, "->@");
	ck_assert_msg(lend_network_create(&network, text, LEND_CF32, MANY,
					  layout, NULL, 0, NULL, &why) == 0,
		      "%s", why.text);
	info = describe(network);
	ck_assert_uint_eq(info.labels, MANY + 2);
	ck_assert_uint_eq(info.steps, MANY - 1);
	/* No step has more than four labels. */
	ck_assert_double_le(info.flops, MANY * 8.0 * 4 * 3 * 3 * 3);
	lend_network_destroy(network);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("network_plan");
	TCase *tcase = suite_case(suite, "steps");

	tcase_add_loop_test(tcase, test_steps, 0, EXPECTED);
	tcase_add_test(tcase, test_numbers);
	tcase_add_test(tcase, test_shared_plans);
	tcase_add_test(tcase, test_implied);
	tcase = suite_case(suite, "found");
	tcase_add_test(tcase, test_greedy);
	tcase_add_test(tcase, test_found_again);
	tcase_add_test(tcase, test_many);
	return suite_run(suite);
}
