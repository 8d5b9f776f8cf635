/* SPDX-License-Identifier: MIT */
/* What --verify compares with, and that it finds what is wrong. */
#include "tools/naive.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "support/suite.h"

static const size_t two[] = { 2, 2 };
static const struct lend_layout matrix = { 2, two, NULL };
static const struct lend_layout scalar = { 0, NULL, NULL };
static const struct lend_layout vector = { 1, two, NULL };
static const double a[] = { 1, 2, 3, 4 }, b[] = { 5, 6, 7, 8 };

static void
prepare(struct naive *naive, const char *einsum, const struct lend_layout *c)
{
	struct message why = { "" };

	if (!naive_prepare(naive, einsum, LEND_F64, &matrix, &matrix, c, NULL,
			   &why))
		ck_abort_msg("refused: %s", why.text);
	naive->a = a;
	naive->b = b;
}

static const struct {
	const char *einsum;
	const struct lend_layout *c;
	double want[4];
} contractions[] = {
	{ "ab,bc->ac", &matrix, { 19, 22, 43, 50 } },
	{ "ab,bc->ca", &matrix, { 19, 43, 22, 50 } },
	{ "ba,bc", &matrix, { 26, 30, 38, 44 } },
	{ "cb,ba", &matrix, { 19, 43, 22, 50 } },
	{ "ab,ab->ab", &matrix, { 5, 12, 21, 32 } },
	{ "ab,ab->", &scalar, { 70 } },
	{ "ab, cd ->", &scalar, { 260 } },
	{ "aa,bb->ab", &matrix, { 5, 8, 20, 32 } },
	{ "aa,aa->a", &vector, { 5, 32 } },
	{ "ab,cb->b", &vector, { 48, 84 } },
	{ "αβ,βγ->αγ", &matrix, { 19, 22, 43, 50 } },
	{ "𝛼β,βa->𝛼a", &matrix, { 19, 22, 43, 50 } },
};

START_TEST(contracts)
{
	struct naive naive;

	prepare(&naive, contractions[_i].einsum, contractions[_i].c);
	for (size_t i = 0; i < naive.elements; i++) {
		ptrdiff_t offset;
		struct naive_element e = naive_element(&naive, i, &offset);

		ck_assert_int_eq(offset, (ptrdiff_t)i);
		ck_assert_double_eq((double)e.value[0],
				    contractions[_i].want[i]);
		ck_assert_double_eq((double)e.value[1], 0);
		ck_assert_double_eq((double)e.magnitude,
				    contractions[_i].want[i]);
	}
}
END_TEST

START_TEST(scales_and_adds)
{
	static const ptrdiff_t columns[] = { 1, 2 };
	static const struct lend_layout fortran = { 2, two, columns };
	/* (1 + 2i) (3 - i) = 5 + 5i */
	static const float x[] = { 1, 2 }, y[] = { 3, -1 };
	struct naive naive;
	struct naive_element e;
	ptrdiff_t offset;

	ck_assert(naive_prepare(&naive, "ab,bc->ac", LEND_F64, &matrix,
				&matrix, &matrix, &fortran, NULL));
	naive.a = a;
	naive.b = b;
	naive.c0 = a;
	naive.alpha[0] = -2;
	naive.beta[0] = 10;
	e = naive_element(&naive, 1, &offset);
	ck_assert_double_eq((double)e.value[0], -2 * 22 + 10 * 3);
	ck_assert_double_eq((double)e.magnitude, 2 * 22 + 10 * 3);
	ck_assert(naive_prepare(&naive, ",->", LEND_CF32, &scalar, &scalar,
				&scalar, NULL, NULL));
	naive.a = x;
	naive.b = y;
	e = naive_element(&naive, 0, &offset);
	ck_assert_double_eq((double)e.value[0], 5);
	ck_assert_double_eq((double)e.value[1], 5);
	naive.alpha[0] = 0;
	naive.alpha[1] = 1;
	e = naive_element(&naive, 0, &offset);
	ck_assert_double_eq((double)e.value[0], -5);
	ck_assert_double_eq((double)e.value[1], 5);
}
END_TEST

START_TEST(finds_the_wrong_one)
{
	double c[] = { 19, 22, 43, 50 };
	/* 8 x epsilon x 2 terms x 43. */
	double bound = 8 * DBL_EPSILON * 2 * 43;
	struct naive_verdict verdict;
	struct lend_exec serial;
	struct naive naive;
	char place[32];

	lend_exec_serial(&serial);
	prepare(&naive, "ab,bc->ac", &matrix);
	naive_verify(&naive, c, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 0);
	c[2] = 43 + 0.9 * bound;
	naive_verify(&naive, c, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 0);
	ck_assert_uint_eq(verdict.worst, 2);
	c[2] = 43 + 1.1 * bound;
	naive_verify(&naive, c, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 1);
	ck_assert_uint_eq(verdict.worst, 2);
	naive_place(&naive, verdict.worst, place, sizeof place);
	ck_assert_str_eq(place, "[1, 0]");
	c[0] = NAN;
	naive_verify(&naive, c, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 2);
	ck_assert_uint_eq(verdict.worst, 0);
}
END_TEST

START_TEST(judges_what_is_not_finite)
{
	static const double infinite[] = { INFINITY, 2, 3, 4 };
	static const double large[] = { 1e308, 1e308, 1e308, -1e308 };
	double c[] = { INFINITY, INFINITY, 43, 50 };
	struct naive_verdict verdict;
	struct lend_exec serial;
	struct naive naive;

	lend_exec_serial(&serial);
	prepare(&naive, "ab,bc->ac", &matrix);
	naive.a = infinite;
	naive_verify(&naive, c, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 0);
	c[1] = 22;
	naive_verify(&naive, c, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 1);
	/* 5e308 + 7e308 is too large; 5e308 - 7e308 is too on its way. */
	naive.a = large;
	c[0] = c[1] = INFINITY;
	c[2] = -INFINITY;
	c[3] = NAN;
	naive_verify(&naive, c, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 0);
}
END_TEST

START_TEST(has_no_elements)
{
	static const size_t none[] = { 0, 2 };
	static const struct lend_layout empty = { 2, none, NULL };
	struct naive_verdict verdict;
	struct lend_exec serial;
	struct naive naive;

	lend_exec_serial(&serial);
	ck_assert(naive_prepare(&naive, "ab,bc->ac", LEND_F64, &empty,
				&matrix, &empty, NULL, NULL));
	ck_assert_uint_eq(naive.elements, 0);
	naive_verify(&naive, NULL, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 0);
	/* A sum of nothing is 0. */
	ck_assert(naive_prepare(&naive, "ba,bc->ac", LEND_F64, &empty, &empty,
				&matrix, NULL, NULL));
	ck_assert_uint_eq(naive.terms, 0);
	naive_verify(&naive, (double[]){ 0, 0, 0, 0 }, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 0);
	naive_verify(&naive, (double[]){ 0, 0, 0, 1e-300 }, &serial, &verdict);
	ck_assert_uint_eq(verdict.wrong, 1);
}
END_TEST

START_TEST(refuses_what_does_not_fit)
{
	struct naive naive;
	struct message why = { "" };

	ck_assert(!naive_prepare(&naive, "abc,bc->ac", LEND_F64, &matrix,
				 &matrix, &matrix, NULL, &why));
	ck_assert_ptr_nonnull(strstr(why.text, "reads otherwise"));
	ck_assert(!naive_prepare(&naive, "ab,bc->ad", LEND_F64, &matrix,
				 &matrix, &matrix, NULL, &why));
	ck_assert(!naive_prepare(&naive, "ab,bc->a", LEND_F64, &matrix,
				 &matrix, &matrix, NULL, &why));
	ck_assert(!naive_prepare(&naive, "ab,bc->aa", LEND_F64, &matrix,
				 &matrix, &matrix, NULL, &why));
	ck_assert(!naive_prepare(&naive, "ab", LEND_F64, &matrix, &matrix,
				 &matrix, NULL, &why));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("naive");
	TCase *elements = suite_case(suite, "elements");
	TCase *verdicts = suite_case(suite, "verdicts");

	tcase_add_loop_test(elements, contracts, 0,
			    sizeof contractions / sizeof contractions[0]);
	tcase_add_test(elements, scales_and_adds);
	tcase_add_test(elements, refuses_what_does_not_fit);
	tcase_add_test(verdicts, finds_the_wrong_one);
	tcase_add_test(verdicts, judges_what_is_not_finite);
	tcase_add_test(verdicts, has_no_elements);
	return suite_run(suite);
}
