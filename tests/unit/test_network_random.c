/* SPDX-License-Identifier: MIT */
/*
 * Networks at random against their definition, by one thread and by several,
 * with memory of an arena and of a host's lender.
 */
#include "lend/network.h"

#include <check.h>
#include <stdlib.h>

#include "support/contract_site.h"
#include "support/network_case.h"
#include "support/scale.h"
#include "support/suite.h"

/* Per test; more with TEST_NETWORKS. */
#define NETWORKS 150
#define TESTS 8

static size_t
networks(void)
{
	const char *given = getenv("TEST_NETWORKS");

	return given ? strtoul(given, NULL, 10) : scale(NETWORKS);
}

static void
run(const struct site *site, const struct network_case *c, size_t budget,
    bool host)
{
	struct network_tensor *output = network_output_new(c);
	struct lend_lender lender = site_lender(site->arena);
	struct lend_network_call call;
	struct lend_error why = { "" };
	struct lend_exec exec;
	int error;

	ck_assert_ptr_nonnull(output);
	call = network_case_call(c, output->start);
	lend_exec_serial(&exec);
	if (budget > 1)
		ck_assert_int_eq(lend_exec_on_pool(&exec, site->pool, budget),
				 0);
	error = host ? lend_network_execute_on(c->network, &lender, &exec,
					       &call, &why) :
		       lend_network_execute(c->network, site->arena, &exec,
					    &call, &why);
	ck_assert_msg(error == 0, "%s: %d, %s", c->text, error, why.text);
	ck_assert_msg(network_case_check(c, output, &why), "%s", why.text);
	network_output_free(output);
}

START_TEST(test_random)
{
	struct site site = site_open();

	for (size_t i = 0; i < networks(); i++) {
		uint64_t seed = (uint64_t)_i << 32 | i;
		struct network_case c;
		struct lend_error why;

		ck_assert_msg(network_case_open(&c, seed, &why), "%s: %s",
			      c.text, why.text);
		run(&site, &c, 1 + i % 4, i % 3 == 0);
		network_case_close(&c);
	}
	site_close(&site);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("network_random");
	TCase *tcase = suite_case(suite, "random");

	tcase_add_loop_test(tcase, test_random, 0, TESTS);
	return suite_run(suite);
}
