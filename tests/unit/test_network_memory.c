/* SPDX-License-Identifier: MIT */
/*
 * What networks borrow: as much at one time as was said beforehand, each
 * buffer given back as soon as it is dead, nothing left out whichever
 * borrowing fails; and when no memory is left for a network itself.
 */
#include "lend/network.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "support/contract_site.h"
#include "support/heap.h"
#include "support/network_case.h"
#include "support/network_meter.h"
#include "support/suite.h"

#define CASES 150

static void
open_case(struct network_case *c, uint64_t seed)
{
	struct lend_error why;

	ck_assert_msg(network_case_open(c, seed, &why), "%s: %s", c->text,
		      why.text);
}

/* With `budget` threads the most is at most what was said, with 1 just that. */
static void
check_peak(const struct site *site, uint64_t seed, size_t budget)
{
	static struct meter meter;
	struct lend_lender lender = meter_start(&meter, site->arena);
	struct network_tensor *output;
	struct lend_network_call call;
	struct network_case c;
	struct lend_exec exec;
	struct lend_error why;
	struct lend_req req;
	size_t bytes;

	open_case(&c, seed);
	output = network_output_new(&c);
	call = network_case_call(&c, output->start);
	ck_assert_int_eq(lend_exec_narrow(&site->exec, budget, &exec), 0);
	ck_assert_int_eq(lend_network_req(c.network, budget, &req, &bytes),
			 0);
	/* Not where nothing is computed at all. */
	if (c.alpha[0] == 0 && c.alpha[1] == 0)
		bytes = 0;
	for (size_t d = 0; d < c.output.rank; d++)
		if (c.output.extent[d] == 0)
			bytes = 0;
	ck_assert_int_eq(lend_network_execute_on(c.network, &lender, &exec,
						 &call, &why), 0);
	if (budget == 1)
		ck_assert_uint_eq(meter.most, bytes);
	else
		ck_assert_uint_le(meter.most, bytes);
	ck_assert_uint_eq(meter.now, 0);
	ck_assert_uint_eq(meter.out, 0);
	ck_assert(!meter.strange);
	network_output_free(output);
	network_case_close(&c);
}

START_TEST(test_peak)
{
	struct site site = site_open();

	for (uint64_t i = 0; i < CASES; i++)
		check_peak(&site, 1000 + i, (size_t)_i);
	site_close(&site);
}
END_TEST

/* Fails each borrowing in turn, until none is left to fail. */
static void
starve(const struct site *site, const struct network_case *c, int error)
{
	static struct meter meter;
	struct network_tensor *output = network_output_new(c);
	struct lend_network_call call = network_case_call(c, output->start);

	for (size_t nth = 1;; nth++) {
		struct lend_lender lender = meter_start(&meter, site->arena);
		struct lend_error why = { "" };
		int got;

		meter.fail_at = nth;
		meter.error = error;
		got = lend_network_execute_on(c->network, &lender,
					      &site->exec, &call, &why);
		ck_assert_uint_eq(meter.out, 0);
		ck_assert_uint_eq(meter.now, 0);
		ck_assert(!meter.strange);
		if (meter.calls < nth) {
			ck_assert_int_eq(got, 0);
			break;
		}
		ck_assert_int_eq(got, error);
		ck_assert_str_ne(why.text, "");
		ck_assert(network_case_untouched(c, output));
	}
	network_output_free(output);
}

START_TEST(test_starved)
{
	struct site site = site_open();

	for (uint64_t i = 0; i < CASES / 3; i++) {
		struct network_case c;

		open_case(&c, 2000 + i);
		starve(&site, &c, i % 2 ? -ENOMEM : -EDQUOT);
		network_case_close(&c);
	}
	site_close(&site);
}
END_TEST

/* ------------------------------------------------------------------------
 * The network's own memory
 * --------------------------------------------------------------------- */

static const size_t extents[] = { 3, 2 };
static const struct lend_layout layouts[] = {
	{ 2, extents, NULL }, { 1, extents, NULL }, { 2, extents, NULL },
	{ 1, extents + 1, NULL }
};

static int
make(lend_network **network, const struct lend_network_pair *path,
     struct lend_error *why)
{
	return lend_network_create(network, "ab,a,ac,c->b", LEND_F64, 4,
				   layouts, path, path ? 3 : 0, NULL, why);
}

START_TEST(test_no_memory)
{
	static const struct lend_network_pair path[] = {
		{ 0, 3 }, { 1, 0 }, { 0, 1 }
	};

	if (!heap_counts())
		return;
	for (unsigned long nth = 1;; nth++) {
		lend_network *network = NULL;
		struct lend_error why = { "" };
		unsigned long out;
		int error;

		/* An assertion would itself call malloc. */
		out = heap_outstanding();
		heap_fail_nth(nth);
		error = make(&network, _i ? NULL : path, &why);
		out = heap_outstanding() - out;
		if (heap_pending()) {
			heap_fail_nth(0);
			ck_assert_int_eq(error, 0);
			lend_network_destroy(network);
			/* Chunks, tables, plans: a good number of them. */
			ck_assert_uint_gt(nth, 15);
			break;
		}
		ck_assert_int_eq(error, -ENOMEM);
		ck_assert_ptr_nonnull(strstr(why.text, "no memory"));
		ck_assert_ptr_null(network);
		ck_assert_uint_eq(out, 0);
	}
}
END_TEST

/* Once warm, executions call no allocator and grow nothing. */
START_TEST(test_steady)
{
	struct site site = site_open();
	struct network_case c;
	struct network_tensor *output;
	struct lend_network_call call;
	struct lend_stats before, after;
	struct lend_exec serial;
	unsigned long calls;
	int error = 0;

	open_case(&c, 3000 + (uint64_t)_i);
	output = network_output_new(&c);
	call = network_case_call(&c, output->start);
	lend_exec_serial(&serial);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(lend_network_execute(c.network, site.arena,
						      &serial, &call, NULL),
				 0);
	ck_assert_int_eq(lend_arena_stats(site.arena, &before), 0);
	calls = heap_calls();
	/* An assertion would itself call malloc. */
	for (int i = 0; i < 50 && !error; i++)
		error = lend_network_execute(c.network, site.arena, &serial,
					     &call, NULL);
	calls = heap_calls() - calls;
	ck_assert_int_eq(error, 0);
	ck_assert_uint_eq(calls, 0);
	ck_assert_int_eq(lend_arena_stats(site.arena, &after), 0);
	ck_assert_uint_eq(after.growths, before.growths);
	ck_assert_uint_eq(after.retained_bytes, before.retained_bytes);
	ck_assert_uint_eq(after.leased_bytes, 0);
	network_output_free(output);
	network_case_close(&c);
	site_close(&site);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("network_memory");
	TCase *tcase = suite_case(suite, "lent");

	tcase_add_loop_test(tcase, test_peak, 1, 5);
	tcase_add_test(tcase, test_starved);
	tcase_add_loop_test(tcase, test_steady, 0, 10);
	tcase = suite_case(suite, "own");
	tcase_add_loop_test(tcase, test_no_memory, 0, 2);
	return suite_run(suite);
}
