/* SPDX-License-Identifier: MIT */
#include "tools/lender_buffers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

#define PAGE ((size_t)4096)

int
lender_buffer_ensure(struct lender_buffer *buffer, size_t bytes,
		     uint64_t *allocations)
{
	size_t capacity;

	if (bytes <= buffer->capacity)
		return 0;
	free(buffer->start);
	buffer->capacity = 0;
	buffer->start = NULL;
	capacity = round_up_power(size_max(bytes, PAGE));
	if (capacity)
		buffer->start = aligned_alloc(PAGE, capacity);
	if (!buffer->start)
		return -ENOMEM;
	buffer->capacity = capacity;
	++*allocations;
	return 0;
}

static int
ensure_array(struct lender_buffer *buffer, size_t n, size_t size,
	     uint64_t *allocations)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes))
		return -EOVERFLOW;
	return lender_buffer_ensure(buffer, bytes, allocations);
}

int
lender_worker_fill(struct lender_worker *worker, const struct lend_req *req,
		   struct lend_worker *loan, uint64_t *allocations)
{
	int error = lender_buffer_ensure(&worker->a, req->a_bytes,
					 allocations);

	if (!error)
		error = lender_buffer_ensure(&worker->tile, req->tile_bytes,
					     allocations);
	if (!error)
		error = ensure_array(&worker->scatter, req->worker_scatter,
				     sizeof(int64_t), allocations);
	if (error)
		return error;
	memset(loan, 0, sizeof *loan);
	loan->a = worker->a.start;
	loan->tile = worker->tile.start;
	loan->scatter = worker->scatter.start;
	loan->scatter_capacity = worker->scatter.capacity / sizeof(int64_t);
	loan->place = worker;
	return 0;
}

size_t
lender_worker_bytes(const struct lender_worker *worker)
{
	return worker->a.capacity + worker->tile.capacity +
	       worker->scatter.capacity;
}

void
lender_worker_free(struct lender_worker *worker)
{
	if (!worker)
		return;
	free(worker->a.start);
	free(worker->tile.start);
	free(worker->scatter.start);
	free(worker);
}

/* Barrier i of a buffer of them. */
static struct lend_barrier *
barrier_at(const struct lender_buffer *barriers, size_t i)
{
	return (struct lend_barrier *)((char *)barriers->start +
				       i * LEND_BARRIER_BYTES);
}

int
lender_team_fill(struct lender_team *team, const struct lend_req *req,
		 size_t pm, size_t pn, struct lend_team *lease,
		 uint64_t *allocations)
{
	int error = ensure_array(&team->scatter, req->team_scatter,
				 sizeof(int64_t), allocations);

	if (!error)
		error = ensure_array(&team->barriers, req->barriers,
				     LEND_BARRIER_BYTES, allocations);
	if (error)
		return error;
	for (size_t i = 0; i < req->barriers; i++)
		lend_barrier_init(barrier_at(&team->barriers, i), pm);
	memset(lease, 0, sizeof *lease);
	lease->panel = team->panel.start;
	lease->panel_capacity = team->panel.capacity;
	lease->scatter = team->scatter.start;
	lease->scatter_capacity = team->scatter.capacity / sizeof(int64_t);
	lease->barrier = team->barriers.start;
	lease->barriers = req->barriers;
	lease->pm = pm;
	lease->pn = pn;
	lease->set = team;
	return 0;
}

size_t
lender_team_bytes(const struct lender_team *team)
{
	return team->panel.capacity + team->scatter.capacity +
	       team->barriers.capacity;
}

void
lender_team_free(struct lender_team *team)
{
	if (!team)
		return;
	free(team->panel.start);
	free(team->scatter.start);
	free(team->barriers.start);
	free(team);
}
