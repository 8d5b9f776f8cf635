/* SPDX-License-Identifier: MIT */
/*
 * Ten thousand contractions at random, each against plain sums in long
 * double: every kind of label, layout, factor and type, by teams of every
 * shape in turn, with memory from an arena, a workspace and a host's lender.
 */
#include "lend/contract.h"

#include <check.h>

#include "support/contract_site.h"
#include "support/einsum_random.h"
#include "support/scale.h"
#include "support/suite.h"

#define CASES 10000
/* The suite's tests, so that none takes long. */
#define SLICES 10

static struct random_wish
wish_of(unsigned i)
{
	struct random_wish wish = { .products = 3000 };

	if (i % 500 == 499)
		wish.products = 2000000;
	else if (i % 10 == 3)
		wish.products = 60000;
	else if (i % 10 == 6)
		wish = (struct random_wish){ 150000, true, i % 20 == 6 };
	return wish;
}

static enum site_source
source_of(unsigned i)
{
	return i % 20 == 7 ? FROM_WORKSPACE :
	       i % 20 == 13 ? FROM_LENDER : FROM_ARENA;
}

START_TEST(random_contractions_are_what_they_should_be)
{
	struct site site = site_open();
	unsigned n = scale(CASES) / SLICES;

	for (unsigned i = 0; i < n; i++) {
		unsigned number = i * SLICES + (unsigned)_i;
		struct random_wish wish = wish_of(number);
		/* Few of them have columns enough to be packed unasked. */
		struct lend_plan_options options = {
			.size = sizeof(options), .pack = number % 3 == 0
		};
		struct random_einsum einsum;

		random_einsum(&einsum, number, &wish);
		site_try(&site, &einsum, &options, team_shape(number),
			 source_of(number));
	}
	site_close(&site);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("contract_random");
	TCase *tcase = suite_case(suite, "random");

	tcase_add_loop_test(tcase, random_contractions_are_what_they_should_be,
			    0, SLICES);
	return suite_run(suite);
}
