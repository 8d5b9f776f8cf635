/* SPDX-License-Identifier: MIT */
/*
 * One measurement:
 *
 *   clients   warm up ---- meet ---- request, request, .. until `stop`
 *   main                   meet      looks now and then, then sets `stop`
 *
 * Warming up is one request of each network by each client, all at once, so
 * that what is measured is the steady state.  When they have met, workspaces
 * for sessions are made ready.
 *
 * What is begun before `stop` is finished and counted, so the time that counts
 * ends when the last client has: rates of requests that take long would be far
 * too high else.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "tools/cleanup.h"
#include "tools/clock.h"
#include "tools/load_client.h"
#include "tools/message.h"
#include "tools/print.h"

/* Between two looks. */
#define PERIOD_S 0.25

struct counters {
	uint64_t allocations, faults;
	struct lend_warmer_stats warmer;
};

static struct counters
counters_now(const struct run *run)
{
	struct counters now = { .allocations = 0 };
	struct lender_counts counts;
	struct rusage usage;

	lender_counts(&run->lender, &counts);
	getrusage(RUSAGE_SELF, &usage);
	now.allocations = counts.allocations;
	now.faults = (uint64_t)usage.ru_minflt;
	/* Fails where there are no such workspaces: then all stay 0. */
	if (lend_warmer_stats(run->sessions.warmer, &now.warmer))
		memset(&now.warmer, 0, sizeof now.warmer);
	return now;
}

/* What has been counted since `begin`. */
static void
count_from(const struct run *run, const struct counters *begin,
	   struct load_result *result)
{
	struct counters now = counters_now(run);

	result->allocations = now.allocations - begin->allocations;
	result->faults = now.faults - begin->faults;
	result->warmer = now.warmer;
	result->warmer.pool.claims -= begin->warmer.pool.claims;
	result->warmer.pool.misses -= begin->warmer.pool.misses;
	result->warmer.prepared -= begin->warmer.prepared;
	result->warmer.failed -= begin->warmer.failed;
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
	char retained[PRINT_SIZE + 16] = "";

	for (size_t i = 0; i < run->clients; i++)
		/* Relaxed: a count for the eye. */
		done += atomic_load_explicit(&client[i].done,
					     memory_order_relaxed);
	lender_counts(&run->lender, &counts);
	/* With sessions it is idle. */
	if (!run->load->options->session)
		snprintf(retained, sizeof retained, ", %s retained",
			 print_bytes((double)counts.retained_bytes, text));
	cleanup_line(true);
	fprintf(stderr, "\r%s, %zu clients: %.1f s, %.0f requests/s%s\033[K",
		lender_name(run->lender.kind), run->clients, seconds,
		(double)done / seconds, retained);
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
static void
watch(struct run *run, const struct client *client, double begin,
      struct load_result *result)
{
	const struct load_options *o = run->load->options;
	bool live = !o->quiet && isatty(STDERR_FILENO);
	double end = begin + o->seconds, now = begin;

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
}

static void
merge_first(struct load_first *to, const struct load_first *from)
{
	latency_merge(&to->latency, &from->latency);
	to->faults += from->faults;
}

static void
collect(struct client *client, size_t clients, struct load_result *result)
{
	for (size_t i = 0; i < clients; i++) {
		latency_merge(&result->latency, &client[i].latency);
		result->flops += client[i].flops;
		result->refused += client[i].refused;
		merge_first(&result->cold, &client[i].cold);
		merge_first(&result->warm, &client[i].warm);
		result->allocations += client[i].growths;
		result->retained = size_max(result->retained,
					    client[i].retained);
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
	struct counters before;
	double begin;
	int error;

	if (start_clients(run, client) < run->clients)
		/* Those that did start wait for others that never come. */
		exit(complain("load: %zu threads cannot be started",
			      run->clients));
	pthread_barrier_wait(&run->barrier);
	error = load_sessions_fill(&run->sessions);
	before = counters_now(run);
	begin = now_seconds();
	pthread_barrier_wait(&run->barrier);
	watch(run, client, begin, result);
	/* Relaxed: any time soon will do. */
	atomic_store_explicit(&run->stop, true, memory_order_relaxed);
	for (size_t i = 0; i < run->clients; i++)
		pthread_join(client[i].thread, NULL);
	result->seconds = now_seconds() - begin;
	count_from(run, &before, result);
	collect(client, run->clients, result);
	if (run->error)
		return tell_error(run);
	if (error)
		return complain("load: prepared workspaces: %s",
				strerror(-error));
	return check_settled(run);
}

/* Between the start and the end of sessions. */
static int
with_sessions(struct run *run, struct client *client,
	      struct load_result *result)
{
	int error = load_sessions_start(&run->sessions, run->load), status;

	if (error)
		return complain("load: a warmer: %s", strerror(-error));
	status = run_clients(run, client, result);
	error = load_sessions_end(&run->sessions);
	if (!status && error)
		status = complain("load: the warmer's end: %s",
				  strerror(-error));
	return status;
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
	status = with_sessions(&run, client, result);
	pthread_barrier_destroy(&run.barrier);
	pthread_mutex_destroy(&run.lock);
	lender_destroy(&run.lender);
	free(client);
	return status;
}
