/* SPDX-License-Identifier: MIT */
/*
 * The barrier that a trimmer pays for every owner: that the system's
 * membarrier does what slot.h takes for granted (support/litmus.h).  That
 * the same rounds show a missing one is in tests/stress/stress_litmus.c.
 */
#include <check.h>
#include <stdio.h>

#include "base/os.h"
#include "support/litmus.h"
#include "support/scale.h"
#include "support/suite.h"

START_TEST(membarrier_orders_the_owner)
{
	if (!os_membarrier_register()) {
		printf("skipped: this system has no membarrier\n");
		return;
	}
	ck_assert_int_eq(litmus_run(LITMUS_MEMBARRIER, scale(2000)), 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("litmus");

	tcase_add_test(suite_case(suite, "litmus"),
		       membarrier_orders_the_owner);
	return suite_run(suite);
}
