/* SPDX-License-Identifier: MIT */
#include "metrics.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* What this server answers, the last one for all else, a client that left. */
static const unsigned statuses[METRICS_STATUSES] = {
	200, 400, 404, 405, 413, 415, 500, 503, 0,
};

static const double bounds[METRICS_BUCKETS] = {
	.0001, .00025, .001, .0025, .01, .025, .1, .25, 1, 2.5, 10, 100,
};

void
metrics_init(struct metrics *metrics)
{
	pthread_condattr_t attributes;

	*metrics = (struct metrics){ .counts = { .in_flight = 0 } };
	pthread_mutex_init(&metrics->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&metrics->idle, &attributes);
	pthread_condattr_destroy(&attributes);
}

void
metrics_destroy(struct metrics *metrics)
{
	pthread_cond_destroy(&metrics->idle);
	pthread_mutex_destroy(&metrics->lock);
}

double
metrics_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Under the lock. */
static void
add_time(struct metrics_times *times, double seconds)
{
	size_t i = 0;

	while (i < METRICS_BUCKETS && seconds > bounds[i])
		i++;
	if (i < METRICS_BUCKETS)
		times->bucket[i]++;
	times->count++;
	times->sum += seconds;
}

void
metrics_request_begins(struct metrics *metrics)
{
	pthread_mutex_lock(&metrics->lock);
	metrics->counts.in_flight++;
	pthread_mutex_unlock(&metrics->lock);
}

void
metrics_request_ends(struct metrics *metrics, unsigned status, double seconds)
{
	size_t i = 0;

	while (i + 1 < METRICS_STATUSES && statuses[i] != status)
		i++;
	pthread_mutex_lock(&metrics->lock);
	metrics->counts.status[i]++;
	add_time(&metrics->counts.request, seconds);
	if (--metrics->counts.in_flight == 0)
		pthread_cond_broadcast(&metrics->idle);
	pthread_mutex_unlock(&metrics->lock);
}

void
metrics_contracted(struct metrics *metrics, double seconds)
{
	pthread_mutex_lock(&metrics->lock);
	add_time(&metrics->counts.contract, seconds);
	pthread_mutex_unlock(&metrics->lock);
}

void
metrics_planned(struct metrics *metrics, int found)
{
	pthread_mutex_lock(&metrics->lock);
	if (found)
		metrics->counts.plans_found++;
	else
		metrics->counts.plans_made++;
	pthread_mutex_unlock(&metrics->lock);
}

size_t
metrics_connected(struct metrics *metrics)
{
	size_t n;

	pthread_mutex_lock(&metrics->lock);
	n = ++metrics->counts.connections;
	pthread_mutex_unlock(&metrics->lock);
	return n;
}

void
metrics_disconnected(struct metrics *metrics)
{
	pthread_mutex_lock(&metrics->lock);
	metrics->counts.connections--;
	pthread_mutex_unlock(&metrics->lock);
}

int
metrics_await_idle(struct metrics *metrics, size_t seconds)
{
	struct timespec end;
	int error = 0, idle;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)seconds;
	pthread_mutex_lock(&metrics->lock);
	while (metrics->counts.in_flight > 0 && !error)
		error = pthread_cond_timedwait(&metrics->idle, &metrics->lock,
					       &end);
	idle = metrics->counts.in_flight == 0;
	pthread_mutex_unlock(&metrics->lock);
	return idle;
}

/* ------------------------------------------------------------------------
 * The text
 * ------------------------------------------------------------------------ */

static void
family(FILE *to, const char *name, const char *type, const char *help)
{
	fprintf(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
number(FILE *to, const char *name, const char *type, const char *help,
       uint64_t value)
{
	family(to, name, type, help);
	fprintf(to, "%s %llu\n", name, (unsigned long long)value);
}

static void
times(FILE *to, const char *name, const char *help,
      const struct metrics_times *times)
{
	uint64_t sum = 0;

	family(to, name, "histogram", help);
	for (size_t i = 0; i < METRICS_BUCKETS; i++) {
		sum += times->bucket[i];
		fprintf(to, "%s_bucket{le=\"%g\"} %llu\n", name, bounds[i],
			(unsigned long long)sum);
	}
	fprintf(to, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.9g\n"
		    "%s_count %llu\n", name,
		(unsigned long long)times->count, name, times->sum, name,
		(unsigned long long)times->count);
}

static void
print_server(FILE *to, const struct metrics_counts *m)
{
	family(to, "lend_server_requests_total", "counter",
	       "Requests by the status of the answer, \"none\" without one.");
	for (size_t i = 0; i < METRICS_STATUSES; i++)
		if (statuses[i])
			fprintf(to, "lend_server_requests_total{code=\"%u\"} "
				    "%llu\n", statuses[i],
				(unsigned long long)m->status[i]);
		else
			fprintf(to, "lend_server_requests_total"
				    "{code=\"none\"} %llu\n",
				(unsigned long long)m->status[i]);
	times(to, "lend_server_request_seconds",
	      "From a request's header to the last byte of its answer.",
	      &m->request);
	times(to, "lend_server_contract_seconds",
	      "Plan and execution of contractions.", &m->contract);
	number(to, "lend_server_requests_in_flight", "gauge",
	       "Requests that are not answered yet, this one included.",
	       m->in_flight);
	number(to, "lend_server_connections", "gauge", "Open connections.",
	       m->connections);
	number(to, "lend_server_plans_made_total", "counter",
	       "Plans that had to be made.", m->plans_made);
	number(to, "lend_server_plans_found_total", "counter",
	       "Plans that were ready.", m->plans_found);
}

static void
print_arena(FILE *to, const struct lend_stats *s)
{
	number(to, "lend_arena_retained_bytes", "gauge",
	       "Capacity of all that the arena holds, idle or lent.",
	       s->retained_bytes);
	number(to, "lend_arena_leased_bytes", "gauge",
	       "The part of it that is lent.", s->leased_bytes);
	number(to, "lend_arena_buffer_bytes", "gauge",
	       "The part of it that is plain buffers.", s->buffer_bytes);
	number(to, "lend_arena_limit_bytes", "gauge",
	       "Ceiling on retained bytes, 0 for none.", s->limit_bytes);
	number(to, "lend_arena_buffers_out", "gauge",
	       "Plain buffers that are lent.", s->buffers_out);
	number(to, "lend_arena_slots_out", "gauge",
	       "Worker slots that are lent.", s->slots_out);
	number(to, "lend_arena_sets_out", "gauge",
	       "Team sets that are lent.", s->sets_out);
	number(to, "lend_arena_growths_total", "counter",
	       "Growths of kept storage.", s->growths);
	number(to, "lend_arena_trims_total", "counter",
	       "Trims, those before a growth over the limit included.",
	       s->trims);
}

static void
print_warm(FILE *to, const struct warm_counts *w)
{
	number(to, "lend_server_warm_workspaces", "gauge",
	       "Prepared workspaces, those in use included.", w->workspaces);
	number(to, "lend_server_warm_ready", "gauge",
	       "Those that are ready.", w->warmer.pool.ready);
	number(to, "lend_server_warm_claims_total", "counter",
	       "Contractions in one.", w->warmer.pool.claims);
	number(to, "lend_server_warm_misses_total", "counter",
	       "Contractions of plans that were kept, when none was ready.",
	       w->warmer.pool.misses);
	number(to, "lend_server_warm_prepared_total", "counter",
	       "Workspaces that were prepared.", w->warmer.prepared);
	number(to, "lend_server_warm_failed_total", "counter",
	       "Workspaces that could not be prepared.", w->warmer.failed);
	number(to, "lend_server_warm_evictions_total", "counter",
	       "Plans that gave theirs up for another one.",
	       w->warmer.pool.evictions);
}

char *
metrics_text(struct metrics *metrics, const lend_arena *arena,
	     struct warm *warm, size_t *length)
{
	struct warm_counts prepared;
	struct lend_stats stats;
	struct metrics_counts now;
	char *text = NULL;
	FILE *to;

	if (lend_arena_stats(arena, &stats) ||
	    (warm && warm_counts(warm, &prepared)))
		return NULL;
	pthread_mutex_lock(&metrics->lock);
	now = metrics->counts;
	pthread_mutex_unlock(&metrics->lock);
	to = open_memstream(&text, length);
	if (!to)
		return NULL;
	print_server(to, &now);
	print_arena(to, &stats);
	if (warm)
		print_warm(to, &prepared);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
