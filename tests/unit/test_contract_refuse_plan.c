/* SPDX-License-Identifier: MIT */
/*
 * Plans that are refused: with the error that was promised, and with a
 * message that names what was wrong.
 */
#include "lend/contract.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "support/heap.h"
#include "support/suite.h"

#define DIMS 5

/* Extents end with END, strides are absent where the first is NONE. */
#define END SIZE_MAX
#define NONE PTRDIFF_MAX

struct given {
	size_t extent[DIMS];
	ptrdiff_t stride[DIMS];
};

/* A tensor without strides. */
#define EXTENTS(...) { { __VA_ARGS__, END }, { NONE } }
#define SCALAR { { END }, { NONE } }

struct bad_plan {
	const char *einsum;
	struct given a, b, c;	/* all of C END: null */
	int error;
	/* What the message must name. */
	const char *word[3];
};

#define NO_OUTPUT SCALAR
#define HUGE_EXTENT ((size_t)1 << 40)

static const struct bad_plan bad_plans[] = {
	/* The text. */
	{ "", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL, { "," } },
	{ "ab", EXTENTS(2, 3), EXTENTS(2), NO_OUTPUT, -EINVAL, { "," } },
	{ "ab->ab", EXTENTS(2, 3), EXTENTS(2), NO_OUTPUT, -EINVAL, { "," } },
	{ "a,b,c->abc", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL,
	  { "operand" } },
	{ "a...,b->ab", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL,
	  { "ellipsis", "1" } },
	{ "a,b-ab", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL, { "->" } },
	{ "a,b>ab", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL, { "->" } },
	{ "a,b->a->b", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL,
	  { "6" } },
	{ "a,b->ab,", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL, { "7" } },
	{ "a\xff,b->ab", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL,
	  { "UTF-8", "1" } },
	/* Cut short, overlong, a surrogate, beyond the last code point. */
	{ "a,b->a\xe4\xb8", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL,
	  { "UTF-8", "6" } },
	{ "\xc0\x80,b->b", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL,
	  { "UTF-8", "0" } },
	{ "\xed\xa0\x80,b->b", EXTENTS(2), EXTENTS(2), NO_OUTPUT, -EINVAL,
	  { "UTF-8", "0" } },
	{ "\xf4\x90\x80\x80,b->b", EXTENTS(2), EXTENTS(2), NO_OUTPUT,
	  -EINVAL, { "UTF-8", "0" } },
	/* Labels. */
	{ "ab,bc->ad", EXTENTS(2, 3), EXTENTS(3, 4), NO_OUTPUT, -EINVAL,
	  { "'d'", "output" } },
	{ "ab,bc->a\xce\xb1", EXTENTS(2, 3), EXTENTS(3, 4), NO_OUTPUT,
	  -EINVAL, { "'\xce\xb1'", "output" } },
	{ "ab,bc->aa", EXTENTS(2, 3), EXTENTS(3, 4), NO_OUTPUT, -EINVAL,
	  { "'a'", "output", "twice" } },
	/* Extents. */
	{ "ab,bc->ac", EXTENTS(2, 3), EXTENTS(4, 5), NO_OUTPUT, -EINVAL,
	  { "'b'", "3", "4" } },
	{ "aa,b->ab", EXTENTS(2, 3), EXTENTS(4), NO_OUTPUT, -EINVAL,
	  { "'a'", "2", "3" } },
	{ "ab,bc->ac", EXTENTS(2, 3), EXTENTS(3, 5), EXTENTS(2, 7), -EINVAL,
	  { "'c'", "5", "7" } },
	{ "ab,bc->ac", EXTENTS(2, 3, 4), EXTENTS(3, 5), NO_OUTPUT, -EINVAL,
	  { "first", "3", "2" } },
	{ "ab,bc->ac", EXTENTS(2, 3), EXTENTS(3), NO_OUTPUT, -EINVAL,
	  { "second", "1", "2" } },
	{ "ab,bc->ac", EXTENTS(2, 3), EXTENTS(3, 5), EXTENTS(2), -EINVAL,
	  { "output", "1", "2" } },
	/* Strides of the output. */
	{ "a,b->ab", EXTENTS(3), EXTENTS(4), { { 3, 4, END }, { 0, 1 } },
	  -EINVAL, { "output", "0" } },
	{ "a,b->ab", EXTENTS(3), EXTENTS(4), { { 3, 4, END }, { 3, 1 } },
	  -EINVAL, { "output", "3" } },
	{ "a,b->ab", EXTENTS(3), EXTENTS(4), { { 3, 4, END }, { -3, 1 } },
	  -EINVAL, { "output", "-3" } },
	{ "a,b->ab", EXTENTS(3), EXTENTS(4), { { 3, 4, END }, { 1, 1 } },
	  -EINVAL, { "output", "1" } },
	/* What does not fit. */
	{ "ab,c->ac", EXTENTS(HUGE_EXTENT, HUGE_EXTENT), EXTENTS(2),
	  NO_OUTPUT, -EOVERFLOW, { "first" } },
	{ "a,b->ab", EXTENTS(HUGE_EXTENT), EXTENTS(HUGE_EXTENT), NO_OUTPUT,
	  -EOVERFLOW, { "output" } },
	{ "a,b->", { { HUGE_EXTENT, END }, { PTRDIFF_MAX / 4 } },
	  EXTENTS(2), NO_OUTPUT, -EOVERFLOW, { "first" } },
	{ "abc,abd->", { { HUGE_EXTENT, HUGE_EXTENT, 2, END }, { 0, 0, 1 } },
	  { { HUGE_EXTENT, HUGE_EXTENT, 2, END }, { 0, 0, 1 } }, NO_OUTPUT,
	  -EOVERFLOW, { "'b'" } },
};

#define BAD_PLANS ((int)(sizeof(bad_plans) / sizeof(bad_plans[0])))

static struct lend_layout
layout_of(const struct given *given)
{
	struct lend_layout layout = { .extent = given->extent };

	while (given->extent[layout.rank] != END)
		layout.rank++;
	if (given->stride[0] != NONE)
		layout.stride = given->stride;
	return layout;
}

static int
create(lend_plan **plan, const struct bad_plan *bad, struct lend_error *why)
{
	struct lend_layout a = layout_of(&bad->a), b = layout_of(&bad->b);
	struct lend_layout c = layout_of(&bad->c);

	return lend_plan_create(plan, bad->einsum, LEND_F64, &a, &b,
				c.rank ? &c : NULL, NULL, why);
}

START_TEST(bad_plans_are_refused)
{
	const struct bad_plan *bad = &bad_plans[_i];
	struct lend_error why = { "" };
	lend_plan *plan = (lend_plan *)&why;
	int error = create(&plan, bad, &why);

	ck_assert_msg(error == bad->error, "\"%s\": %d instead of %d (%s)",
		      bad->einsum, error, bad->error, why.text);
	ck_assert_ptr_eq(plan, &why);
	for (int i = 0; i < 3 && bad->word[i]; i++)
		ck_assert_msg(strstr(why.text, bad->word[i]),
			      "\"%s\": no %s in \"%s\"", bad->einsum,
			      bad->word[i], why.text);
	/* The message is wanted by nobody. */
	ck_assert_int_eq(create(&plan, bad, NULL), bad->error);
}
END_TEST

START_TEST(null_arguments_are_refused)
{
	struct given two = EXTENTS(2);
	struct lend_layout a = layout_of(&two), none = { .rank = 1 };
	struct lend_plan_info info = { .size = sizeof(info) };
	lend_plan *plan;
	struct lend_req req;
	size_t pm, pn;

	ck_assert_int_eq(lend_plan_create(NULL, "a,a->", LEND_F32, &a, &a,
					  NULL, NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_plan_create(&plan, NULL, LEND_F32, &a, &a, NULL,
					  NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_plan_create(&plan, "a,a->", LEND_F32, NULL, &a,
					  NULL, NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_plan_create(&plan, "a,a->", LEND_F32, &a, NULL,
					  NULL, NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_plan_create(&plan, "a,a->", LEND_F32, &a, &none,
					  NULL, NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_plan_create(&plan, "a,a->", (enum lend_type)77,
					  &a, &a, NULL, NULL, NULL), -EINVAL);
	ck_assert_int_eq(lend_plan_create(&plan, "a,a->", LEND_F32, &a, &a,
					  NULL, NULL, NULL), 0);
	ck_assert_int_eq(lend_plan_req(NULL, 1, 1, &req), -EINVAL);
	ck_assert_int_eq(lend_plan_req(plan, 0, 1, &req), -EINVAL);
	ck_assert_int_eq(lend_plan_req(plan, 1, 0, &req), -EINVAL);
	ck_assert_int_eq(lend_plan_req(plan, 1, 1, NULL), -EINVAL);
	ck_assert_int_eq(lend_plan_team(plan, 0, &pm, &pn), -EINVAL);
	ck_assert_int_eq(lend_plan_team(plan, 1, NULL, &pn), -EINVAL);
	ck_assert_int_eq(lend_plan_team(plan, 1, &pm, NULL), -EINVAL);
	ck_assert_int_eq(lend_plan_describe(plan, 1, NULL), -EINVAL);
	ck_assert_int_eq(lend_plan_describe(plan, 0, &info), -EINVAL);
	info.size--;
	ck_assert_int_eq(lend_plan_describe(plan, 1, &info), -EINVAL);
	lend_plan_destroy(plan);
	lend_plan_destroy(NULL);
}
END_TEST

START_TEST(bad_options_are_refused)
{
	struct given two = EXTENTS(2);
	struct lend_layout a = layout_of(&two);
	struct lend_plan_options options = {
		.size = sizeof(options), .kernel = "abacus"
	};
	struct lend_error why = { "" };
	lend_plan *plan;

	ck_assert_int_eq(lend_plan_create(&plan, "a,a->", LEND_F32, &a, &a,
					  NULL, &options, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "abacus"));
	options = (struct lend_plan_options){ .size = sizeof(options) - 1 };
	ck_assert_int_eq(lend_plan_create(&plan, "a,a->", LEND_F32, &a, &a,
					  NULL, &options, &why), -EINVAL);
}
END_TEST

/* `n` different labels of two bytes, from the i-th on. */
static char *
put_labels(char *to, unsigned i, unsigned n)
{
	for (unsigned end = i + n; i < end; i++) {
		*to++ = (char)(0xc4 + i / 64);
		*to++ = (char)(0x80 + i % 64);
	}
	*to = '\0';
	return to;
}

static int
create_with_labels(unsigned of_a, unsigned of_b, struct lend_error *why)
{
	size_t extent[LEND_MAX_RANK + 1];
	struct lend_layout a = { of_a, extent, NULL };
	struct lend_layout b = { of_b, extent, NULL };
	char text[4 * LEND_MAX_RANK + 16];
	char *end = put_labels(text, 0, of_a);
	lend_plan *plan = NULL;
	int error;

	for (int i = 0; i <= LEND_MAX_RANK; i++)
		extent[i] = 1;
	*end++ = ',';
	put_labels(end, of_a, of_b);
	error = lend_plan_create(&plan, text, LEND_F64, &a, &b, NULL, NULL,
				 why);
	lend_plan_destroy(plan);
	return error;
}

START_TEST(more_labels_than_there_may_be_are_refused)
{
	struct lend_error why = { "" };

	ck_assert_int_eq(create_with_labels(LEND_MAX_RANK, 0, &why), 0);
	ck_assert_int_eq(create_with_labels(LEND_MAX_RANK - 3, 3, &why), 0);
	ck_assert_int_eq(create_with_labels(LEND_MAX_RANK + 1, 0, &why),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "64"));
	ck_assert_int_eq(create_with_labels(LEND_MAX_RANK - 3, 4, &why),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "64"));
}
END_TEST

/* Every allocation of a plan's making fails once; nothing is left behind. */
START_TEST(a_plan_without_memory_is_refused)
{
	struct given given = EXTENTS(3, 4);
	struct lend_layout a = layout_of(&given);
	struct lend_error why;
	lend_plan *plan;
	unsigned long n;

	for (n = 1;; n++) {
		unsigned long before = heap_outstanding(), after;
		int error;

		why.text[0] = '\0';
		heap_fail_nth(n);
		error = lend_plan_create(&plan, "ab,cb->ac", LEND_F64, &a, &a,
					 NULL, NULL, &why);
		after = heap_outstanding();
		if (heap_pending()) {
			heap_fail_nth(0);
			ck_assert_int_eq(error, 0);
			break;
		}
		ck_assert_int_eq(error, -ENOMEM);
		ck_assert_ptr_nonnull(strstr(why.text, "memory"));
		ck_assert_uint_eq(after, before);
	}
	if (heap_counts())
		ck_assert_uint_ge(n, 2);
	lend_plan_destroy(plan);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_refuse_plan");
	TCase *tcase = suite_case(suite, "plans");

	tcase_add_loop_test(tcase, bad_plans_are_refused, 0, BAD_PLANS);
	tcase_add_test(tcase, null_arguments_are_refused);
	tcase_add_test(tcase, bad_options_are_refused);
	tcase_add_test(tcase, more_labels_than_there_may_be_are_refused);
	tcase_add_test(tcase, a_plan_without_memory_is_refused);
	return suite_run(suite);
}
