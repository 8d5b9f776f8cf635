/* SPDX-License-Identifier: MIT */
/*
 * One mutex, a list of idle workers' buffers and one of idle teams', last in
 * first out.  Buffers grow outside of the mutex and stay.  Plain buffers wait
 * on a list for each power of two; a page before each says which.
 */
#include "tools/lenders.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "tools/lender_buffers.h"

#define PAGE ((size_t)4096)
#define CLASSES 64

/* Before a plain buffer. */
struct plain {
	struct plain *next;
	unsigned class;		/* of 2^class bytes */
};

struct mutex_lender {
	pthread_mutex_t lock;
	/* All guarded by the lock. */
	struct lender_worker *workers;
	struct lender_team *teams;
	struct plain *plains[CLASSES];
	struct lender_counts counts;
};

/* Adds what grew, or less, since there were `before` bytes. */
static void
settle(struct mutex_lender *host, size_t before, size_t now,
       uint64_t allocations)
{
	if (before == now && allocations == 0)
		return;
	pthread_mutex_lock(&host->lock);
	/* Wraps where it became less, and the sum wraps back. */
	host->counts.retained_bytes += now - before;
	host->counts.allocations += allocations;
	pthread_mutex_unlock(&host->lock);
}

static int
worker_checkout(void *ctx, const struct lend_req *req,
		struct lend_worker *loan)
{
	struct mutex_lender *host = ctx;
	struct lender_worker *worker;
	uint64_t allocations = 0;
	size_t before;
	int error;

	pthread_mutex_lock(&host->lock);
	worker = host->workers;
	if (worker)
		host->workers = worker->next;
	pthread_mutex_unlock(&host->lock);
	if (!worker)
		worker = calloc(1, sizeof *worker);
	if (!worker)
		return -ENOMEM;
	before = lender_worker_bytes(worker);
	error = lender_worker_fill(worker, req, loan, &allocations);
	settle(host, before, error ? 0 : lender_worker_bytes(worker),
	       allocations);
	if (error)
		lender_worker_free(worker);
	return error;
}

static int
worker_return(void *ctx, struct lend_worker *loan)
{
	struct mutex_lender *host = ctx;
	struct lender_worker *worker = loan->place;

	pthread_mutex_lock(&host->lock);
	worker->next = host->workers;
	host->workers = worker;
	pthread_mutex_unlock(&host->lock);
	return 0;
}

static int
team_take(void *ctx, const struct lend_req *req, size_t pm, size_t pn,
	  struct lend_team *lease)
{
	struct mutex_lender *host = ctx;
	struct lender_team *team;
	uint64_t allocations = 0;
	size_t before;
	int error;

	pthread_mutex_lock(&host->lock);
	team = host->teams;
	if (team)
		host->teams = team->next;
	pthread_mutex_unlock(&host->lock);
	if (!team)
		team = calloc(1, sizeof *team);
	if (!team)
		return -ENOMEM;
	before = lender_team_bytes(team);
	error = lender_team_fill(team, req, pm, pn, lease, &allocations);
	settle(host, before, error ? 0 : lender_team_bytes(team),
	       allocations);
	if (error)
		lender_team_free(team);
	return error;
}

static int
team_panel(void *ctx, struct lend_team *lease, size_t bytes)
{
	struct lender_team *team = lease->set;
	size_t before = lender_team_bytes(team);
	uint64_t allocations = 0;
	int error = lender_buffer_ensure(&team->panel, bytes, &allocations);

	settle(ctx, before, lender_team_bytes(team), allocations);
	lease->panel = team->panel.start;
	lease->panel_capacity = team->panel.capacity;
	return error;
}

static int
team_return(void *ctx, struct lend_team *lease)
{
	struct mutex_lender *host = ctx;
	struct lender_team *team = lease->set;

	pthread_mutex_lock(&host->lock);
	team->next = host->teams;
	host->teams = team;
	pthread_mutex_unlock(&host->lock);
	return 0;
}

/* The class for so many bytes, at least a page. */
static unsigned
class_of(size_t bytes)
{
	unsigned class = 12;

	while (class < CLASSES - 1 && (size_t)1 << class < bytes)
		class++;
	return class;
}

static int
buffer_borrow(void *ctx, size_t bytes, void **buffer)
{
	struct mutex_lender *host = ctx;
	unsigned class = class_of(bytes);
	struct plain *plain;

	if (class == CLASSES - 1)
		return -ENOMEM;
	pthread_mutex_lock(&host->lock);
	plain = host->plains[class];
	if (plain)
		host->plains[class] = plain->next;
	pthread_mutex_unlock(&host->lock);
	if (!plain) {
		size_t size = PAGE + ((size_t)1 << class);

		plain = aligned_alloc(PAGE, size);
		if (!plain)
			return -ENOMEM;
		plain->class = class;
		settle(host, 0, size, 1);
	}
	*buffer = (char *)plain + PAGE;
	return 0;
}

static int
buffer_return(void *ctx, void *buffer)
{
	struct mutex_lender *host = ctx;
	struct plain *plain = (struct plain *)((char *)buffer - PAGE);

	pthread_mutex_lock(&host->lock);
	plain->next = host->plains[plain->class];
	host->plains[plain->class] = plain;
	pthread_mutex_unlock(&host->lock);
	return 0;
}

void *
lender_mutex_create(struct lend_lender *table)
{
	struct mutex_lender *host = calloc(1, sizeof *host);

	if (!host)
		return NULL;
	pthread_mutex_init(&host->lock, NULL);
	table->worker_checkout = worker_checkout;
	table->worker_return = worker_return;
	table->team_take = team_take;
	table->team_panel = team_panel;
	table->team_return = team_return;
	table->buffer_borrow = buffer_borrow;
	table->buffer_return = buffer_return;
	return host;
}

void
lender_mutex_destroy(void *ctx)
{
	struct mutex_lender *host = ctx;
	struct lender_worker *worker;
	struct lender_team *team;

	while ((worker = host->workers)) {
		host->workers = worker->next;
		lender_worker_free(worker);
	}
	while ((team = host->teams)) {
		host->teams = team->next;
		lender_team_free(team);
	}
	for (unsigned class = 0; class < CLASSES; class++)
		while (host->plains[class]) {
			struct plain *plain = host->plains[class];

			host->plains[class] = plain->next;
			free(plain);
		}
	pthread_mutex_destroy(&host->lock);
	free(host);
}

void
lender_mutex_counts(void *ctx, struct lender_counts *counts)
{
	struct mutex_lender *host = ctx;

	pthread_mutex_lock(&host->lock);
	*counts = host->counts;
	pthread_mutex_unlock(&host->lock);
}
