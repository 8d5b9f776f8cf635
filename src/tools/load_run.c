/* SPDX-License-Identifier: MIT */
/*
 * One measurement:
 *
 *   clients   warm up ---- meet ---- request, request, .. until `stop`
 *   main                   meet      looks now and then, then sets `stop`
 *
 * Warming up is one request of each network by each client, all at once, so
 * that what is measured is the steady state.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tools/cleanup.h"
#include "tools/clock.h"
#include "tools/load.h"
#include "tools/message.h"
#include "tools/print.h"

/* Between two looks. */
#define PERIOD_S 0.25

struct run {
	const struct load *load;
	struct lender lender;
	size_t clients;
	pthread_barrier_t barrier;	/* all clients and the main thread */
	atomic_bool stop;
	pthread_mutex_t lock;
	/* Guarded by the lock: what ended a client early, the first one. */
	int error;
	const char *file;
	struct lend_error why;
};

struct client {
	struct run *run;
	size_t number;
	pthread_t thread;
	/* Its own until it is joined; relaxed, for the eye, before. */
	atomic_ullong done;
	double flops;
	uint64_t refused;
	struct latency latency;
};

/* Clients. */

static void
fail(struct run *run, const struct load_case *c, int error,
     const struct lend_error *why)
{
	pthread_mutex_lock(&run->lock);
	if (!run->error) {
		run->error = error;
		run->file = c->file;
		run->why = *why;
	}
	pthread_mutex_unlock(&run->lock);
	/* Relaxed: it is looked at again and again. */
	atomic_store_explicit(&run->stop, true, memory_order_relaxed);
}

static int
request_into(const struct run *run, const struct load_case *c, void *result,
	     struct lend_error *why)
{
	struct lend_network_call call = {
		.operands = c->data.operand, .output = result
	};

	return lender_execute_network(&run->lender, c->network,
				      &run->load->threads.exec, &call, why);
}

static int
request(const struct run *run, const struct load_case *c,
	struct lend_error *why)
{
	void *result;
	int error = lender_borrow(&run->lender, c->result_bytes, &result);

	if (error) {
		snprintf(why->text, sizeof why->text, "the result's %zu bytes: "
			 "%s", c->result_bytes, strerror(-error));
		return error;
	}
	error = request_into(run, c, result, why);
	lender_give_back(&run->lender, result);
	return error;
}

/* One request; what the limit refuses is counted, and the next one made. */
static void
request_counted(struct client *client, const struct load_case *c)
{
	struct lend_error why = { "" };
	double begin = now_seconds();
	int error = request(client->run, c, &why);

	if (error == -EDQUOT) {
		client->refused++;
		return;
	}
	if (error) {
		fail(client->run, c, error, &why);
		return;
	}
	latency_add(&client->latency, now_seconds() - begin);
	client->flops += c->flops;
	/* Relaxed: a count for the eye. */
	atomic_fetch_add_explicit(&client->done, 1, memory_order_relaxed);
}

static void
warm_up(struct client *client)
{
	const struct load *load = client->run->load;

	for (size_t i = 0; i < load->options->files_count; i++)
		request_counted(client, &load->cases[i]);
	/* Relaxed: a count for the eye. */
	atomic_store_explicit(&client->done, 0, memory_order_relaxed);
	client->flops = 0;
	client->refused = 0;
	memset(&client->latency, 0, sizeof client->latency);
}

static void *
client_main(void *ctx)
{
	struct client *client = ctx;
	struct run *run = client->run;
	size_t count = run->load->options->files_count, i = client->number;

	warm_up(client);
	pthread_barrier_wait(&run->barrier);
	pthread_barrier_wait(&run->barrier);
	/* Relaxed: any time soon will do. */
	while (!atomic_load_explicit(&run->stop, memory_order_relaxed))
		request_counted(client, &run->load->cases[i++ % count]);
	return NULL;
}

/* The main thread. */

struct counters {
	uint64_t allocations, faults;
};

static struct counters
counters_now(const struct run *run)
{
	struct lender_counts counts;
	struct rusage usage;

	lender_counts(&run->lender, &counts);
	getrusage(RUSAGE_SELF, &usage);
	return (struct counters){ counts.allocations,
				  (uint64_t)usage.ru_minflt };
}

static size_t
resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "re");
	size_t all = 0, resident = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%zu %zu", &all, &resident) != 2)
		resident = 0;
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

/* `share`: of the time that has passed. */
static void
look(const struct run *run, struct load_result *result, double share)
{
	struct lender_counts counts;
	size_t resident = resident_bytes(), *most;

	lender_counts(&run->lender, &counts);
	if (counts.retained_bytes > result->retained)
		result->retained = counts.retained_bytes;
	if (counts.leased_bytes > result->leased)
		result->leased = counts.leased_bytes;
	if (share < 0.1)
		return;
	most = share < 0.5 ? &result->resident_early : &result->resident;
	if (resident > *most)
		*most = resident;
}

static void
show(const struct run *run, const struct client *client, double seconds)
{
	unsigned long long done = 0;
	char text[PRINT_SIZE];
	struct lender_counts counts;

	for (size_t i = 0; i < run->clients; i++)
		/* Relaxed: a count for the eye. */
		done += atomic_load_explicit(&client[i].done,
					     memory_order_relaxed);
	lender_counts(&run->lender, &counts);
	cleanup_line(true);
	fprintf(stderr, "\r%s, %zu clients: %.1f s, %.0f requests/s, "
		"%s retained\033[K", lender_name(run->lender.kind),
		run->clients, seconds,
		(double)done / seconds,
		print_bytes((double)counts.retained_bytes, text));
	fflush(stderr);
}

static void
sleep_until(double at)
{
	struct timespec time = {
		.tv_sec = (time_t)at,
		.tv_nsec = (long)((at - (double)(time_t)at) * 1e9)
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) ==
	       EINTR)
		;
}

/* Lets them work for their time, looking now and then. */
static double
watch(struct run *run, const struct client *client,
      struct load_result *result)
{
	const struct load_options *o = run->load->options;
	bool live = !o->quiet && isatty(STDERR_FILENO);
	double begin = now_seconds(), end = begin + o->seconds, now = begin;

	/* Relaxed: an error ends it, any time soon. */
	while (now < end && !atomic_load_explicit(&run->stop,
						  memory_order_relaxed)) {
		sleep_until(now + PERIOD_S < end ? now + PERIOD_S : end);
		now = now_seconds();
		look(run, result, (now - begin) / o->seconds);
		if (live)
			show(run, client, now - begin);
	}
	if (live) {
		fputs("\r\033[K", stderr);
		cleanup_line(false);
	}
	return now - begin;
}

static void
collect(struct client *client, size_t clients, struct load_result *result)
{
	for (size_t i = 0; i < clients; i++) {
		latency_merge(&result->latency, &client[i].latency);
		result->flops += client[i].flops;
		result->refused += client[i].refused;
	}
}

/* Starts as many as can be; the barrier is for exactly that many. */
static size_t
start_clients(struct run *run, struct client *client)
{
	sigset_t before;
	size_t started = 0;

	/* Signals are the main thread's. */
	cleanup_hold(&before);
	for (; started < run->clients; started++) {
		client[started].run = run;
		client[started].number = started;
		if (pthread_create(&client[started].thread, NULL, client_main,
				   &client[started]))
			break;
	}
	cleanup_let(&before);
	return started;
}

static int
tell_error(const struct run *run)
{
	const struct load_options *o = run->load->options;

	for (size_t i = 0; i < o->files_count; i++) {
		const struct load_case *c = &run->load->cases[i];

		if (c->file == run->file && run->error == -ENOMEM)
			return complain("%s: no memory to lend; a request "
					"borrows %zu bytes and buffers of %zu",
					c->file, c->req_bytes,
					c->buffer_bytes + c->result_bytes);
	}
	return complain("%s: %s", run->file, run->why.text);
}

/* When all clients have gone, nothing is lent. */
static int
check_settled(const struct run *run)
{
	struct lender_counts counts;

	lender_counts(&run->lender, &counts);
	if (counts.leased_bytes == 0)
		return 0;
	return complain("load: %zu bytes are still lent", counts.leased_bytes);
}

static int
run_clients(struct run *run, struct client *client, struct load_result *result)
{
	struct counters begin, end;
	double seconds;

	if (start_clients(run, client) < run->clients)
		/* Those that did start wait for others that never come. */
		exit(complain("load: %zu threads cannot be started",
			      run->clients));
	pthread_barrier_wait(&run->barrier);
	begin = counters_now(run);
	pthread_barrier_wait(&run->barrier);
	seconds = watch(run, client, result);
	end = counters_now(run);
	/* Relaxed: any time soon will do. */
	atomic_store_explicit(&run->stop, true, memory_order_relaxed);
	for (size_t i = 0; i < run->clients; i++)
		pthread_join(client[i].thread, NULL);
	result->seconds = seconds;
	result->allocations = end.allocations - begin.allocations;
	result->faults = end.faults - begin.faults;
	collect(client, run->clients, result);
	if (run->error)
		return tell_error(run);
	return check_settled(run);
}

int
load_measure(const struct load *load, enum lender_kind kind, size_t clients,
	     struct load_result *result)
{
	struct client *client = calloc(clients, sizeof *client);
	struct run run = { .load = load, .clients = clients };
	int error, status;

	if (!client)
		return complain("load: no memory for %zu clients", clients);
	memset(result, 0, sizeof *result);
	result->kind = kind;
	result->clients = clients;
	error = lender_create(&run.lender, kind,
			      kind == LENDER_LEND ? load->options->limit : 0);
	if (error) {
		free(client);
		return complain("load: an arena: %s", strerror(-error));
	}
	pthread_mutex_init(&run.lock, NULL);
	pthread_barrier_init(&run.barrier, NULL, (unsigned)clients + 1);
	status = run_clients(&run, client, result);
	pthread_barrier_destroy(&run.barrier);
	pthread_mutex_destroy(&run.lock);
	lender_destroy(&run.lender);
	free(client);
	return status;
}
