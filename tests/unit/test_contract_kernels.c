/* SPDX-License-Identifier: MIT */
/*
 * Contractions with each micro-kernel that this processor can run: some at
 * random, and matrices at the edges of tiles and blocks.
 */
#include "lend/contract.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/caches.h"
#include "contract/kernel.h"
#include "support/contract_site.h"
#include "support/einsum_form.h"
#include "support/einsum_random.h"
#include "support/scale.h"
#include "support/suite.h"

#define CASES 600
/* Large enough that no block is cut to the problem. */
#define LARGE 20000

enum { A, B, C };

static const char *const names[] = { "avx512", "avx2", "portable" };

#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

static struct lend_plan_options
options_of(const char *kernel)
{
	return (struct lend_plan_options){
		.size = sizeof(struct lend_plan_options), .kernel = kernel
	};
}

static bool
is_here(const char *kernel)
{
	return kernel_find(kernel, sizeof(double));
}

static void
try_random(const char *kernel, uint64_t seed, unsigned cases)
{
	struct lend_plan_options options = options_of(kernel);
	struct site site;

	if (!is_here(kernel))
		return;
	site = site_open();
	for (unsigned i = 0; i < scale(cases); i++) {
		struct random_wish wish = { .products = 20000 };
		struct random_einsum einsum;

		wish.edges = i % 3 == 0;
		options.pack = i % 2;
		random_einsum(&einsum, seed + i, &wish);
		site_try(&site, &einsum, &options, team_shape(i), FROM_ARENA);
	}
	site_close(&site);
}

START_TEST(random_contractions)
{
	try_random(names[_i], 1000000, CASES);
}
END_TEST

/* Elementwise and outer products: nothing is summed. */
static void
try_products(const char *kernel, enum lend_type type)
{
	static const char *const forms[] = {
		"a,a->a", "ab,ab->ab", "ab,b->ab",
		"a,b->ab", "b,a->ba", "cb,ca->cba"
	};
	const size_t n = sizeof(forms) / sizeof(forms[0]);
	struct lend_plan_options options = options_of(kernel);
	struct site site;

	if (!is_here(kernel))
		return;
	site = site_open();
	for (unsigned i = 0; i < scale(CASES / 4); i++) {
		struct form_extents extents = { { ['a'] = 1 + i % 200,
						  ['b'] = 1 + i % 5,
						  ['c'] = 1 + i % 3 } };
		struct random_einsum einsum =
			form_einsum(forms[i % n], type, &extents, i);

		if (i % 4)
			einsum.beta[0] = 0;
		site_try(&site, &einsum, &options, team_shape(i), FROM_ARENA);
	}
	site_close(&site);
}

/* As if every result were larger than the last cache. */
START_TEST(results_past_the_caches)
{
	struct caches *found = (struct caches *)caches();
	size_t l3 = found->l3;

	found->l3 = 1;
	try_random(names[_i], 2000000, CASES / 4);
	try_products(names[_i], LEND_F64);
	try_products(names[_i], LEND_F32);
	found->l3 = l3;
}
END_TEST

/* ------------------------------------------------------------------------
 * Edges
 * --------------------------------------------------------------------- */

/* How the matrices lie. */
enum lie { COLUMNS, ROWS, SPREAD, LIES };

static void
lay(struct random_tensor *tensor, size_t rows, size_t columns, enum lie lie)
{
	tensor->extent[0] = rows;
	tensor->extent[1] = columns;
	tensor->stride[0] = lie == ROWS ? (ptrdiff_t)columns + 3 :
			    lie == COLUMNS ? 1 : 2;
	tensor->stride[1] = lie == ROWS ? 1 :
			    lie == COLUMNS ? (ptrdiff_t)rows :
			    -2 * (ptrdiff_t)rows;
}

static struct random_einsum
product(enum lend_type type, size_t m, size_t n, size_t k, enum lie lie)
{
	struct random_einsum einsum = {
		.seed = m * 7 + n * 5 + k,
		.text = "ik,kj->ij",
		.type = type,
		.exact = true,
		.alpha = { 2, 0 },
		.beta = { k % 2 ? 0 : -1, 0 },
	};

	ck_assert(naive_parse(einsum.text, einsum.labels));
	lay(&einsum.tensor[A], m, k, lie);
	lay(&einsum.tensor[B], k, n, lie);
	lay(&einsum.tensor[C], m, n, lie);
	return einsum;
}

static struct lend_plan_info
large_info(const struct lend_plan_options *options, enum lend_type type)
{
	struct random_einsum einsum = product(type, LARGE, LARGE, LARGE,
					      COLUMNS);
	struct lend_plan_info info = { .size = sizeof(info) };
	struct lend_layout layout[NAIVE_OPERANDS];
	lend_plan *plan;

	for (int o = A; o <= C; o++)
		layout[o] = random_layout(&einsum, o);
	ck_assert_int_eq(lend_plan_create(&plan, einsum.text, type,
					  &layout[A], &layout[B], &layout[C],
					  options, NULL), 0);
	ck_assert_int_eq(lend_plan_describe(plan, 1, &info), 0);
	ck_assert_str_eq(info.kernel, options->kernel);
	lend_plan_destroy(plan);
	return info;
}

struct edges {
	struct site site;
	struct lend_plan_options options;
	enum lend_type type;
	unsigned turn;
};

/* What is at an edge, and one more, one less. */
static void
try_around(struct edges *edges, size_t m, size_t n, size_t k)
{
	for (int i = 0; i < 27; i++) {
		unsigned turn = edges->turn++;
		struct random_einsum einsum =
			product(edges->type, m - 1 + (size_t)(i % 3),
				n - 1 + (size_t)(i / 3 % 3),
				k - 1 + (size_t)(i / 9),
				(enum lie)(turn % LIES));

		site_try(&edges->site, &einsum, &edges->options,
			 team_shape(turn), FROM_ARENA);
	}
}

static void
try_edges(struct edges *edges)
{
	struct lend_plan_info info = large_info(&edges->options, edges->type);

	ck_assert_uint_gt(info.mr, 0);
	ck_assert_uint_gt(info.nr, 0);
	ck_assert_uint_gt(info.mc, 0);
	ck_assert_uint_gt(info.kc, 1);
	try_around(edges, 1, 1, 1);
	try_around(edges, info.mr, info.nr, 1);
	try_around(edges, info.mr, info.nr, 9);
	try_around(edges, 2 * info.mr, 3 * info.nr, 4);
	if (scale(2) < 2)
		return;
	try_around(edges, info.mr, info.nr, info.kc);
	try_around(edges, 2, 2, 2 * info.kc);
	try_around(edges, info.mc, info.nr, 3);
	try_around(edges, 2 * info.mc, 2, 2);
	try_around(edges, 2, info.nc, 2);
	try_around(edges, info.mr + 2, 2 * info.nc, 1);
}

START_TEST(edges_of_tiles_and_blocks)
{
	struct edges edges = {
		.options = options_of(names[_i / 4]),
		.type = (enum lend_type)(_i % 4),
	};

	if (!is_here(edges.options.kernel))
		return;
	edges.site = site_open();
	try_edges(&edges);
	site_close(&edges.site);
}
END_TEST

/* The portable one is everywhere; what the processor lacks is refused. */
START_TEST(what_is_not_here_is_refused)
{
	struct random_einsum einsum = product(LEND_F64, 4, 4, 4, ROWS);
	struct lend_layout a = random_layout(&einsum, A);
	struct lend_layout b = random_layout(&einsum, B);

	ck_assert(is_here("portable"));
	for (int i = 0; i < NAMES; i++) {
		struct lend_plan_options options = options_of(names[i]);
		lend_plan *plan = NULL;
		int error = lend_plan_create(&plan, einsum.text, LEND_F64, &a,
					     &b, NULL, &options, NULL);

		ck_assert_int_eq(error, is_here(names[i]) ? 0 : -EINVAL);
		lend_plan_destroy(plan);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_kernels");
	TCase *tcase = suite_case(suite, "kernels");

	tcase_add_loop_test(tcase, random_contractions, 0, NAMES);
	tcase_add_loop_test(tcase, results_past_the_caches, 0, NAMES);
	tcase_add_loop_test(tcase, edges_of_tiles_and_blocks, 0, 4 * NAMES);
	tcase_add_test(tcase, what_is_not_here_is_refused);
	return suite_run(suite);
}
