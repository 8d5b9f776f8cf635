/* SPDX-License-Identifier: MIT */
/*
 * Each function acquires one thing, lets the next one go on, and releases it:
 *
 *   cases (instance - network - operands) - threads - measurements
 */
#include "tools/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/message.h"

static const enum lender_kind kinds[LOAD_KINDS] = {
	LENDER_LEND, LENDER_MUTEX, LENDER_MALLOC
};

double
load_rate(const struct load_result *result)
{
	return (double)result->latency.count / result->seconds;
}

/* Measurements. */

static int
by_rate(const void *a, const void *b)
{
	double x = load_rate(a), y = load_rate(b);

	return (x > y) - (x < y);
}

/* The one of the median rate of each number of rounds in a row. */
static void
keep_medians(struct load *load, size_t places)
{
	size_t rounds = load->options->rounds;

	for (size_t i = 0; i < places; i++) {
		struct load_result *of = load->results + i * rounds;

		qsort(of, rounds, sizeof *of, by_rate);
		load->results[i] = of[rounds / 2];
	}
	load->results_count = places;
}

/* Round after round, in each number of clients after number, all kinds. */
static int
measure_all(struct load *load, const size_t *clients, size_t numbers)
{
	size_t rounds = load->options->rounds;

	for (size_t round = 0; round < rounds; round++)
		for (size_t i = 0; i < numbers * LOAD_KINDS; i++) {
			struct load_result *result =
				&load->results[i * rounds + round];
			int status = load_measure(load, kinds[i % LOAD_KINDS],
						  clients[i / LOAD_KINDS],
						  result);

			if (status)
				return status;
		}
	keep_medians(load, numbers * LOAD_KINDS);
	return load_plot(load);
}

static int
measure_one(struct load *load)
{
	const struct load_options *o = load->options;

	for (size_t round = 0; round < o->rounds; round++) {
		int status = load_measure(load, o->lender, o->clients,
					  &load->results[round]);

		if (status)
			return status;
	}
	keep_medians(load, 1);
	return 0;
}

/* 1, 2, 4 .. and the number that was asked for. */
static size_t
choose_clients(size_t most, size_t clients[16])
{
	size_t n = 0;

	for (size_t c = 1; c < most; c *= 2)
		clients[n++] = c;
	clients[n++] = most;
	return n;
}

static int
with_threads(struct load *load)
{
	const struct load_options *o = load->options;
	size_t clients[16];
	size_t numbers = choose_clients(o->clients, clients);
	size_t places = o->plot ? numbers * LOAD_KINDS : 1, results;
	int status;

	if (!__builtin_mul_overflow(places, o->rounds, &results))
		load->results = calloc(results, sizeof *load->results);
	if (!load->results)
		return complain("load: no memory for the results of %zu "
				"rounds", o->rounds);
	status = threads_start(&load->threads, o->threads);
	if (status)
		return status;
	status = o->plot ? measure_all(load, clients, numbers) :
			   measure_one(load);
	threads_stop(&load->threads);
	if (!status && !(o->quiet && !o->json))
		load_report(load);
	return status;
}

/* Cases. */

static const struct instance_path *
choose_path(const struct load *load, const struct load_case *c)
{
	const char *name = load->options->path;

	return instance_path(&c->instance, name ? name : "opt_flops");
}

/* What a request of it borrows. */
static int
measure_case(const struct load *load, struct load_case *c,
	     enum lend_type type)
{
	struct lend_network_info info = { .size = sizeof info };
	struct lend_layout output;

	if (lend_network_describe(c->network, &info) ||
	    lend_network_req(c->network, load->options->threads, &c->req,
			     &c->buffer_bytes) ||
	    lend_req_bytes(&c->req, &c->req_bytes))
		return complain("%s: what it borrows overflows", c->file);
	lend_network_output(c->network, &output);
	c->result_bytes = lend_type_bytes(type);
	for (size_t i = 0; i < output.rank; i++)
		c->result_bytes *= output.extent[i];
	if (c->result_bytes == 0)
		return complain("%s: the result has no elements", c->file);
	c->flops = info.flops;
	return 0;
}

static int
open_network(const struct load *load, struct load_case *c)
{
	const struct load_options *o = load->options;
	const struct instance_path *path = choose_path(load, c);
	enum lend_type type = o->typed ? o->type : c->instance.type;
	struct lend_error error;
	struct message why;

	if (o->path && !path && strcmp(o->path, "greedy"))
		return complain("%s: it has no path '%s'", c->file, o->path);
	if (lend_network_create(&c->network, c->instance.einsum, type,
				c->instance.count, c->instance.layout,
				path ? path->pair : NULL,
				path ? path->steps : 0, NULL, &error))
		return complain("%s: %s", c->file, error.text);
	if (!network_data_make(&c->data, &c->instance, type, &why))
		return complain("%s: %s", c->file, why.text);
	return measure_case(load, c, type);
}

static int
open_case(const struct load *load, struct load_case *c)
{
	struct message why;

	if (!instance_read(&c->instance, c->file, &why))
		return complain("%s: %s", c->file, why.text);
	c->data.seed = 1;
	return open_network(load, c);
}

static void
close_case(struct load_case *c)
{
	if (!c->instance.einsum)
		return;
	network_data_free(&c->data);
	lend_network_destroy(c->network);
	instance_free(&c->instance);
}

/* Whether the picture could be written, before all the work. */
static int
check_plot(const struct load_options *o)
{
	struct stat seen = { .st_mode = 0 };
	FILE *file;
	bool absent;

	if (!o->plot)
		return 0;
	absent = lstat(o->plot, &seen) && errno == ENOENT;
	/* Where a link leads nowhere, a try would leave something behind. */
	if (!absent && S_ISLNK(seen.st_mode) && access(o->plot, F_OK))
		return 0;
	file = fopen(o->plot, "ae");
	if (!file)
		return complain("%s: cannot be written", o->plot);
	fclose(file);
	if (absent)
		unlink(o->plot);
	return 0;
}

int
load_run(const struct load_options *options)
{
	struct load load = { .options = options };
	int status = check_plot(options);

	if (status)
		return status;
	load.cases = calloc(options->files_count, sizeof *load.cases);
	if (!load.cases)
		return complain("load: no memory for the instances");
	for (size_t i = 0; i < options->files_count && !status; i++) {
		load.cases[i].file = options->files[i];
		status = open_case(&load, &load.cases[i]);
	}
	if (!status)
		status = with_threads(&load);
	for (size_t i = 0; i < options->files_count; i++)
		close_case(&load.cases[i]);
	free(load.cases);
	free(load.results);
	return status;
}
