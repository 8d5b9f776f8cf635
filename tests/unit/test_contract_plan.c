/* SPDX-License-Identifier: MIT */
/*
 * What a plan says about itself: the output, the matrices, the team, what it
 * borrows.
 */
#include "lend/contract.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "support/suite.h"

/* Extents by label: a has the first. */
#define LABELS 8

static const size_t extent_of[LABELS] = { 2, 3, 5, 7, 11, 13, 17, 19 };

#define RANK 8

struct tensor {
	size_t extent[RANK];
	struct lend_layout layout;
};

/* The labels from *text up to something that is none. */
static void
take_tensor(struct tensor *tensor, const char **text)
{
	tensor->layout = (struct lend_layout){ 0, tensor->extent, NULL };
	for (; **text >= 'a' && **text <= 'z'; ++*text)
		tensor->extent[tensor->layout.rank++] =
			extent_of[**text - 'a'];
}

/* A plan of row-major tensors. */
static lend_plan *
plan_of(const char *text, enum lend_type type)
{
	const char *at = text;
	struct tensor a, b;
	lend_plan *plan;

	take_tensor(&a, &at);
	at++;
	take_tensor(&b, &at);
	ck_assert_int_eq(lend_plan_create(&plan, text, type, &a.layout,
					  &b.layout, NULL, NULL, NULL), 0);
	return plan;
}

static lend_plan *
matrices(size_t m, size_t n, size_t k, enum lend_type type)
{
	size_t of_a[] = { m, k }, of_b[] = { k, n };
	struct lend_layout a = { 2, of_a, NULL }, b = { 2, of_b, NULL };
	lend_plan *plan;

	ck_assert_int_eq(lend_plan_create(&plan, "mk,kn->mn", type, &a, &b,
					  NULL, NULL, NULL), 0);
	return plan;
}

static struct lend_plan_info
describe(const lend_plan *plan, size_t budget)
{
	struct lend_plan_info info = { .size = sizeof(info) };

	ck_assert_int_eq(lend_plan_describe(plan, budget, &info), 0);
	return info;
}

START_TEST(types_have_sizes)
{
	ck_assert_uint_eq(lend_type_bytes(LEND_F32), 4);
	ck_assert_uint_eq(lend_type_bytes(LEND_F64), 8);
	ck_assert_uint_eq(lend_type_bytes(LEND_CF32), 8);
	ck_assert_uint_eq(lend_type_bytes(LEND_CF64), 16);
	ck_assert_uint_eq(lend_type_bytes((enum lend_type)99), 0);
}
END_TEST

/* ------------------------------------------------------------------------
 * The output
 * --------------------------------------------------------------------- */

static const struct {
	const char *text;
	const char *output;	/* its labels */
} outputs[] = {
	{ "ab,bc->ac", "ac" },
	{ "ab,bc->ca", "ca" },
	{ "ab,bc", "ac" },
	{ "ba,bc", "ac" },
	{ "ca,ab", "bc" },
	{ "hgf,f", "gh" },
	{ "aab,c", "bc" },
	{ "ab,ab", "" },
	{ "ab,ab->ba", "ba" },
	{ "abc,cde->eabd", "eabd" },
	{ ",", "" },
	{ "a,->a", "a" },
};

#define OUTPUTS ((int)(sizeof(outputs) / sizeof(outputs[0])))

START_TEST(the_output_is_row_major)
{
	lend_plan *plan = plan_of(outputs[_i].text, LEND_F32);
	const char *labels = outputs[_i].output;
	struct lend_layout c;
	ptrdiff_t next = 1;

	lend_plan_output(plan, &c);
	ck_assert_uint_eq(c.rank, strlen(labels));
	for (size_t d = c.rank; d-- > 0;) {
		ck_assert_uint_eq(c.extent[d], extent_of[labels[d] - 'a']);
		ck_assert_int_eq(c.stride[d], next);
		next *= (ptrdiff_t)c.extent[d];
	}
	lend_plan_destroy(plan);
}
END_TEST

START_TEST(implied_labels_are_in_the_order_of_their_code_points)
{
	size_t of_a[] = { 2, 3 }, of_b[] = { 5, 7 };
	struct lend_layout a = { 2, of_a, NULL }, b = { 2, of_b, NULL }, c;
	lend_plan *plan;

	/* U+1F600, U+3B1; 'z', U+4E00 */
	ck_assert_int_eq(lend_plan_create(&plan,
		"\xf0\x9f\x98\x80\xce\xb1,z\xe4\xb8\x80", LEND_F32, &a, &b,
		NULL, NULL, NULL), 0);
	lend_plan_output(plan, &c);
	ck_assert_uint_eq(c.rank, 4);
	ck_assert_uint_eq(c.extent[0], 5);
	ck_assert_uint_eq(c.extent[1], 3);
	ck_assert_uint_eq(c.extent[2], 7);
	ck_assert_uint_eq(c.extent[3], 2);
	lend_plan_destroy(plan);
}
END_TEST

/* The plan keeps no pointer into what it was made from. */
START_TEST(the_output_is_as_given)
{
	size_t of_a[] = { 4, 5 }, of_b[] = { 5, 6 }, of_c[] = { 4, 6 };
	ptrdiff_t strides[] = { -2, 9 };
	struct lend_layout a = { 2, of_a, NULL }, b = { 2, of_b, NULL };
	struct lend_layout c = { 2, of_c, strides }, is;
	char text[] = "ab,bc->ac";
	lend_plan *plan;

	ck_assert_int_eq(lend_plan_create(&plan, text, LEND_F64, &a, &b, &c,
					  NULL, NULL), 0);
	memset(text, 0, sizeof(text));
	memset(strides, 0, sizeof(strides));
	memset(of_c, 0, sizeof(of_c));
	lend_plan_output(plan, &is);
	ck_assert_uint_eq(is.rank, 2);
	ck_assert_uint_eq(is.extent[0], 4);
	ck_assert_uint_eq(is.extent[1], 6);
	ck_assert_int_eq(is.stride[0], -2);
	ck_assert_int_eq(is.stride[1], 9);
	lend_plan_destroy(plan);
}
END_TEST

/* ------------------------------------------------------------------------
 * The matrices
 * --------------------------------------------------------------------- */

/* Products of extents: in the order of extent_of. */
static const struct {
	const char *text;
	size_t one, other;	/* m and n, in either order */
	size_t k, batch;
} shapes[] = {
	{ "ab,bc->ac", 2, 5, 3, 1 },
	{ "abc,bcd->ad", 2, 7, 15, 1 },
	{ "abcd,aebf->dfce", 35, 11 * 13, 6, 1 },
	{ "hab,hbc->hac", 2, 5, 3, 19 },
	{ "gahb,hbgc->hacg", 2, 5, 3, 17 * 19 },
};

#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

START_TEST(labels_become_matrices)
{
	lend_plan *plan = plan_of(shapes[_i].text, LEND_F64);
	struct lend_plan_info info = describe(plan, 1);
	size_t m = shapes[_i].one, n = shapes[_i].other;
	size_t k = shapes[_i].k, batch = shapes[_i].batch;

	ck_assert((info.m == m && info.n == n) ||
		  (info.m == n && info.n == m));
	ck_assert_uint_eq(info.k, k);
	ck_assert_uint_eq(info.batch, batch);
	ck_assert_uint_eq(info.sum_a, 1);
	ck_assert_uint_eq(info.sum_b, 1);
	ck_assert_double_eq(info.flops, 2.0 * (double)(m * n * k * batch));
	ck_assert_double_eq(info.bytes, 8.0 * (double)(batch *
			    (m * k + k * n + m * n)));
	ck_assert_int_eq(info.type, LEND_F64);
	lend_plan_destroy(plan);
}
END_TEST

START_TEST(complex_numbers_take_four_times_the_work)
{
	lend_plan *real = matrices(30, 40, 50, LEND_F32);
	lend_plan *complex = matrices(30, 40, 50, LEND_CF32);
	struct lend_plan_info of_real = describe(real, 1);
	struct lend_plan_info of_complex = describe(complex, 1);

	ck_assert_double_eq(of_complex.flops, 4 * of_real.flops);
	ck_assert_double_eq(of_complex.bytes, 2 * of_real.bytes);
	lend_plan_destroy(real);
	lend_plan_destroy(complex);
}
END_TEST

/* Whatever is chosen, each work unit is a multiple of the tile. */
START_TEST(blocks_are_made_of_tiles)
{
	lend_plan *plan = matrices(3000, 3000, 3000, (enum lend_type)_i);
	struct lend_plan_info info = describe(plan, 1);

	ck_assert(!info.loops);
	ck_assert_uint_gt(info.mr, 0);
	ck_assert_uint_gt(info.nr, 0);
	ck_assert_uint_gt(info.kc, 0);
	ck_assert_uint_gt(info.mc, 0);
	ck_assert_uint_gt(info.nc, 0);
	ck_assert_uint_eq(info.mc % info.mr, 0);
	ck_assert_uint_eq(info.nc % info.nr, 0);
	lend_plan_destroy(plan);
}
END_TEST

START_TEST(loops_are_told)
{
	size_t extent[] = { 300, 200 };
	struct lend_layout a = { 2, extent, NULL };
	struct lend_layout b = { 1, extent + 1, NULL };
	lend_plan *product = matrices(300, 300, 300, LEND_F64), *loops;
	struct lend_plan_info info;

	ck_assert_int_eq(lend_plan_create(&loops, "ij,j->i", LEND_F64, &a, &b,
					  NULL, NULL, NULL), 0);
	info = describe(loops, 1);
	ck_assert(info.loops);
	ck_assert(info.in_place);
	ck_assert_uint_eq(info.req.a_bytes, 0);
	/* They have an instruction set as well. */
	ck_assert_str_eq(info.kernel, describe(product, 1).kernel);
	lend_plan_destroy(loops);
	lend_plan_destroy(product);
}
END_TEST

/* No index is what has too many places, though the output has no element. */
START_TEST(indices_that_overflow_stay_apart)
{
	size_t extent[] = { 1 << 20, 2, 2, 2, 4096, 2, 2, (size_t)1 << 44, 0 };
	ptrdiff_t stride[] = { 1, 3, 3, 3, 3, 3, 3, 3, 3 };
	struct lend_layout a = { 9, extent, stride };
	struct lend_layout b = { 8, extent + 1, stride + 1 };
	struct lend_plan_info info;
	lend_plan *plan;

	ck_assert_int_eq(lend_plan_create(&plan,
					  "aABCDEFhz,ABCDEFhz->aABCDEFhz",
					  LEND_F32, &a, &b, &a, NULL, NULL),
			 0);
	info = describe(plan, 1);
	ck_assert_uint_eq(info.m, 1 << 20);
	ck_assert_uint_eq(info.batch, 0);
	lend_plan_destroy(plan);
}
END_TEST

/* Where columns are long: short ones are stored a tile at a time. */
START_TEST(outer_products_are_loops)
{
	lend_plan *plan = matrices(300, 400, 1, LEND_F64);

	ck_assert(describe(plan, 1).loops);
	lend_plan_destroy(plan);
	plan = matrices(400, 10, 1, LEND_F64);
	ck_assert(!describe(plan, 1).loops);
	lend_plan_destroy(plan);
	plan = matrices(300, 400, 2, LEND_F64);
	ck_assert(!describe(plan, 1).loops);
	lend_plan_destroy(plan);
}
END_TEST

/* ------------------------------------------------------------------------
 * The team, and what it borrows
 * --------------------------------------------------------------------- */

static void
assert_same_req(const struct lend_req *a, const struct lend_req *b)
{
	ck_assert(lend_req_covered_by(a, b));
	ck_assert(lend_req_covered_by(b, a));
}

START_TEST(the_request_is_the_teams)
{
	lend_plan *plan = matrices(500, 400, 300, (enum lend_type)(_i % 4));
	struct lend_plan_info info = describe(plan, 1 + (size_t)_i);
	struct lend_req req, one;

	ck_assert_int_eq(lend_plan_req(plan, info.pm, info.pn, &req), 0);
	assert_same_req(&req, &info.req);
	ck_assert_int_eq(lend_plan_req(plan, 1, 1, &one), 0);
	ck_assert(lend_req_covered_by(&one, &req));
	ck_assert_uint_gt(one.a_bytes, 0);
	ck_assert_uint_gt(one.b_bytes, 0);
	ck_assert_uint_eq(one.barriers, 0);
	lend_plan_destroy(plan);
}
END_TEST

START_TEST(groups_that_share_a_panel_have_a_barrier_each)
{
	lend_plan *plan = matrices(500, 400, 300, LEND_F64);
	struct lend_req req, alone;

	ck_assert_int_eq(lend_plan_req(plan, 4, 2, &req), 0);
	ck_assert_uint_eq(req.barriers, 2);
	ck_assert_int_eq(lend_plan_req(plan, 1, 2, &alone), 0);
	ck_assert_uint_eq(alone.barriers, 0);
	ck_assert_uint_eq(alone.a_bytes, req.a_bytes);
	lend_plan_destroy(plan);
}
END_TEST

START_TEST(requests_that_do_not_fit_overflow)
{
	lend_plan *plan = matrices(500, 400, 300, LEND_F64);
	struct lend_req req;

	ck_assert_int_eq(lend_plan_req(plan, SIZE_MAX, 2, &req), -EOVERFLOW);
	ck_assert_int_eq(lend_plan_req(plan, 1, SIZE_MAX / 2, &req),
			 -EOVERFLOW);
	lend_plan_destroy(plan);
}
END_TEST

/* Blocks are borrowed, never a whole tensor. */
START_TEST(the_request_does_not_grow_with_the_tensors)
{
	lend_plan *small = matrices(6000, 6000, 6000, LEND_F64);
	lend_plan *large = matrices(600000, 600000, 600000, LEND_F64);
	struct lend_req of_small, of_large;
	size_t bytes;

	ck_assert_int_eq(lend_plan_req(small, 1, 1, &of_small), 0);
	ck_assert_int_eq(lend_plan_req(large, 1, 1, &of_large), 0);
	ck_assert_int_eq(lend_req_bytes(&of_large, &bytes), 0);
	/* A cache's worth; a matrix has 288 MB, or 2.9 TB. */
	ck_assert_uint_lt(bytes, (size_t)64 << 20);
	lend_plan_destroy(small);
	lend_plan_destroy(large);
}
END_TEST

START_TEST(teams_keep_to_the_budget)
{
	static const size_t sizes[][3] = {
		{ 1, 1, 1 }, { 16, 16, 16 }, { 200, 300, 400 },
		{ 3000, 3000, 3000 }, { 5, 5, 1000000 }, { 100000, 4, 10 },
		{ 4, 100000, 10 }, { 1, 1000, 1000 }, { 0, 100, 100 },
	};
	const size_t *size = sizes[_i];
	lend_plan *plan = matrices(size[0], size[1], size[2], LEND_F64);

	for (size_t budget = 1; budget <= 16; budget++) {
		size_t pm = 0, pn = 0;

		ck_assert_int_eq(lend_plan_team(plan, budget, &pm, &pn), 0);
		ck_assert_uint_ge(pm, 1);
		ck_assert_uint_ge(pn, 1);
		ck_assert_uint_le(pm * pn, budget);
		ck_assert_uint_eq(describe(plan, budget).pm, pm);
		ck_assert_uint_eq(describe(plan, budget).pn, pn);
	}
	lend_plan_destroy(plan);
}
END_TEST

/* Nobody is woken for little work; much work is for all. */
START_TEST(teams_are_as_large_as_the_work)
{
	lend_plan *little = matrices(16, 16, 16, LEND_F64);
	lend_plan *much = matrices(3000, 3000, 3000, LEND_F64);
	size_t pm, pn;

	ck_assert_int_eq(lend_plan_team(little, 8, &pm, &pn), 0);
	ck_assert_uint_eq(pm * pn, 1);
	ck_assert_int_eq(lend_plan_team(much, 8, &pm, &pn), 0);
	ck_assert_uint_eq(pm * pn, 8);
	lend_plan_destroy(little);
	lend_plan_destroy(much);
}
END_TEST

/* Where rows and columns are few, the sum is divided. */
START_TEST(a_long_sum_is_split)
{
	lend_plan *plan = matrices(8, 8, 2000000, LEND_F64);
	struct lend_plan_info info = describe(plan, 4);

	ck_assert_uint_gt(info.pm * info.pn, 1);
	ck_assert_int_eq(info.split, LEND_SPLIT_K);
	lend_plan_destroy(plan);
}
END_TEST

/* Of many small products, each thread has its own. */
START_TEST(a_batch_is_split)
{
	size_t of_a[] = { 100000, 8, 8 };
	struct lend_layout a = { 3, of_a, NULL };
	struct lend_plan_info info;
	lend_plan *plan;

	ck_assert_int_eq(lend_plan_create(&plan, "abc,acd->abd", LEND_F64,
					  &a, &a, NULL, NULL, NULL), 0);
	info = describe(plan, 4);
	ck_assert_uint_gt(info.pm * info.pn, 1);
	ck_assert_int_eq(info.split, LEND_SPLIT_BATCH);
	lend_plan_destroy(plan);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_plan");
	TCase *tcase = suite_case(suite, "plan");

	tcase_add_test(tcase, types_have_sizes);
	tcase_add_loop_test(tcase, the_output_is_row_major, 0, OUTPUTS);
	tcase_add_test(tcase,
		       implied_labels_are_in_the_order_of_their_code_points);
	tcase_add_test(tcase, the_output_is_as_given);
	tcase_add_loop_test(tcase, labels_become_matrices, 0, SHAPES);
	tcase_add_test(tcase, complex_numbers_take_four_times_the_work);
	tcase_add_loop_test(tcase, blocks_are_made_of_tiles, 0, 4);
	tcase_add_test(tcase, loops_are_told);
	tcase_add_test(tcase, outer_products_are_loops);
	tcase_add_test(tcase, indices_that_overflow_stay_apart);
	tcase_add_loop_test(tcase, the_request_is_the_teams, 0, 12);
	tcase_add_test(tcase, groups_that_share_a_panel_have_a_barrier_each);
	tcase_add_test(tcase, requests_that_do_not_fit_overflow);
	tcase_add_test(tcase, the_request_does_not_grow_with_the_tensors);
	tcase_add_loop_test(tcase, teams_keep_to_the_budget, 0, 9);
	tcase_add_test(tcase, teams_are_as_large_as_the_work);
	tcase_add_test(tcase, a_long_sum_is_split);
	tcase_add_test(tcase, a_batch_is_split);
	return suite_run(suite);
}
