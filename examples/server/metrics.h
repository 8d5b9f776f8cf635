/* SPDX-License-Identifier: MIT */
/*
 * What the server counts, and how GET /metrics tells it: Prometheus' text
 * format 0.0.4.  Any thread, any time.
 */
#ifndef EXAMPLES_SERVER_METRICS_H
#define EXAMPLES_SERVER_METRICS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/arena.h>

#include "warm.h"

#define METRICS_TYPE "text/plain; version=0.0.4; charset=utf-8"
#define METRICS_BUCKETS 12
#define METRICS_STATUSES 9

/*
 * How long something took: a bucket counts what was at most its bound and more
 * than the one before.
 */
struct metrics_times {
	uint64_t bucket[METRICS_BUCKETS];
	uint64_t count;
	double sum;		/* seconds */
};

struct metrics_counts {
	uint64_t status[METRICS_STATUSES];
	struct metrics_times request;	/* header to last byte */
	struct metrics_times contract;	/* plan and execution */
	size_t connections;
	size_t in_flight;	/* requests: header read, answer not sent */
	uint64_t plans_made;
	uint64_t plans_found;
};

struct metrics {
	pthread_mutex_t lock;
	struct metrics_counts counts;	/* under the lock */
	pthread_cond_t idle;		/* in_flight fell to 0 */
};

void metrics_init(struct metrics *metrics);
void metrics_destroy(struct metrics *metrics);

void metrics_request_begins(struct metrics *metrics);
/* status 0: the client went away before it was answered. */
void metrics_request_ends(struct metrics *metrics, unsigned status,
			  double seconds);
void metrics_contracted(struct metrics *metrics, double seconds);
void metrics_planned(struct metrics *metrics, int found);
/* One more; returns how many there are now. */
size_t metrics_connected(struct metrics *metrics);
void metrics_disconnected(struct metrics *metrics);

/* Waits until no request is in flight, or for so long; whether none is. */
int metrics_await_idle(struct metrics *metrics, size_t seconds);

/* A text for free(), and its length; null: no memory.  warm may be null. */
char *metrics_text(struct metrics *metrics, const lend_arena *arena,
		   struct warm *warm, size_t *length);

/* Seconds of a clock that never goes back. */
double metrics_now(void);

#endif
