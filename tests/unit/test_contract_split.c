/* SPDX-License-Identifier: MIT */
/*
 * What a team's column groups divide: columns, the batch, or a deep sum, whose
 * partial results must come together.  All numbers are small integers, so the
 * results are exact.
 */
#include <check.h>
#include <complex.h>
#include <stdlib.h>

#include "lend/contract.h"
#include "support/contract_site.h"
#include "support/suite.h"

#define M 5
#define N 7
/* Deep enough for every team here, and odd. */
#define K 70001

static double a[M][K], b[K][N], c[M][N], expected[M][N];
static double complex za[M][K], zb[K][N], zc[M][N], zexpected[M][N];

static const size_t extent_a[] = { M, K }, extent_b[] = { K, N };
static const struct lend_layout layout_a = { 2, extent_a, NULL };
static const struct lend_layout layout_b = { 2, extent_b, NULL };

static double
small(size_t i)
{
	return (double)(i * 2654435761u % 5) - 2;
}

/* What is there before an execution. */
static void
fill_results(void)
{
	for (size_t i = 0; i < M; i++)
		for (size_t j = 0; j < N; j++) {
			c[i][j] = small(i + j);
			zc[i][j] = c[i][j] + I;
		}
}

/* Once: it takes its time under tools. */
static void
fill(void)
{
	fill_results();
	for (size_t k = 0; k < K; k++) {
		for (size_t i = 0; i < M; i++) {
			a[i][k] = small(k + 3 * i);
			za[i][k] = a[i][k] + I * small(k + i + 1);
		}
		for (size_t j = 0; j < N; j++) {
			b[k][j] = small(2 * k + j);
			zb[k][j] = b[k][j] - I * small(k + 5 * j);
		}
	}
	for (size_t i = 0; i < M; i++)
		for (size_t j = 0; j < N; j++) {
			double sum = 0;
			double complex zsum = 0;

			for (size_t k = 0; k < K; k++) {
				sum += a[i][k] * b[k][j];
				zsum += za[i][k] * zb[k][j];
			}
			expected[i][j] = 3 * sum - 2 * c[i][j];
			zexpected[i][j] = 3 * zsum - 2 * I * zc[i][j];
		}
}

/* Teams whose groups divide the sum, and some whose do not. */
static const struct team_shape shapes[] = {
	{ 1, 1 }, { 1, 2 }, { 1, 3 }, { 1, 8 }, { 2, 2 }, { 4, 2 }, { 0, 0 }
};

static void
execute(const struct site *site, const lend_plan *plan,
	struct lend_call call, struct team_shape team)
{
	struct lend_error why = { "" };

	call.pm = team.pm;
	call.pn = team.pn;
	ck_assert_msg(lend_plan_execute(plan, site->arena, &site->exec, &call,
					&why) == 0, "%s", why.text);
}

START_TEST(a_deep_sum_is_divided)
{
	const double alpha = 3, beta = -2;
	const struct lend_call call = {
		.a = a, .b = b, .c = c, .alpha = &alpha, .beta = &beta
	};
	struct lend_plan_info info = { .size = sizeof(info) };
	struct site site = site_open();
	lend_plan *plan;

	ck_assert_int_eq(lend_plan_create(&plan, "ik,kj->ij", LEND_F64,
					  &layout_a, &layout_b, NULL, NULL,
					  NULL), 0);
	ck_assert_int_eq(lend_plan_describe(plan, 8, &info), 0);
	ck_assert_int_eq(info.split, LEND_SPLIT_K);
	fill_results();
	execute(&site, plan, call, shapes[_i]);
	for (size_t i = 0; i < M; i++)
		for (size_t j = 0; j < N; j++)
			ck_assert_double_eq(c[i][j], expected[i][j]);
	lend_plan_destroy(plan);
	site_close(&site);
}
END_TEST

/* With a factor of C that no kernel knows. */
START_TEST(a_deep_complex_sum_is_divided)
{
	const double complex alpha = 3, beta = -2 * I;
	const struct lend_call call = {
		.a = za, .b = zb, .c = zc, .alpha = &alpha, .beta = &beta
	};
	struct site site = site_open();
	lend_plan *plan;

	ck_assert_int_eq(lend_plan_create(&plan, "ik,kj->ij", LEND_CF64,
					  &layout_a, &layout_b, NULL, NULL,
					  NULL), 0);
	fill_results();
	execute(&site, plan, call, shapes[_i]);
	for (size_t i = 0; i < M; i++)
		for (size_t j = 0; j < N; j++) {
			ck_assert_double_eq(creal(zc[i][j]),
					    creal(zexpected[i][j]));
			ck_assert_double_eq(cimag(zc[i][j]),
					    cimag(zexpected[i][j]));
		}
	lend_plan_destroy(plan);
	site_close(&site);
}
END_TEST

/* A dot product: a single row and column, by the loops. */
START_TEST(a_dot_product_is_divided)
{
	const size_t extent[] = { K };
	const struct lend_layout layout = { 1, extent, NULL };
	double sum = 0, dot = 0;
	const struct lend_call call = { .a = a[0], .b = a[1], .c = &dot };
	struct site site = site_open();
	lend_plan *plan;

	ck_assert_int_eq(lend_plan_create(&plan, "k,k->", LEND_F64, &layout,
					  &layout, NULL, NULL, NULL), 0);
	for (size_t k = 0; k < K; k++)
		sum += a[0][k] * a[1][k];
	execute(&site, plan, call, shapes[_i]);
	ck_assert_double_eq(dot, sum);
	lend_plan_destroy(plan);
	site_close(&site);
}
END_TEST

int
main(void)
{
	const int count = sizeof(shapes) / sizeof(shapes[0]);
	Suite *suite = suite_create("contract_split");
	TCase *tcase = suite_case(suite, "split");

	fill();
	tcase_add_loop_test(tcase, a_deep_sum_is_divided, 0, count);
	tcase_add_loop_test(tcase, a_deep_complex_sum_is_divided, 0, count);
	tcase_add_loop_test(tcase, a_dot_product_is_divided, 0, count);
	return suite_run(suite);
}
