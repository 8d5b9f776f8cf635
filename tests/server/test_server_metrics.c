/* SPDX-License-Identifier: MIT */
/* GET /metrics: the text format, line by line, and that its sums agree. */
#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/client.h"
#include "server/service.h"
#include "support/suite.h"

static const char *const none[] = { NULL };
static struct service service;

static void
start(void)
{
	service_start(&service, none);
}

static void
stop(void)
{
	service_end(&service);
}

static const char *
skip_name(const char *p)
{
	ck_assert(isalpha((unsigned char)*p) || *p == '_');
	while (isalnum((unsigned char)*p) || *p == '_')
		p++;
	return p;
}

/* name{label="value",..} number */
static void
check_sample(const char *line, const char *family, size_t length)
{
	const char *p = skip_name(line);
	char *end;

	/* Of the family that was announced last. */
	ck_assert_uint_ge((size_t)(p - line), length);
	ck_assert(!strncmp(line, family, length));
	if (*p == '{') {
		do {
			p = skip_name(p + 1);
			ck_assert(p[0] == '=' && p[1] == '"');
			p = strchr(p + 2, '"');
			ck_assert_ptr_nonnull(p);
			p++;
		} while (*p == ',');
		ck_assert_int_eq(*p++, '}');
	}
	ck_assert_int_eq(*p++, ' ');
	ck_assert_double_ge(strtod(p, &end), 0);
	ck_assert(end > p && *end == '\0');
}

/* The family's name, from its HELP or TYPE line. */
static size_t
check_comment(const char *line, const char **family)
{
	const char *end;

	ck_assert(!strncmp(line, "# HELP ", 7) || !strncmp(line, "# TYPE ", 7));
	end = skip_name(line + 7);
	ck_assert_int_eq(*end, ' ');
	if (line[2] == 'T')
		ck_assert(!strcmp(end, " counter") || !strcmp(end, " gauge") ||
			  !strcmp(end, " histogram"));
	*family = line + 7;
	return (size_t)(end - line - 7);
}

START_TEST(is_well_formed)
{
	const char *family = "";
	size_t length = 0, samples = 0;
	struct answer answer;
	char *rest, *line;

	client_get(service.port, "/metrics", &answer);
	ck_assert_str_eq(answer_field(&answer, "Content-Type"),
			 "text/plain; version=0.0.4; charset=utf-8");
	/* The last line ends as well. */
	ck_assert_int_eq(answer.body.bytes[answer.body.size - 1], '\n');
	rest = answer.body.bytes;
	while ((line = strsep(&rest, "\n")) && *line) {
		if (*line == '#') {
			length = check_comment(line, &family);
			continue;
		}
		check_sample(line, family, length);
		samples++;
	}
	ck_assert_ptr_null(rest);
	ck_assert_uint_gt(samples, 40);
	answer_free(&answer);
}
END_TEST

/* After 5 good requests, 3 bad ones and those for metrics themselves. */
START_TEST(adds_up)
{
	struct text form[2] = { { 0 } }, request[2] = { { 0 } };
	const size_t extent = 4;
	const double number[4] = { 1, 2, 3, 4 };
	struct answer answer;
	double last = 0, value;
	char *at;
	int fd = client_connect(service.port);

	for (int i = 0; i < 2; i++) {
		form_string(&form[i], "einsum", i ? "a->b" : "a->");
		form_array(&form[i], "x", 1, &extent, number);
		form_end(&form[i]);
		post(&request[i], &form[i]);
	}
	for (int i = 0; i < 8; i++) {
		client_ask(fd, &request[i < 3], &answer);
		ck_assert_uint_eq(answer.status, i < 3 ? 400 : 200);
		answer_free(&answer);
	}
	close(fd);
	/* The last one's end comes after its last byte. */
	client_await(service.port, "lend_server_requests_in_flight", 1, 1);
	client_get(service.port, "/metrics", &answer);
	at = strstr(answer.body.bytes, "total{code=\"400\"} ");
	ck_assert_double_eq(strtod(at + 18, NULL), 3);
	at = strstr(answer.body.bytes, "contract_seconds_count ");
	ck_assert_double_eq(strtod(at + 23, NULL), 5);
	/* Buckets are sums of all smaller ones; the last one is of all. */
	at = answer.body.bytes;
	while ((at = strstr(at, "contract_seconds_bucket{le=\""))) {
		at = strchr(at, '}') + 1;
		value = strtod(at, NULL);
		ck_assert_double_ge(value, last);
		last = value;
	}
	ck_assert_double_eq(last, 5);
	answer_free(&answer);
	for (int i = 0; i < 2; i++) {
		text_free(&form[i]);
		text_free(&request[i]);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("server_metrics");
	TCase *tcase = suite_case(suite, "metrics");

	if (!service_possible())
		return 77;
	tcase_add_checked_fixture(tcase, start, stop);
	tcase_add_test(tcase, is_well_formed);
	tcase_add_test(tcase, adds_up);
	return suite_run(suite);
}
