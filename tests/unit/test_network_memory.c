/* SPDX-License-Identifier: MIT */
/*
 * What networks borrow: as much at one time as was said beforehand, each
 * buffer given back as soon as it is dead, nothing left out whichever
 * borrowing fails; that a first execution grows nothing where its arena was
 * warmed; and when no memory is left for a network itself.
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
#include "support/scale.h"
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

	for (uint64_t i = 0; i < scale(CASES); i++)
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

	for (uint64_t i = 0; i < scale(CASES / 3); i++) {
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

/* ------------------------------------------------------------------------
 * Warmed beforehand
 * --------------------------------------------------------------------- */

static uint64_t
growths(lend_arena *arena)
{
	struct lend_stats stats;

	ck_assert_int_eq(lend_arena_stats(arena, &stats), 0);
	ck_assert_uint_eq(stats.leased_bytes, 0);
	ck_assert_uint_eq(stats.buffers_out, 0);
	return stats.growths;
}

/* How often a workspace grows in its first execution. */
static uint64_t
first_growths(const struct network_case *c, bool warm)
{
	struct network_tensor *output = network_output_new(c);
	struct lend_network_call call = network_case_call(c, output->start);
	struct lend_error why = { "" };
	struct lend_exec serial;
	lend_workspace *ws;
	struct lend_req req;
	uint64_t before;
	size_t bytes;

	lend_exec_serial(&serial);
	ck_assert_int_eq(lend_network_req(c->network, 1, &req, &bytes), 0);
	ck_assert_int_eq(lend_workspace_create(&ws, &req, NULL), 0);
	if (warm)
		ck_assert_int_eq(lend_network_warm(c->network,
						   lend_workspace_arena(ws),
						   &serial, &why), 0);
	before = growths(lend_workspace_arena(ws));
	ck_assert_int_eq(lend_network_execute(c->network,
					      lend_workspace_arena(ws),
					      &serial, &call, &why), 0);
	ck_assert_msg(network_case_check(c, output, &why), "%s", why.text);
	before = growths(lend_workspace_arena(ws)) - before;
	network_output_free(output);
	ck_assert_int_eq(lend_workspace_destroy(ws), 0);
	return before;
}

START_TEST(test_warm_at_once)
{
	uint64_t cold = 0;

	for (uint64_t i = 0; i < scale(CASES / 3); i++) {
		struct network_case c;

		open_case(&c, 4000 + i);
		ck_assert_uint_eq(first_growths(&c, true), 0);
		cold += first_growths(&c, false);
		network_case_close(&c);
	}
	/* Else nothing has been shown. */
	ck_assert_uint_gt(cold, scale(CASES / 3));
}
END_TEST

/* Side by side as well it gives all back; executions are right after it. */
START_TEST(test_warm_side_by_side)
{
	struct site site = site_open();

	for (uint64_t i = 0; i < scale(CASES / 3); i++) {
		struct lend_error why = { "" };
		struct network_tensor *output;
		struct lend_network_call call;
		struct network_case c;

		open_case(&c, 5000 + i);
		output = network_output_new(&c);
		call = network_case_call(&c, output->start);
		ck_assert_int_eq(lend_network_warm(c.network, site.arena,
						   &site.exec, &why), 0);
		growths(site.arena);
		ck_assert_int_eq(lend_network_execute(c.network, site.arena,
						      &site.exec, &call,
						      &why), 0);
		ck_assert_msg(network_case_check(&c, output, &why), "%s",
			      why.text);
		network_output_free(output);
		network_case_close(&c);
	}
	site_close(&site);
}
END_TEST

/* The calling thread has what a step of one thread wants. */
static void
check_worker(const lend_network *network, lend_arena *arena)
{
	uint64_t before = growths(arena);
	struct lend_worker loan;
	struct lend_req req;
	size_t bytes;

	ck_assert_int_eq(lend_network_req(network, 1, &req, &bytes), 0);
	ck_assert_uint_gt(req.a_bytes, 0);
	ck_assert_int_eq(lend_worker_checkout(arena, &req, &loan), 0);
	ck_assert_int_eq(lend_worker_return(arena, &loan), 0);
	ck_assert_uint_eq(growths(arena), before);
}

/* A network with intermediates of 8 MiB, in an arena of `limit` bytes. */
static int
warm_within(size_t limit, struct lend_error *why)
{
	static const size_t side[] = { 1024, 1024 };
	static const struct lend_layout square[] = {
		{ 2, side, NULL }, { 2, side, NULL }, { 2, side, NULL },
		{ 2, side, NULL }
	};
	struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;
	lend_network *network;
	struct lend_exec serial;
	lend_arena *arena;
	int error;

	lend_exec_serial(&serial);
	options.limit = limit;
	ck_assert_int_eq(lend_network_create(&network, "ab,bc,cd,de->ae",
					     LEND_F64, 4, square, NULL, 0,
					     NULL, why), 0);
	ck_assert_int_eq(lend_arena_create(&arena, &options), 0);
	error = lend_network_warm(network, arena, &serial, why);
	growths(arena);
	if (!error)
		check_worker(network, arena);
	ck_assert_int_eq(lend_arena_destroy(arena), 0);
	lend_network_destroy(network);
	return error;
}

START_TEST(test_warm_refused)
{
	struct lend_error why = { "" };
	struct lend_exec serial;
	struct network_case c;
	lend_arena *arena;

	ck_assert_int_eq(warm_within((size_t)64 << 20, &why), 0);
	ck_assert_int_eq(warm_within((size_t)12 << 20, &why), -EDQUOT);
	ck_assert_ptr_nonnull(strstr(why.text, "limit"));
	/* Not even the worker's loan. */
	ck_assert_int_eq(warm_within(1, &why), -EDQUOT);
	open_case(&c, 6000);
	lend_exec_serial(&serial);
	ck_assert_int_eq(lend_arena_create(&arena, NULL), 0);
	ck_assert_int_eq(lend_network_warm(NULL, arena, &serial, &why),
			 -EINVAL);
	ck_assert_int_eq(lend_network_warm(c.network, NULL, &serial, &why),
			 -EINVAL);
	ck_assert_int_eq(lend_network_warm(c.network, arena, NULL, NULL),
			 -EINVAL);
	ck_assert_int_eq(lend_arena_destroy(arena), 0);
	network_case_close(&c);
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
	tcase = suite_case(suite, "warm");
	tcase_add_test(tcase, test_warm_at_once);
	tcase_add_test(tcase, test_warm_side_by_side);
	tcase_add_test(tcase, test_warm_refused);
	tcase = suite_case(suite, "own");
	tcase_add_loop_test(tcase, test_no_memory, 0, 2);
	return suite_run(suite);
}
