/* SPDX-License-Identifier: MIT */
/* Every loan is allocated, and freed when it comes back. */
#include "tools/lenders.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "tools/lender_buffers.h"

struct malloc_lender {
	atomic_ullong allocations;
};

/* Relaxed: a count, read when nobody allocates any more. */
static void
count(struct malloc_lender *host, uint64_t allocations)
{
	atomic_fetch_add_explicit(&host->allocations, allocations,
				  memory_order_relaxed);
}

static int
worker_checkout(void *ctx, const struct lend_req *req,
		struct lend_worker *loan)
{
	struct lender_worker *worker = calloc(1, sizeof *worker);
	uint64_t allocations = 0;
	int error;

	if (!worker)
		return -ENOMEM;
	error = lender_worker_fill(worker, req, loan, &allocations);
	count(ctx, allocations);
	if (error)
		lender_worker_free(worker);
	return error;
}

static int
worker_return(void *ctx, struct lend_worker *loan)
{
	(void)ctx;
	lender_worker_free(loan->place);
	return 0;
}

static int
team_take(void *ctx, const struct lend_req *req, size_t pm, size_t pn,
	  struct lend_team *lease)
{
	struct lender_team *team = calloc(1, sizeof *team);
	uint64_t allocations = 0;
	int error;

	if (!team)
		return -ENOMEM;
	error = lender_team_fill(team, req, pm, pn, lease, &allocations);
	count(ctx, allocations);
	if (error)
		lender_team_free(team);
	return error;
}

static int
team_panel(void *ctx, struct lend_team *lease, size_t bytes)
{
	struct lender_team *team = lease->set;
	uint64_t allocations = 0;
	int error = lender_buffer_ensure(&team->panel, bytes, &allocations);

	count(ctx, allocations);
	lease->panel = team->panel.start;
	lease->panel_capacity = team->panel.capacity;
	return error;
}

static int
team_return(void *ctx, struct lend_team *lease)
{
	(void)ctx;
	lender_team_free(lease->set);
	return 0;
}

static int
buffer_borrow(void *ctx, size_t bytes, void **buffer)
{
	struct lender_buffer own = { 0 };
	uint64_t allocations = 0;
	int error = lender_buffer_ensure(&own, bytes, &allocations);

	count(ctx, allocations);
	*buffer = own.start;
	return error;
}

static int
buffer_return(void *ctx, void *buffer)
{
	(void)ctx;
	free(buffer);
	return 0;
}

void *
lender_malloc_create(struct lend_lender *table)
{
	table->worker_checkout = worker_checkout;
	table->worker_return = worker_return;
	table->team_take = team_take;
	table->team_panel = team_panel;
	table->team_return = team_return;
	table->buffer_borrow = buffer_borrow;
	table->buffer_return = buffer_return;
	return calloc(1, sizeof(struct malloc_lender));
}

void
lender_malloc_destroy(void *host)
{
	free(host);
}

void
lender_malloc_counts(void *ctx, struct lender_counts *counts)
{
	struct malloc_lender *host = ctx;

	counts->retained_bytes = 0;
	/* Relaxed: as in count(). */
	counts->allocations = atomic_load_explicit(&host->allocations,
						   memory_order_relaxed);
}
