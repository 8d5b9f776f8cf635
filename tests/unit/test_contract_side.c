/* SPDX-License-Identifier: MIT */
/*
 * Many small products that lie side by side: rows, columns, sums and batch in
 * every order, with extents at and off the edges of tiles and runs.
 */
#include "lend/contract.h"

#include <check.h>

#include "contract/kernel.h"
#include "contract/plan.h"
#include "support/contract_site.h"
#include "support/einsum_form.h"
#include "support/einsum_random.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define CASES 12

enum { A, B, C };

static const char *const names[] = { "avx512", "avx2", "portable" };

#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

/*
 * x: the batch at unit stride; i, m: rows; j, n: columns; k, l: summed; z:
 * batch as well.  Column-major: the first label has the unit stride.
 */
static const char *const forms[] = {
	"xik,xkj->xij",
	"xki,xjk->xji",
	"xikl,xlkj->xij",
	"xikz,xzkj->xizj",
	"xmik,xkjn->xjmni",
	"xi,xj->xij"
};

#define FORMS ((int)(sizeof(forms) / sizeof(forms[0])))

static struct form_extents
choose(uint64_t *seed)
{
	struct form_extents e = { { 0 } };

	/* Of f32, 128 are a run. */
	e.of['x'] = PLAN_LEAST_RUN + random_below(seed, 260);
	e.of['i'] = 2 + random_below(seed, 8);
	e.of['j'] = 2 + random_below(seed, 8);
	e.of['k'] = 2 + random_below(seed, 5);
	e.of['l'] = e.of['z'] = e.of['m'] = e.of['n'] = 2;
	return e;
}

static struct random_einsum
make(uint64_t number, const char *form, enum lend_type type)
{
	uint64_t seed = number;
	struct form_extents extents = choose(&seed);
	struct random_einsum einsum =
		form_einsum(form, type, &extents, seed);

	einsum.seed = number;
	return einsum;
}

/* Whether it is done side by side; by loops otherwise. */
static bool
is_side(const struct random_einsum *einsum,
	const struct lend_plan_options *options)
{
	struct lend_plan_info info = { .size = sizeof(info) };
	struct lend_layout layout[NAIVE_OPERANDS];
	enum method method;
	lend_plan *plan;

	for (int o = A; o <= C; o++)
		layout[o] = random_layout(einsum, o);
	ck_assert_int_eq(lend_plan_create(&plan, einsum->text, einsum->type,
					  &layout[A], &layout[B], &layout[C],
					  options, NULL), 0);
	ck_assert_int_eq(lend_plan_describe(plan, 1, &info), 0);
	ck_assert(info.loops);
	method = plan->method;
	ck_assert(method == METHOD_SIDE || method == METHOD_LOOPS);
	lend_plan_destroy(plan);
	return method == METHOD_SIDE;
}

/* By kernel and form. */
static void
try_form(int index, enum lend_type type)
{
	const char *name = names[index % NAMES], *form = forms[index / NAMES];
	struct lend_plan_options options = {
		.size = sizeof(options), .kernel = name
	};
	unsigned side = 0, cases = scale(CASES);
	struct site site;

	if (!kernel_find(name, lend_type_bytes(type)))
		return;
	site = site_open();
	for (unsigned i = 0; i < cases; i++) {
		struct random_einsum einsum =
			make((unsigned)index * CASES + i, form, type);

		side += is_side(&einsum, &options);
		site_try(&site, &einsum, &options,
			 team_shape(i + (unsigned)index),
			 i % 3 ? FROM_ARENA : FROM_WORKSPACE);
	}
	/*
	 * The others have rows or columns that would leave tiles half empty.
	 * Fewer cases than these have no majority that could be relied on.
	 */
	if (cases == CASES)
		ck_assert_uint_gt(2 * side, cases);
	site_close(&site);
}

START_TEST(doubles)
{
	try_form(_i, LEND_F64);
}
END_TEST

START_TEST(floats)
{
	try_form(_i, LEND_F32);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_side");
	TCase *tcase = suite_case(suite, "side");

	tcase_add_loop_test(tcase, doubles, 0, NAMES * FORMS);
	tcase_add_loop_test(tcase, floats, 0, NAMES * FORMS);
	return suite_run(suite);
}
