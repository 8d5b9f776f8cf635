/* SPDX-License-Identifier: MIT */
/* The example server: right answers, and what it says to wrong questions. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/client.h"
#include "server/service.h"
#include "support/random.h"
#include "support/suite.h"

#define NONE { NULL }

static const size_t shape_a[] = { 5, 7 }, shape_b[] = { 7, 3 };
static const size_t shape_c[] = { 5, 3 };
static double a[5][7], b[7][3];
static struct service service;

/* Small whole numbers: sums of products are exact. */
static void
start(void)
{
	static const char *const arguments[] = NONE;

	for (int i = 0; i < 5; i++)
		for (int j = 0; j < 7; j++)
			a[i][j] = (i * 7 + j) % 11 - 5;
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < 3; j++)
			b[i][j] = (i * 3 + j) % 8 - 3;
	service_start(&service, arguments);
}

static double
product(int i, int k)
{
	double sum = 0;

	for (int j = 0; j < 7; j++)
		sum += a[i][j] * b[j][k];
	return sum;
}

static void
stop(void)
{
	/* A request ends after its last byte has left. */
	client_await(service.port, "lend_arena_leased_bytes", 0, 0);
	client_await(service.port, "lend_arena_buffers_out", 0, 0);
	service_end(&service);
}

/* ab,bc->ac with the two, and what the caller adds. */
static void
begin_product(struct text *form)
{
	form_string(form, "einsum", "ab,bc->ac");
	form_array(form, "left", 2, shape_a, &a[0][0]);
	form_array(form, "right", 2, shape_b, &b[0][0]);
}

static void
check_product(const struct answer *answer, double alpha)
{
	const double *c = answer_array(answer, 2, shape_c);

	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 3; k++)
			ck_assert_double_eq(c[3 * i + k],
					    alpha * product(i, k));
}

START_TEST(contracts)
{
	struct text form = { 0 }, request = { 0 };
	struct answer answer;
	int fd = client_connect(service.port);

	begin_product(&form);
	if (_i)
		form_string(&form, "alpha", "-2.5");
	form_end(&form);
	post(&request, &form);
	/* More than once on a connection: the second finds the plan. */
	for (int i = 0; i < 3; i++) {
		client_ask(fd, &request, &answer);
		check_product(&answer, _i ? -2.5 : 1);
		ck_assert_str_eq(answer_field(&answer, "Content-Type"),
				 "application/octet-stream");
		answer_free(&answer);
	}
	ck_assert_double_eq(client_metric(service.port,
				"lend_server_plans_made_total"), 1);
	ck_assert_double_eq(client_metric(service.port,
				"lend_server_plans_found_total"), 2);
	text_free(&form);
	text_free(&request);
	close(fd);
}
END_TEST

/* One, and more than two. */
START_TEST(contracts_any_number)
{
	static const struct {
		const char *einsum;
		size_t operands;
		const char *path;
	} cases[] = {
		{ "ab->", 1, NULL },
		{ "ab,bc,ad,dc->", 4, NULL },
		{ "ab,bc,ad,dc->", 4, "0,1;0,1;1,0" },
		{ "ab,bc,ad,dc->", 4, "[(0, 2), (1, 0), (0, 1)]" },
	};
	struct text form = { 0 }, request = { 0 };
	struct answer answer;
	double want = 0;
	int fd = client_connect(service.port);

	form_string(&form, "einsum", cases[_i].einsum);
	if (cases[_i].path)
		form_string(&form, "path", cases[_i].path);
	form_array(&form, "0", 2, shape_a, &a[0][0]);
	if (cases[_i].operands == 4) {
		form_array(&form, "1", 2, shape_b, &b[0][0]);
		form_array(&form, "2", 2, shape_a, &a[0][0]);
		form_array(&form, "3", 2, shape_b, &b[0][0]);
		for (int i = 0; i < 5; i++)
			for (int k = 0; k < 3; k++)
				want += product(i, k) * product(i, k);
	} else {
		for (int i = 0; i < 5; i++)
			for (int j = 0; j < 7; j++)
				want += a[i][j];
	}
	form_end(&form);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	ck_assert_double_eq(*answer_array(&answer, 0, NULL), want);
	answer_free(&answer);
	text_free(&form);
	text_free(&request);
	close(fd);
}
END_TEST

/*
 * Into an array that is added to, where it lies: its elements are of the other
 * byte order, and begin at an odd byte.
 */
START_TEST(accumulates)
{
	static const char head[] = "\x93NUMPY\x01\x00\x38\x00"
		"{'descr':'>f8','fortran_order':False,'shape':(5,3)}     ";
	struct text form = { 0 }, request = { 0 }, file = { 0 };
	struct answer answer;
	const double *c;
	int fd = client_connect(service.port);

	text_add(&file, head, 10 + 0x38 - 1);
	text_add(&file, "\n", 1);
	ck_assert_uint_ne(file.size % 8, 0);
	for (int i = 0; i < 15; i++) {
		double number = i;
		unsigned long long bits;

		memcpy(&bits, &number, sizeof bits);
		for (int byte = 7; byte >= 0; byte--)
			text_add(&file, &(char){ (char)(bits >> 8 * byte) }, 1);
	}
	begin_product(&form);
	form_string(&form, "alpha", "2");
	form_string(&form, "beta", "-3");
	form_field(&form, "accumulate", file.bytes, file.size);
	form_end(&form);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	c = answer_array(&answer, 2, shape_c);
	for (int i = 0; i < 15; i++)
		ck_assert_double_eq(c[i], 2 * product(i / 3, i % 3) - 3 * i);
	answer_free(&answer);
	text_free(&file);
	text_free(&form);
	text_free(&request);
	close(fd);
}
END_TEST

/* Of unknown length, in chunks of 1 to 97 bytes. */
START_TEST(reads_chunks)
{
	struct text form = { 0 }, request = { 0 };
	struct answer answer;
	int fd = client_connect(service.port);

	begin_product(&form);
	form_end(&form);
	post_header(&request, 0);
	for (size_t at = 0, n; at < form.size; at += n) {
		n = _i ? 1 + at % 97 : 1;
		n = n < form.size - at ? n : form.size - at;
		text_print(&request, "%zx\r\n", n);
		text_add(&request, form.bytes + at, n);
		text_add(&request, "\r\n", 2);
	}
	text_print(&request, "0\r\n\r\n");
	client_ask(fd, &request, &answer);
	check_product(&answer, 1);
	answer_free(&answer);
	text_free(&form);
	text_free(&request);
	close(fd);
}
END_TEST

/* ------------------------------------------------------------------------
 * What is wrong
 * ------------------------------------------------------------------------ */

enum { A = 1, B = 2, AB = 3 };

static const struct {
	const char *einsum;
	unsigned arrays;
	const char *name, *value;	/* one more field, if there is one */
	const char *says;
} wrong[] = {
	{ NULL, AB, NULL, NULL, "field 'einsum' is missing" },
	{ "ab,bc->ac", 0, NULL, NULL, "there is no operand" },
	{ "ab,bc->ac", A, NULL, NULL, "einsum" },
	{ "ab,bc->aq", AB, NULL, NULL, "label 'q'" },
	{ "ab,bc", AB, "einsum", "ab,bc", "field 'einsum' stands twice" },
	{ "ab,cb->ac", AB, NULL, NULL, "label 'b': extent 3 " },
	{ "ab,bc->ac", AB, "left", "x", "field 'left' stands twice" },
	{ "ab,bc->ac", A, "right", "x", "array 'right': not a .npy file" },
	{ "ab,bc->ac", A, "right", "", "array 'right': the file is empty" },
	{ "ab,bc->ac", A, "right", "\x93NUMPY\x01", "array 'right': trunc" },
	{ "ab,bc->ac", AB, "alpha", "two", "field 'alpha': not a number" },
	{ "ab,bc->ac", AB, "alpha", "2i", "field 'alpha': it has an imag" },
	{ "ab,bc->ac", AB, "beta", "2", "there is no array 'accumulate'" },
	{ "ab,bc->ac", AB, "path", "0,x", "'path': no position at byte 2" },
	{ "ab,bc->ac", AB, "path", "0", "'path': 1 positions are no pairs" },
	{ "ab,bc->ac", AB, "path", "0,2", "path" },
	{ "ab,bc->ac", AB, "path", "0,0", "path" },
	{ "ab,bc->ac", AB, "path", "0,1;0,1", "path" },
	{ "ab,bc->ac", AB, "path", "0,1;0,1;0,1;0,1;0,1", "more steps than" },
	{ "ab,bc->ac", AB, "", "x", "its name has not 1 to 31 bytes" },
	{ "ab,bc->ac", AB, "a-name-of-more-than-31-bytes-in-all", "x",
	  "its name has not 1 to 31 bytes" },
};

START_TEST(refuses_forms)
{
	struct text form = { 0 }, request = { 0 };
	struct answer answer;
	int fd = client_connect(service.port);

	if (wrong[_i].einsum)
		form_string(&form, "einsum", wrong[_i].einsum);
	if (wrong[_i].arrays & A)
		form_array(&form, "left", 2, shape_a, &a[0][0]);
	if (wrong[_i].arrays & B)
		form_array(&form, "right", 2, shape_b, &b[0][0]);
	if (wrong[_i].name)
		form_string(&form, wrong[_i].name, wrong[_i].value);
	form_end(&form);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	ck_assert_uint_eq(answer.status, 400);
	if (!strstr(answer.body.bytes, wrong[_i].says))
		ck_abort_msg("'%s' does not say '%s'", answer.body.bytes,
			     wrong[_i].says);
	/* One line. */
	ck_assert_ptr_eq(strchr(answer.body.bytes, '\n'),
			 answer.body.bytes + answer.body.size - 1);
	ck_assert_ptr_nonnull(strstr(answer_field(&answer, "Content-Type"),
				     "text/plain"));
	answer_free(&answer);
	/* The connection and the server are as good as before. */
	text_free(&form);
	text_free(&request);
	begin_product(&form);
	form_end(&form);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	check_product(&answer, 1);
	answer_free(&answer);
	text_free(&form);
	text_free(&request);
	close(fd);
}
END_TEST

/* Also when the plan of the same request without a path is kept. */
START_TEST(refuses_a_path_without_steps)
{
	struct text form = { 0 }, request = { 0 };
	struct answer answer;
	int fd = client_connect(service.port);

	begin_product(&form);
	form_end(&form);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	check_product(&answer, 1);
	answer_free(&answer);
	text_free(&form);
	text_free(&request);
	begin_product(&form);
	form_string(&form, "path", "");
	form_end(&form);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	ck_assert_uint_eq(answer.status, 400);
	ck_assert_ptr_nonnull(strstr(answer.body.bytes, "has 0 steps"));
	answer_free(&answer);
	text_free(&form);
	text_free(&request);
	close(fd);
}
END_TEST

/* A .npy that ends anywhere, or is longer than it says. */
START_TEST(refuses_cut_arrays)
{
	struct text whole = { 0 }, form = { 0 }, request = { 0 };
	struct answer answer;
	const char *file;
	size_t size;
	int fd = client_connect(service.port);

	form_array(&whole, "x", 2, shape_a, &a[0][0]);
	file = strstr(whole.bytes, "\r\n\r\n") + 4;
	size = (size_t)(whole.bytes + whole.size - 2 - file);
	for (size_t n = 0; n < size; n += 1 + n / 3) {
		form_string(&form, "einsum", "ab->ba");
		form_field(&form, "x", file, n);
		form_end(&form);
		post(&request, &form);
		client_ask(fd, &request, &answer);
		ck_assert_uint_eq(answer.status, 400);
		ck_assert_ptr_nonnull(strstr(answer.body.bytes, "array 'x': "));
		answer_free(&answer);
		text_free(&form);
		text_free(&request);
	}
	text_free(&whole);
	close(fd);
}
END_TEST

/* Bytes that are no form, and one that ends too early. */
START_TEST(refuses_bodies)
{
	static const char *const bodies[] = {
		"no form", "\r\n\r\n", "--5cf0c9fe\r\n\r\n",
		("--5cf0c9fe\r\nContent-Disposition: form-data; "
		 "name=\"einsum\"\r\n\r\nab->"),
	};
	struct text form = { 0 }, request = { 0 };
	struct answer answer;
	int fd = client_connect(service.port);

	text_print(&form, "%s", bodies[_i]);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	ck_assert_uint_eq(answer.status, 400);
	answer_free(&answer);
	text_free(&form);
	text_free(&request);
	close(fd);
}
END_TEST

/* Nor does whoever asks for more than the sockets hold and never reads it. */
START_TEST(forgets_readers)
{
	struct text form = { 0 }, request = { 0 };
	const size_t n = 1500;
	double *ones = calloc(n, sizeof *ones);
	const double bytes = (double)(n * n * sizeof *ones);
	int fd;

	form_string(&form, "einsum", "a,b->ab");
	form_array(&form, "x", 1, &n, ones);
	form_array(&form, "y", 1, &n, ones);
	form_end(&form);
	post(&request, &form);
	fd = client_connect(service.port);
	ck_assert(client_send(fd, request.bytes, request.size));
	client_await(service.port, "lend_server_contract_seconds_count", 1, 1);
	ck_assert_double_ge(client_metric(service.port,
					  "lend_arena_leased_bytes"), bytes);
	close(fd);
	client_await(service.port, "lend_server_requests_in_flight", 1, 1);
	text_free(&form);
	text_free(&request);
	free(ones);
}
END_TEST

/* Forms with some bytes wrong: any answer, in one piece. */
START_TEST(survives_damage)
{
	struct text form = { 0 }, request = { 0 };
	uint64_t random = (uint64_t)_i;
	struct answer answer;
	int fd = client_connect(service.port);
	unsigned answers = 0;

	begin_product(&form);
	form_string(&form, "path", "0,1");
	form_end(&form);
	for (int i = 0; i < 300; i++) {
		size_t header;

		post_header(&request, form.size);
		header = request.size;
		text_add(&request, form.bytes, form.size);
		for (unsigned n = 1 + random_below(&random, 4); n > 0; n--)
			request.bytes[header +
				      random_next(&random) % form.size] =
				(char)random_next(&random);
		client_ask(fd, &request, &answer);
		ck_assert(answer.status == 200 || answer.status == 400 ||
			  answer.status == 503);
		answers |= answer.status == 200 ? 1 : 2;
		answer_free(&answer);
		text_free(&request);
	}
	/* Some harm the numbers alone. */
	ck_assert_uint_eq(answers, 3);
	post(&request, &form);
	client_ask(fd, &request, &answer);
	check_product(&answer, 1);
	answer_free(&answer);
	text_free(&form);
	text_free(&request);
	close(fd);
}
END_TEST

static const struct {
	const char *request;
	unsigned status;
	const char *says;
} lines[] = {
	{ "GET /healthz", 200, "ok\n" },
	{ "GET /nothing", 404, "/contract, /metrics and /healthz" },
	{ "GET /contract", 405, "only POST" },
	{ "POST /metrics", 405, "only GET" },
	{ "POST /contract", 415, "multipart/form-data" },
};

START_TEST(answers_lines)
{
	struct text request = { 0 };
	struct answer answer;
	int fd = client_connect(service.port);

	text_print(&request, "%s HTTP/1.1\r\nHost: here\r\n"
			     "Content-Length: 0\r\n\r\n", lines[_i].request);
	client_ask(fd, &request, &answer);
	ck_assert_uint_eq(answer.status, lines[_i].status);
	ck_assert_ptr_nonnull(strstr(answer.body.bytes, lines[_i].says));
	ck_assert(answer.status != 405 || answer_field(&answer, "Allow"));
	answer_free(&answer);
	text_free(&request);
	close(fd);
}
END_TEST

/* Whoever leaves amid a body leaves nothing behind. */
START_TEST(forgets_clients)
{
	struct text form = { 0 }, request = { 0 };
	int fd;

	begin_product(&form);
	form_end(&form);
	post(&request, &form);
	for (size_t n = 1; n <= 4; n++) {
		fd = client_connect(service.port);
		ck_assert(client_send(fd, request.bytes,
				      request.size - n * form.size / 5));
		/* Its header was read; /metrics itself is the other one. */
		client_await(service.port, "lend_server_requests_in_flight",
			     2, 2);
		close(fd);
		client_await(service.port, "lend_server_requests_in_flight",
			     1, 1);
	}
	ck_assert_double_eq(client_metric(service.port,
			"lend_server_requests_total{code=\"none\"}"), 4);
	text_free(&form);
	text_free(&request);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("server");
	TCase *right = suite_case(suite, "right");
	TCase *bad = suite_case(suite, "wrong");

	if (!service_possible())
		return 77;
	tcase_add_checked_fixture(right, start, stop);
	tcase_add_loop_test(right, contracts, 0, 2);
	tcase_add_loop_test(right, contracts_any_number, 0, 4);
	tcase_add_test(right, accumulates);
	tcase_add_loop_test(right, reads_chunks, 0, 2);
	tcase_add_checked_fixture(bad, start, stop);
	tcase_add_loop_test(bad, refuses_forms, 0,
			    sizeof wrong / sizeof wrong[0]);
	tcase_add_test(bad, refuses_a_path_without_steps);
	tcase_add_test(bad, refuses_cut_arrays);
	tcase_add_loop_test(bad, refuses_bodies, 0, 4);
	tcase_add_loop_test(bad, answers_lines, 0,
			    sizeof lines / sizeof lines[0]);
	tcase_add_loop_test(bad, survives_damage, 0, 4);
	tcase_add_test(bad, forgets_clients);
	tcase_add_test(bad, forgets_readers);
	return suite_run(suite);
}
