/* SPDX-License-Identifier: MIT */
/* The example server's bounds: memory, bodies, connections, operations. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/client.h"
#include "server/service.h"
#include "support/suite.h"

#define MIB ((size_t)1 << 20)

static struct service service;

/* a-> of n ones. */
static void
sum_of_ones(struct text *request, size_t n)
{
	double *ones = malloc(n * sizeof *ones);
	struct text form = { 0 };

	ck_assert_ptr_nonnull(ones);
	for (size_t i = 0; i < n; i++)
		ones[i] = 1;
	form_string(&form, "einsum", "a->");
	form_array(&form, "x", 1, &n, ones);
	form_end(&form);
	post(request, &form);
	text_free(&form);
	free(ones);
}

static void
must_sum(int fd, size_t n)
{
	struct text request = { 0 };
	struct answer answer;

	sum_of_ones(&request, n);
	client_ask(fd, &request, &answer);
	ck_assert_double_eq(*answer_array(&answer, 0, NULL), (double)n);
	answer_free(&answer);
	text_free(&request);
}

/* On a connection of its own. */
static void
must_sum_once(size_t n)
{
	int fd = client_connect(service.port);

	must_sum(fd, n);
	close(fd);
}

/* 503 with when to come again, and amounts that are consistent. */
static void
check_over_limit(const struct answer *answer, size_t least, size_t limit)
{
	size_t needed, limited, retained;
	const char *amounts;

	ck_assert_uint_eq(answer->status, 503);
	ck_assert_ptr_nonnull(answer_field(answer, "Retry-After"));
	amounts = strstr(answer->body.bytes, ": needed ");
	if (!amounts ||
	    sscanf(amounts, ": needed %zu bytes, limit %zu, retained %zu",
		   &needed, &limited, &retained) != 3)
		ck_abort_msg("no amounts in '%s'", answer->body.bytes);
	ck_assert_uint_ge(needed, least);
	ck_assert_uint_eq(limited, limit);
	ck_assert_uint_le(retained, limit);
}

/* A result that is too large; what fits is served before and after. */
START_TEST(refuses_large_results)
{
	static const char *const arguments[] = { "--limit=8M", NULL };
	struct text form = { 0 }, request = { 0 };
	const size_t n = 2000;
	double *ones = calloc(n, sizeof *ones);
	struct answer answer;
	int fd;

	service_start(&service, arguments);
	fd = client_connect(service.port);
	form_string(&form, "einsum", "a,b->ab");
	form_array(&form, "x", 1, &n, ones);
	form_array(&form, "y", 1, &n, ones);
	form_end(&form);
	post(&request, &form);
	must_sum(fd, 1000);
	for (int i = 0; i < 3; i++) {
		client_ask(fd, &request, &answer);
		check_over_limit(&answer, n * n * sizeof *ones, 8 * MIB);
		answer_free(&answer);
		must_sum(fd, 1000);
	}
	/* Nearly all of it: what was idle made room. */
	must_sum(fd, 5 * MIB / 8);
	client_await(service.port, "lend_arena_leased_bytes", 0, 0);
	text_free(&form);
	text_free(&request);
	free(ones);
	close(fd);
	service_end(&service);
}
END_TEST

/* What another client holds: refused while it does, served afterwards. */
START_TEST(refuses_beside_others)
{
	static const char *const arguments[] = { "--limit=8M", NULL };
	struct text request = { 0 };
	const size_t n = 5 * MIB / 8;
	struct answer answer;
	int first, second;

	service_start(&service, arguments);
	first = client_connect(service.port);
	second = client_connect(service.port);
	sum_of_ones(&request, n);
	ck_assert(client_send(first, request.bytes, request.size / 2));
	client_await(service.port, "lend_arena_leased_bytes", 5 * (double)MIB,
		     8 * (double)MIB);
	client_ask(second, &request, &answer);
	check_over_limit(&answer, 5 * MIB, 8 * MIB);
	ck_assert_ptr_nonnull(strstr(answer.body.bytes, "array 'x': over"));
	answer_free(&answer);
	ck_assert(client_send(first, request.bytes + request.size / 2,
			      request.size - request.size / 2));
	ck_assert(client_receive(first, &answer));
	ck_assert_double_eq(*answer_array(&answer, 0, NULL), (double)n);
	answer_free(&answer);
	client_await(service.port, "lend_server_requests_in_flight", 1, 1);
	client_ask(second, &request, &answer);
	ck_assert_double_eq(*answer_array(&answer, 0, NULL), (double)n);
	answer_free(&answer);
	text_free(&request);
	close(first);
	close(second);
	service_end(&service);
}
END_TEST

static size_t
at_least(size_t size, size_t least)
{
	return size > least ? size : least;
}

/*
 * Who falls silent holds no more than its share of what it has sent: others
 * are served beside it, and in the end it is as well.
 */
START_TEST(silent_clients_hold_little)
{
	static const char *const arguments[] = { "--limit=8M", NULL };
	static const size_t stops[] = {
		2000, 15000, 60000, 300000, 900000, 3000000
	};
	/* With its header a little less than a size of buffers. */
	const size_t n = (5 * MIB - 4096) / 8, page = 4096;
	struct text request = { 0 };
	struct answer answer;
	size_t sent = 0;
	int fd;

	service_start(&service, arguments);
	fd = client_connect(service.port);
	sum_of_ones(&request, n);
	for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
		size_t stop = stops[i];

		ck_assert(client_send(fd, request.bytes + sent, stop - sent));
		sent = stop;
		/* Some of it may still be with the parser. */
		client_await(service.port, "lend_arena_leased_bytes",
			     (double)(at_least(stop, 17 * page) - 16 * page),
			     8 * (double)MIB);
		ck_assert_double_le(client_metric(service.port,
						  "lend_arena_leased_bytes"),
				    (double)(5 * at_least(stop, 4 * page) +
					     4 * page));
		if (stop > 300000)
			continue;
		must_sum_once(n);
		/* This one, and the one that asks. */
		client_await(service.port, "lend_server_requests_in_flight",
			     2, 2);
	}
	ck_assert(client_send(fd, request.bytes + sent, request.size - sent));
	ck_assert(client_receive(fd, &answer));
	ck_assert_double_eq(*answer_array(&answer, 0, NULL), (double)n);
	answer_free(&answer);
	text_free(&request);
	close(fd);
	service_end(&service);
}
END_TEST

/*
 * What can never fit, or not beside what it grows from, is told so by its
 * header: nothing is held while the rest comes in.
 */
START_TEST(refuses_what_never_fits)
{
	static const char *const arguments[] = { "--limit=8M", NULL };
	/* The first is too large only by the sizes of buffers. */
	static const size_t sizes[] = {
		63 * MIB / 10 / 8 * 8, 7 * MIB, 9 * MIB
	};
	const size_t size = sizes[_i], begin = 100000;
	struct text request = { 0 };
	struct answer answer;
	double before;
	int fd;

	service_start(&service, arguments);
	before = client_metric(service.port, "lend_arena_retained_bytes");
	fd = client_connect(service.port);
	sum_of_ones(&request, size / 8);
	ck_assert(client_send(fd, request.bytes, begin));
	client_await(service.port, "lend_arena_retained_bytes", before + 1,
		     8 * (double)MIB);
	client_await(service.port, "lend_arena_leased_bytes", 0, 0);
	ck_assert(client_send(fd, request.bytes + begin,
			      request.size - begin));
	ck_assert(client_receive(fd, &answer));
	check_over_limit(&answer, size + size / 4, 8 * MIB);
	answer_free(&answer);
	must_sum(fd, 5 * MIB / 8);
	text_free(&request);
	close(fd);
	service_end(&service);
}
END_TEST

/* Told by its length, or found out; then the connection goes on. */
START_TEST(refuses_large_bodies)
{
	static const char *const arguments[] = { "--max-body=1000", NULL };
	struct text request = { 0 };
	struct answer answer;
	char block[1500];
	int fd;

	memset(block, 'x', sizeof block);
	service_start(&service, arguments);
	fd = client_connect(service.port);
	post_header(&request, _i ? 0 : sizeof block);
	if (_i)
		text_print(&request, "%zx\r\n", sizeof block);
	text_add(&request, block, sizeof block);
	if (_i)
		text_print(&request, "\r\n0\r\n\r\n");
	client_ask(fd, &request, &answer);
	ck_assert_uint_eq(answer.status, 413);
	ck_assert_ptr_nonnull(strstr(answer.body.bytes, "1000"));
	answer_free(&answer);
	must_sum(fd, 10);
	text_free(&request);
	close(fd);
	service_end(&service);
}
END_TEST

/* A body that never ends is not read for ever. */
START_TEST(closes_endless_bodies)
{
	static const char *const arguments[] = { "--max-body=1000", NULL };
	struct text request = { 0 }, block = { 0 };
	int fd;

	service_start(&service, arguments);
	fd = client_connect(service.port);
	post_header(&request, 0);
	ck_assert(client_send(fd, request.bytes, request.size));
	text_print(&block, "100\r\n%256s\r\n", "");
	while (client_send(fd, block.bytes, block.size))
		;
	text_free(&request);
	text_free(&block);
	close(fd);
	fd = client_connect(service.port);
	must_sum(fd, 10);
	close(fd);
	service_end(&service);
}
END_TEST

/* Nor is one of which hardly anything comes, however often. */
START_TEST(closes_slow_bodies)
{
	static const char *const arguments[] = {
		"--timeout=1", "--min-rate=1T", NULL
	};
	struct text request = { 0 };
	const size_t n = 4 * MIB;
	size_t at = 1000;
	int fd;

	service_start(&service, arguments);
	fd = client_connect(service.port);
	sum_of_ones(&request, n);
	ck_assert(client_send(fd, request.bytes, at));
	while (at < request.size && client_send(fd, request.bytes + at, 1))
		at++;
	ck_assert_uint_lt(at, request.size);
	client_await(service.port, "lend_arena_leased_bytes", 0, 0);
	text_free(&request);
	close(fd);
	service_end(&service);
}
END_TEST

/* As long as they might be silent. */
START_TEST(slow_bodies_have_time)
{
	static const char *const arguments[] = { "--min-rate=1T", NULL };

	service_start(&service, arguments);
	must_sum_once(MIB);
	service_end(&service);
}
END_TEST

/* Who asks before it sends is told before it sends. */
START_TEST(answers_before_the_body)
{
	static const char *const arguments[] = { "--max-body=1000", NULL };
	struct answer answer;
	struct text request = { 0 };
	int fd;

	service_start(&service, arguments);
	fd = client_connect(service.port);
	post_header(&request, 1001);
	request.size -= 2;
	text_print(&request, "Expect: 100-continue\r\n\r\n");
	client_ask(fd, &request, &answer);
	ck_assert_uint_eq(answer.status, 413);
	answer_free(&answer);
	text_free(&request);
	close(fd);
	service_end(&service);
}
END_TEST

START_TEST(refuses_many_connections)
{
	static const char *const arguments[] = { "--connections=2", NULL };
	struct text request = { 0 };
	struct answer answer;
	int fd[3];

	service_start(&service, arguments);
	sum_of_ones(&request, 10);
	for (int i = 0; i < 3; i++) {
		fd[i] = client_connect(service.port);
		client_ask(fd[i], &request, &answer);
		ck_assert_uint_eq(answer.status, i < 2 ? 200 : 503);
		if (i == 2) {
			ck_assert_ptr_nonnull(strstr(answer.body.bytes,
						     "too many connections"));
			ck_assert_ptr_nonnull(answer_field(&answer,
							   "Retry-After"));
		}
		answer_free(&answer);
	}
	close(fd[1]);
	close(fd[2]);
	/* fd[0], and the one that asks, which is beyond no limit. */
	client_await(service.port, "lend_server_connections", 2, 2);
	fd[1] = -1;
	do {
		if (fd[1] >= 0)
			close(fd[1]);
		fd[1] = client_connect(service.port);
		client_ask(fd[1], &request, &answer);
		fd[2] = (int)answer.status;
		answer_free(&answer);
		/* The one that asked may still have been there. */
	} while (fd[2] != 200);
	text_free(&request);
	close(fd[0]);
	close(fd[1]);
	service_end(&service);
}
END_TEST

/* Little to send, and more to do than is allowed. */
START_TEST(refuses_long_work)
{
	static const char *const arguments[] = { "--max-flops=1e6", NULL };
	struct text form = { 0 }, request = { 0 };
	const size_t n = 2000;
	double *ones = calloc(n, sizeof *ones);
	struct answer answer;
	int fd;

	service_start(&service, arguments);
	fd = client_connect(service.port);
	form_string(&form, "einsum", "a,b->ab");
	form_array(&form, "x", 1, &n, ones);
	form_array(&form, "y", 1, &n, ones);
	form_end(&form);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	ck_assert_uint_eq(answer.status, 400);
	ck_assert_ptr_nonnull(strstr(answer.body.bytes, "1e+06 are allowed"));
	answer_free(&answer);
	must_sum(fd, 1000);
	text_free(&form);
	text_free(&request);
	free(ones);
	close(fd);
	service_end(&service);
}
END_TEST

/* 3 a,a,..-> + 1, of n operands of two ones. */
static void
many_operands(struct text *request, size_t n)
{
	const double one = 1, ones[] = { 1, 1 };
	const size_t extent = 2;
	struct text form = { 0 }, einsum = { 0 };
	char name[32];

	for (size_t i = 0; i < n; i++)
		text_print(&einsum, i ? ",a" : "a");
	text_print(&einsum, "->");
	form_string(&form, "alpha", "3");
	form_array(&form, "accumulate", 0, NULL, &one);
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "x%zu", i);
		form_array(&form, name, 1, &extent, ones);
	}
	form_string(&form, "einsum", einsum.bytes);
	form_end(&form);
	post(request, &form);
	text_free(&einsum);
	text_free(&form);
}

static const struct {
	const char *arguments[2];
	size_t most;
} operands[] = {
	{ { NULL }, 64 },
	{ { "--max-operands=3", NULL }, 3 },
};

/* The other fields count for nothing. */
START_TEST(refuses_many_operands)
{
	struct text request = { 0 };
	struct answer answer;
	char says[64];
	int fd;

	service_start(&service, operands[_i].arguments);
	fd = client_connect(service.port);
	for (int beyond = 1; beyond >= 0; beyond--) {
		many_operands(&request, operands[_i].most + (size_t)beyond);
		client_ask(fd, &request, &answer);
		text_free(&request);
		if (beyond) {
			ck_assert_uint_eq(answer.status, 400);
			snprintf(says, sizeof says, "array 'x%zu': more than "
				 "the %zu operands", operands[_i].most,
				 operands[_i].most);
			ck_assert_ptr_nonnull(strstr(answer.body.bytes, says));
		} else {
			/* 3 (1 + 1) + 1. */
			ck_assert_double_eq(*answer_array(&answer, 0, NULL),
					    7);
		}
		answer_free(&answer);
	}
	close(fd);
	service_end(&service);
}
END_TEST

START_TEST(serves_without_a_limit)
{
	static const char *const arguments[] = { "--limit=0", NULL };

	service_start(&service, arguments);
	must_sum_once(5 * MIB / 8);
	service_end(&service);
}
END_TEST

/* Two are kept: of three, the one goes that was asked for least recently. */
START_TEST(keeps_some_plans)
{
	static const char *const arguments[] = { "--plans=2", NULL };
	static const size_t sizes[] = { 1, 2, 1, 3, 1, 2 };
	int fd;

	service_start(&service, arguments);
	fd = client_connect(service.port);
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
		must_sum(fd, sizes[i]);
	ck_assert_double_eq(client_metric(service.port,
				"lend_server_plans_made_total"), 4);
	ck_assert_double_eq(client_metric(service.port,
				"lend_server_plans_found_total"), 2);
	close(fd);
	service_end(&service);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("server_limit");
	TCase *tcase = suite_case(suite, "limit");

	if (!service_possible())
		return 77;
	tcase_add_test(tcase, refuses_large_results);
	tcase_add_test(tcase, refuses_beside_others);
	tcase_add_test(tcase, silent_clients_hold_little);
	tcase_add_loop_test(tcase, refuses_what_never_fits, 0, 3);
	tcase_add_loop_test(tcase, refuses_large_bodies, 0, 2);
	tcase_add_test(tcase, closes_endless_bodies);
	tcase_add_test(tcase, closes_slow_bodies);
	tcase_add_test(tcase, slow_bodies_have_time);
	tcase_add_test(tcase, answers_before_the_body);
	tcase_add_test(tcase, refuses_many_connections);
	tcase_add_test(tcase, refuses_long_work);
	tcase_add_loop_test(tcase, refuses_many_operands, 0,
			    sizeof operands / sizeof operands[0]);
	tcase_add_test(tcase, serves_without_a_limit);
	tcase_add_test(tcase, keeps_some_plans);
	return suite_run(suite);
}
