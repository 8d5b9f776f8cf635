/* SPDX-License-Identifier: MIT */
/* The example server, used by several clients at once, and how it ends. */
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/client.h"
#include "server/service.h"
#include "support/suite.h"

#define CLIENTS 8
#define REQUESTS 25
#define SIDE 40

static struct service service;

/* ------------------------------------------------------------------------
 * Many clients
 * ------------------------------------------------------------------------ */

struct client {
	pthread_t thread;
	unsigned number;
	unsigned served, refused, wrong;
};

static double
element(unsigned seed, size_t i)
{
	return (double)((i * 7 + seed) % 13) - 6;
}

/* ab,bc->ac of n x n, all of it of that seed. */
static void
product_request(struct text *request, unsigned seed, size_t n)
{
	const size_t extent[2] = { n, n };
	double *number = malloc(n * n * sizeof *number);
	struct text form = { 0 };

	for (size_t i = 0; i < n * n; i++)
		number[i] = element(seed, i);
	form_string(&form, "einsum", "ab,bc->ac");
	form_array(&form, "x", 2, extent, number);
	form_array(&form, "y", 2, extent, number);
	form_end(&form);
	post(request, &form);
	text_free(&form);
	free(number);
}

static bool
is_product(const struct answer *answer, unsigned seed, size_t n)
{
	const size_t extent[2] = { n, n };
	const double *c = answer_array(answer, 2, extent);

	for (size_t i = 0; i < n * n; i++) {
		double sum = 0;

		for (size_t j = 0; j < n; j++)
			sum += element(seed, i / n * n + j) *
			       element(seed, j * n + i % n);
		if (c[i] != sum)
			return false;
	}
	return true;
}

/* One request, again until it is served; false: something was wrong. */
static bool
serve_once(struct client *client, int fd, unsigned seed, size_t n)
{
	struct text request = { 0 };
	struct answer answer;
	bool good = true;

	product_request(&request, seed, n);
	for (;;) {
		client_ask(fd, &request, &answer);
		if (answer.status != 503)
			break;
		client->refused++;
		answer_free(&answer);
	}
	good = answer.status == 200 && is_product(&answer, seed, n);
	answer_free(&answer);
	text_free(&request);
	return good;
}

/* Half of the requests on one connection, each other on its own. */
static void *
use(void *arg)
{
	struct client *client = arg;
	int kept = client_connect(service.port);

	for (unsigned i = 0; i < REQUESTS; i++) {
		unsigned seed = client->number * REQUESTS + i;
		int fd = i % 2 ? client_connect(service.port) : kept;

		if (serve_once(client, fd, seed, 1 + seed * 5 % SIDE))
			client->served++;
		else
			client->wrong++;
		if (fd != kept)
			close(fd);
	}
	close(kept);
	return NULL;
}

/* Without a limit to speak of, and with one that not all of them fit in. */
START_TEST(serves_many)
{
	static const char *const arguments[][4] = {
		{ "--io=3", "--workers=3", "--threads=2", NULL },
		{ "--limit=512K", "--workers=4", "--threads=1", NULL },
		{ "--io=1", "--workers=1", "--plans=0", NULL },
	};
	struct client client[CLIENTS] = { { .number = 0 } };

	service_start(&service, arguments[_i]);
	for (unsigned i = 0; i < CLIENTS; i++) {
		client[i].number = i;
		ck_assert_int_eq(pthread_create(&client[i].thread, NULL, use,
						&client[i]), 0);
	}
	for (unsigned i = 0; i < CLIENTS; i++)
		pthread_join(client[i].thread, NULL);
	for (unsigned i = 0; i < CLIENTS; i++) {
		ck_assert_uint_eq(client[i].wrong, 0);
		ck_assert_uint_eq(client[i].served, REQUESTS);
		ck_assert(_i == 1 || client[i].refused == 0);
	}
	client_await(service.port, "lend_server_connections", 1, 1);
	client_await(service.port, "lend_arena_leased_bytes", 0, 0);
	client_await(service.port, "lend_arena_buffers_out", 0, 0);
	ck_assert_double_eq(client_metric(service.port,
				"lend_server_contract_seconds_count"),
			    CLIENTS * REQUESTS);
	service_end(&service);
}
END_TEST

/* ------------------------------------------------------------------------
 * The end
 * ------------------------------------------------------------------------ */

static const char *const none[] = { NULL };

/* Sends the beginning of a request and waits until it is in flight. */
static int
begin(const struct text *request)
{
	int fd = client_connect(service.port);

	ck_assert(client_send(fd, request->bytes, request->size / 2));
	client_await(service.port, "lend_server_requests_in_flight", 2, 2);
	return fd;
}

/* Waits until nobody is accepted any more. */
static void
await_quiet(void)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\n"
				      "Host: here\r\n\r\n";
	struct answer answer;
	bool served;

	do {
		int fd = client_connect(service.port);

		ck_assert_int_ge(fd, 0);
		served = client_send(fd, request, sizeof request - 1) &&
			 client_receive(fd, &answer);
		if (served)
			answer_free(&answer);
		close(fd);
	} while (served);
}

/* What was begun is finished; what begins afterwards is refused. */
START_TEST(finishes_what_runs)
{
	struct text request = { 0 };
	struct answer answer;
	int busy, idle;

	service_start(&service, none);
	product_request(&request, 1, SIDE);
	idle = client_connect(service.port);
	client_ask(idle, &request, &answer);
	ck_assert(is_product(&answer, 1, SIDE));
	answer_free(&answer);
	client_await(service.port, "lend_server_requests_in_flight", 1, 1);
	busy = begin(&request);
	ck_assert_int_eq(kill(service.pid, _i ? SIGINT : SIGTERM), 0);
	await_quiet();
	client_ask(idle, &request, &answer);
	ck_assert_uint_eq(answer.status, 503);
	ck_assert_ptr_nonnull(strstr(answer.body.bytes, "ending"));
	answer_free(&answer);
	ck_assert(client_send(busy, request.bytes + request.size / 2,
			      request.size - request.size / 2));
	ck_assert(client_receive(busy, &answer));
	ck_assert(is_product(&answer, 1, SIDE));
	ck_assert_str_eq(answer_field(&answer, "Connection"), "close");
	answer_free(&answer);
	if (service_wait(&service) || service.text[0])
		ck_abort_msg("%s", service.text);
	text_free(&request);
	close(busy);
	close(idle);
}
END_TEST

/* A client that never finishes does not keep it, nor its memory. */
START_TEST(ends_after_the_grace)
{
	static const char *const arguments[] = { "--grace=0", NULL };
	struct text request = { 0 };
	struct answer answer;
	int fd;

	service_start(&service, arguments);
	product_request(&request, 1, SIDE);
	fd = begin(&request);
	ck_assert_int_eq(kill(service.pid, SIGTERM), 0);
	ck_assert(!client_receive(fd, &answer));
	ck_assert_int_eq(service_wait(&service), 0);
	ck_assert_str_eq(service.text, "lend-server: the end: some requests "
				       "were not finished\n");
	text_free(&request);
	close(fd);
}
END_TEST

/* While clients ask as fast as they can. */
START_TEST(ends_amid_work)
{
	struct text request[CLIENTS] = { { 0 } };
	int fd[CLIENTS];
	struct answer answer;

	service_start(&service, none);
	for (unsigned i = 0; i < CLIENTS; i++) {
		product_request(&request[i], i, 4 * SIDE);
		fd[i] = client_connect(service.port);
		ck_assert(client_send(fd[i], request[i].bytes,
				      request[i].size));
	}
	ck_assert_int_eq(kill(service.pid, SIGTERM), 0);
	/* Served, refused, or not even accepted; but never wrongly. */
	for (unsigned i = 0; i < CLIENTS; i++) {
		if (client_receive(fd[i], &answer)) {
			ck_assert(answer.status == 503 ||
				  is_product(&answer, i, 4 * SIDE));
			answer_free(&answer);
		}
		close(fd[i]);
		text_free(&request[i]);
	}
	if (service_wait(&service) || service.text[0])
		ck_abort_msg("%s", service.text);
}
END_TEST

static const struct {
	const char *arguments[3];
	int status;
	const char *says;
} starts[] = {
	{ { "--port=x", NULL }, 2, "'x' is not a number" },
	{ { "--limit=5Q", NULL }, 2, "'5Q' is not a number" },
	{ { "--limit=-1", NULL }, 2, "'-1' is not a number" },
	{ { "--workers=0", NULL }, 2, "'0' is not a number" },
	{ { "--max-flops=0", NULL }, 2, "'0' is not a number" },
	{ { "--max-operands=0", NULL }, 2, "'0' is not a number" },
	{ { "--nonsense", NULL }, 2, "nonsense" },
	{ { "--listen=nowhere", NULL }, 1, "address 'nowhere'" },
	{ { "--help", NULL }, 0, "" },
};

START_TEST(tells_how_it_cannot_start)
{
	ck_assert_int_eq(service_run(&service, starts[_i].arguments),
			 starts[_i].status);
	ck_assert_ptr_nonnull(strstr(service.text, starts[_i].says));
}
END_TEST

START_TEST(tells_of_a_taken_port)
{
	char port[32];
	const char *const same[] = { port, NULL };
	struct service second;

	service_start(&service, none);
	snprintf(port, sizeof port, "--port=%u", service.port);
	ck_assert_int_eq(service_run(&second, same), 1);
	ck_assert_ptr_nonnull(strstr(second.text, "cannot listen"));
	service_end(&service);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("server_busy");
	TCase *many = suite_case(suite, "many");
	TCase *end = suite_case(suite, "end");

	if (!service_possible())
		return 77;
	tcase_add_loop_test(many, serves_many, 0, 3);
	tcase_add_loop_test(end, finishes_what_runs, 0, 2);
	tcase_add_test(end, ends_after_the_grace);
	tcase_add_test(end, ends_amid_work);
	tcase_add_loop_test(end, tells_how_it_cannot_start, 0,
			    sizeof starts / sizeof starts[0]);
	tcase_add_test(end, tells_of_a_taken_port);
	return suite_run(suite);
}
