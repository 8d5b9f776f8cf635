/* SPDX-License-Identifier: MIT */
/*
 * Many threads on one network, one arena and one pool; branches that run side
 * by side; and that a limit is an error for who meets it, not for others.
 */
#include "lend/network.h"

#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "support/contract_site.h"
#include "support/network_case.h"
#include "support/network_meter.h"
#include "support/scale.h"
#include "support/suite.h"

#define CLIENTS 8
#define TURNS 60

struct client {
	pthread_t thread;
	const struct site *site;
	const struct network_case *c;
	struct network_tensor *output;
	size_t budget;
	int error;
	bool wrong;
	struct lend_error why;
};

static void *
work(void *arg)
{
	struct client *client = arg;
	const struct network_case *c = client->c;
	struct lend_network_call call =
		network_case_call(c, client->output->start);
	struct lend_exec exec;

	client->error = lend_exec_on_pool(&exec, client->site->pool,
					  client->budget);
	for (unsigned i = 0; i < scale(TURNS) && !client->error &&
			     !client->wrong; i++) {
		client->error = lend_network_execute(c->network,
			client->site->arena, &exec, &call, &client->why);
		client->wrong = !network_case_check(c, client->output,
						    &client->why);
	}
	return NULL;
}

START_TEST(test_shared)
{
	struct site site = site_open();
	struct client client[CLIENTS];
	struct network_case c;
	struct lend_error why;
	struct lend_stats stats;

	ck_assert_msg(network_case_open(&c, 4000 + (uint64_t)_i, &why), "%s",
		      why.text);
	for (size_t i = 0; i < CLIENTS; i++) {
		client[i] = (struct client){
			.site = &site, .c = &c, .budget = 1 + i % 4,
			.output = network_output_new(&c)
		};
		ck_assert_int_eq(pthread_create(&client[i].thread, NULL, work,
						&client[i]), 0);
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		pthread_join(client[i].thread, NULL);
		ck_assert_msg(!client[i].error && !client[i].wrong,
			      "client %zu: %d, %s", i, client[i].error,
			      client[i].why.text);
		network_output_free(client[i].output);
	}
	ck_assert_int_eq(lend_arena_stats(site.arena, &stats), 0);
	ck_assert_uint_eq(stats.leased_bytes, 0);
	network_case_close(&c);
	site_close(&site);
}
END_TEST

/* ------------------------------------------------------------------------
 * Branches
 * --------------------------------------------------------------------- */

/* Eight chains of four matrices, whose results are multiplied elementwise. */
#define CHAINS 8
#define LINKS 4
#define SIDE 40

struct forest {
	lend_network *network;
	double t[CHAINS * LINKS][SIDE * SIDE], r[SIDE * SIDE];
	const void *operands[CHAINS * LINKS];
};

static void
forest_open(struct forest *f)
{
	static const size_t extent[] = { SIDE, SIDE };
	struct lend_layout layout[CHAINS * LINKS];
	struct lend_network_pair path[CHAINS * LINKS - 1];
	char text[CHAINS * LINKS * 3 + 8], *at = text;
	size_t steps = 0;
	uint64_t seed = 1;

	for (int c = 0; c < CHAINS; c++)
		for (int l = 0; l < LINKS; l++) {
			size_t i = (size_t)(c * LINKS + l);
			char inner = (char)('a' + c * (LINKS - 1) + l);

			/* Y..Z of all; letters a.. within, up to 'x'. */
			*at++ = (char)(l ? inner - 1 : 'Y');
			*at++ = (char)(l < LINKS - 1 ? inner : 'Z');
			*at++ = ',';
			layout[i] = (struct lend_layout){ 2, extent, NULL };
			f->operands[i] = f->t[i];
			for (size_t j = 0; j < SIDE * SIDE; j++) {
				seed = seed * 6364136223846793005u + 1;
				f->t[i][j] = (double)(seed >> 62) - 1;
			}
		}
	strcpy(at - 1, "->YZ");
	/* Chain by chain: the first two are multiplied, then the next one. */
	for (int c = 0; c < CHAINS; c++) {
		path[steps++] = (struct lend_network_pair){ 0, 1 };
		for (int l = 2; l < LINKS; l++) {
			size_t last = CHAINS * LINKS - steps - 1;

			path[steps++] = (struct lend_network_pair){ last, 0 };
		}
	}
	while (steps < CHAINS * LINKS - 1)
		path[steps++] = (struct lend_network_pair){ 0, 1 };
	ck_assert_int_eq(lend_network_create(&f->network, text, LEND_F64,
					     CHAINS * LINKS, layout, path,
					     steps, NULL, NULL), 0);
}

/* All that matters of the expected result, by plain loops. */
static void
forest_expect(const struct forest *f, double *r)
{
	static double x[SIDE * SIDE], y[SIDE * SIDE];

	for (size_t i = 0; i < SIDE * SIDE; i++)
		r[i] = 1;
	for (size_t c = 0; c < CHAINS; c++) {
		memcpy(x, f->t[c * LINKS], sizeof(x));
		for (size_t l = 1; l < LINKS; l++) {
			const double *t = f->t[c * LINKS + l];

			memset(y, 0, sizeof(y));
			for (size_t i = 0; i < SIDE; i++)
				for (size_t k = 0; k < SIDE; k++)
					for (size_t j = 0; j < SIDE; j++)
						y[i * SIDE + j] +=
							x[i * SIDE + k] *
							t[k * SIDE + j];
			memcpy(x, y, sizeof(x));
		}
		for (size_t i = 0; i < SIDE * SIDE; i++)
			r[i] *= x[i];
	}
}

/* Products of eight integers round; the order of the factors may differ. */
static bool
close_to(const double *x, const double *y)
{
	for (size_t i = 0; i < SIDE * SIDE; i++) {
		double off = x[i] - y[i], size = y[i] < 0 ? -y[i] : y[i];

		if ((off < 0 ? -off : off) > 1e-14 * size)
			return false;
	}
	return true;
}

START_TEST(test_branches)
{
	static struct forest f;
	static double expected[SIDE * SIDE];
	static struct meter meter;
	struct site site = site_open();
	struct lend_lender lender;
	struct lend_network_call call = { f.operands, f.r, NULL, NULL };
	struct lend_req req;
	struct lend_exec exec;
	size_t alone, beside;

	forest_open(&f);
	forest_expect(&f, expected);
	ck_assert_int_eq(lend_network_req(f.network, 1, &req, &alone), 0);
	ck_assert_int_eq(lend_network_req(f.network, (size_t)_i, &req,
					  &beside), 0);
	/* Steps too small for a team: chains run side by side. */
	ck_assert_uint_gt(beside, alone);
	ck_assert_int_eq(lend_exec_narrow(&site.exec, (size_t)_i, &exec), 0);
	for (int turn = 0; turn < 30; turn++) {
		memset(f.r, 0xff, sizeof(f.r));
		lender = meter_start(&meter, site.arena);
		ck_assert_int_eq(lend_network_execute_on(f.network, &lender,
							 &exec, &call, NULL),
				 0);
		ck_assert(close_to(f.r, expected));
		/* Results of several chains, and no more than was said. */
		ck_assert_uint_ge(meter.most, 4 * sizeof(f.r));
		ck_assert_uint_le(meter.most, beside);
		ck_assert_uint_eq(meter.out, 0);
		ck_assert(!meter.strange);
	}
	lend_network_destroy(f.network);
	site_close(&site);
}
END_TEST

/* What a fresh arena has after it was warmed for so many threads. */
static size_t
warm_bytes(const struct site *site, const struct forest *f, size_t budget)
{
	struct lend_error why = { "" };
	struct lend_stats stats;
	struct lend_exec exec;
	lend_arena *arena;

	ck_assert_int_eq(lend_exec_narrow(&site->exec, budget, &exec), 0);
	ck_assert_int_eq(lend_arena_create(&arena, NULL), 0);
	ck_assert_int_eq(lend_network_warm(f->network, arena, &exec, &why),
			 0);
	ck_assert_int_eq(lend_arena_stats(arena, &stats), 0);
	ck_assert_uint_eq(stats.leased_bytes, 0);
	ck_assert_int_eq(lend_arena_destroy(arena), 0);
	return stats.buffer_bytes;
}

/* All that chains side by side hold at a time; for one thread it is less. */
START_TEST(test_branches_warmed)
{
	static struct forest f;
	struct site site = site_open();
	struct lend_req req;
	size_t beside;

	forest_open(&f);
	ck_assert_int_eq(lend_network_req(f.network, (size_t)_i, &req,
					  &beside), 0);
	ck_assert_uint_ge(warm_bytes(&site, &f, (size_t)_i), beside);
	ck_assert_uint_lt(warm_bytes(&site, &f, 1), beside);
	lend_network_destroy(f.network);
	site_close(&site);
}
END_TEST

/* Each borrowing of branches fails in turn. */
START_TEST(test_branches_starved)
{
	static struct forest f;
	static struct meter meter;
	struct site site = site_open();
	struct lend_network_call call = { f.operands, f.r, NULL, NULL };
	size_t nth = 0;

	forest_open(&f);
	memset(f.r, 0, sizeof(f.r));
	do {
		struct lend_lender lender = meter_start(&meter, site.arena);
		struct lend_error why = { "" };
		int error;

		meter.fail_at = ++nth;
		meter.error = -ENOMEM;
		error = lend_network_execute_on(f.network, &lender,
						&site.exec, &call, &why);
		ck_assert_uint_eq(meter.out, 0);
		ck_assert_uint_eq(meter.now, 0);
		ck_assert(!meter.strange);
		ck_assert_int_eq(error, meter.calls < nth ? 0 : -ENOMEM);
		ck_assert(!error || f.r[0] == 0);
		ck_assert(!error == !why.text[0]);
	} while (meter.calls >= nth);
	ck_assert_uint_gt(nth, CHAINS * LINKS);
	lend_network_destroy(f.network);
	site_close(&site);
}
END_TEST

/* From a job of the pool: a forked token may fork on. */
struct nested {
	struct forest *f;
	lend_arena *arena;
	int error[2];
	double r[2][SIDE * SIDE];
};

static void
nested_job(size_t index, const struct lend_exec *child, void *ctx)
{
	struct nested *n = ctx;
	struct lend_network_call call = { n->f->operands, n->r[index], NULL,
					  NULL };

	n->error[index] = lend_network_execute(n->f->network, n->arena, child,
					       &call, NULL);
}

START_TEST(test_nested)
{
	static struct forest f;
	static double expected[SIDE * SIDE];
	static struct nested nested;
	struct site site = site_open();

	forest_open(&f);
	forest_expect(&f, expected);
	nested.f = &f;
	nested.arena = site.arena;
	ck_assert_int_eq(lend_exec_fork(&site.exec, 2, nested_job, &nested),
			 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(nested.error[i], 0);
		ck_assert(close_to(nested.r[i], expected));
	}
	lend_network_destroy(f.network);
	site_close(&site);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("network_threads");
	TCase *tcase = suite_case(suite, "threads");

	tcase_add_loop_test(tcase, test_shared, 0, 12);
	tcase_add_loop_test(tcase, test_branches, 2, 6);
	tcase_add_loop_test(tcase, test_branches_warmed, 2, 6);
	tcase_add_test(tcase, test_branches_starved);
	tcase_add_test(tcase, test_nested);
	return suite_run(suite);
}
