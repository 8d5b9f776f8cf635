/* SPDX-License-Identifier: MIT */
/* The example server's prepared workspaces: whose they are, their share. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/client.h"
#include "server/service.h"
#include "support/suite.h"

#define MIB ((size_t)1 << 20)

static struct service service;

static void
start(const char *warm, const char *bytes)
{
	const char *const arguments[] = {
		warm, bytes, "--limit=64M", "--workers=2", "--threads=2", NULL
	};

	service_start(&service, arguments);
}

static double
metric(const char *name)
{
	return client_metric(service.port, name);
}

static void
await(const char *name, double value)
{
	client_await(service.port, name, value, value);
}

/* ab,bc,cd->ad of ones, n each way: n^2 everywhere. */
static void
must_multiply(size_t n)
{
	const size_t extent[2] = { n, n };
	struct text form = { 0 }, request = { 0 };
	double *ones = malloc(n * n * sizeof *ones);
	const double *product;
	struct answer answer;
	int fd = client_connect(service.port);

	ck_assert_ptr_nonnull(ones);
	for (size_t i = 0; i < n * n; i++)
		ones[i] = 1;
	form_string(&form, "einsum", "ab,bc,cd->ad");
	form_array(&form, "x", 2, extent, ones);
	form_array(&form, "y", 2, extent, ones);
	form_array(&form, "z", 2, extent, ones);
	form_end(&form);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	product = answer_array(&answer, 2, extent);
	for (size_t i = 0; i < n * n; i++)
		ck_assert_double_eq(product[i], (double)(n * n));
	answer_free(&answer);
	text_free(&request);
	text_free(&form);
	free(ones);
	close(fd);
}

/* A plan has none before it is asked for again; each is used once. */
START_TEST(repeated_plans_find_one)
{
	start("--warm=2", "--warm-bytes=4M");
	ck_assert_double_eq(metric("lend_arena_limit_bytes"),
			    (double)((64 - (2 + 2) * 4) * MIB));
	must_multiply(16);
	ck_assert_double_eq(metric("lend_server_warm_misses_total"), 0);
	for (int turn = 1; turn < 5; turn++) {
		must_multiply(16);
		await("lend_server_warm_ready", 1);
		ck_assert_double_eq(metric("lend_server_warm_claims_total"),
				    turn - 1);
		ck_assert_double_eq(metric("lend_server_warm_prepared_total"),
				    turn);
		ck_assert_double_eq(metric("lend_server_warm_workspaces"), 1);
	}
	ck_assert_double_eq(metric("lend_server_warm_misses_total"), 1);
	ck_assert_double_eq(metric("lend_server_warm_failed_total"), 0);
	/* The ready one goes as well. */
	service_end(&service);
}
END_TEST

/* The one asked for longest ago gives its own up. */
START_TEST(plans_asked_for_last_have_one)
{
	start("--warm=2", "--warm-bytes=4M");
	for (size_t n = 16; n < 20; n++) {
		must_multiply(n);
		must_multiply(n);
		await("lend_server_warm_prepared_total", (double)(n - 15));
	}
	await("lend_server_warm_workspaces", 2);
	ck_assert_double_eq(metric("lend_server_warm_ready"), 2);
	ck_assert_double_eq(metric("lend_server_warm_evictions_total"), 2);
	must_multiply(19);
	ck_assert_double_eq(metric("lend_server_warm_claims_total"), 1);
	service_end(&service);
}
END_TEST

/* What has no room in a share is served by the arena, again and again. */
START_TEST(large_plans_are_served_without)
{
	start("--warm=1", "--warm-bytes=64K");
	for (int turn = 0; turn < 4; turn++)
		must_multiply(160);
	ck_assert_double_eq(metric("lend_server_warm_prepared_total"), 0);
	ck_assert_double_eq(metric("lend_server_warm_failed_total"), 0);
	ck_assert_double_eq(metric("lend_server_warm_misses_total"), 0);
	service_end(&service);
}
END_TEST

START_TEST(the_share_must_leave_something)
{
	const char *const arguments[] = {
		"--warm=2", "--warm-bytes=4M", "--limit=16M", "--workers=2",
		NULL
	};

	ck_assert_int_eq(service_run(&service, arguments), 2);
	ck_assert_ptr_nonnull(strstr(service.text, "leave nothing"));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("server_warm");
	TCase *tcase = suite_case(suite, "warm");

	if (!service_possible())
		return 77;
	tcase_add_test(tcase, repeated_plans_find_one);
	tcase_add_test(tcase, plans_asked_for_last_have_one);
	tcase_add_test(tcase, large_plans_are_served_without);
	tcase_add_test(tcase, the_share_must_leave_something);
	return suite_run(suite);
}
