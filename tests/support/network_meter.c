/* SPDX-License-Identifier: MIT */
#include "support/network_meter.h"

#include <string.h>

#include "support/contract_site.h"

static bool
may_go(struct meter *meter)
{
	bool go;

	pthread_mutex_lock(&meter->lock);
	go = ++meter->calls != meter->fail_at;
	meter->out += go;
	pthread_mutex_unlock(&meter->lock);
	return go;
}

static void
came_back(struct meter *meter)
{
	pthread_mutex_lock(&meter->lock);
	meter->out--;
	pthread_mutex_unlock(&meter->lock);
}

static int
worker_checkout(void *host, const struct lend_req *req,
		struct lend_worker *loan)
{
	struct meter *meter = host;

	return may_go(meter) ? meter->behind.worker_checkout(
		meter->behind.host, req, loan) : meter->error;
}

static int
worker_return(void *host, struct lend_worker *loan)
{
	struct meter *meter = host;

	came_back(meter);
	return meter->behind.worker_return(meter->behind.host, loan);
}

static int
team_take(void *host, const struct lend_req *req, size_t pm, size_t pn,
	  struct lend_team *lease)
{
	struct meter *meter = host;

	return may_go(meter) ? meter->behind.team_take(meter->behind.host,
		req, pm, pn, lease) : meter->error;
}

static int
team_panel(void *host, struct lend_team *lease, size_t bytes)
{
	struct meter *meter = host;

	if (!may_go(meter))
		return meter->error;
	came_back(meter);
	return meter->behind.team_panel(meter->behind.host, lease, bytes);
}

static int
team_return(void *host, struct lend_team *lease)
{
	struct meter *meter = host;

	came_back(meter);
	return meter->behind.team_return(meter->behind.host, lease);
}

/* Notes the buffer in a free place. */
static void
note(struct meter *meter, void *buffer, size_t bytes)
{
	pthread_mutex_lock(&meter->lock);
	for (size_t i = 0; i < METER_BUFFERS; i++) {
		if (meter->buffer[i].at)
			continue;
		meter->buffer[i].at = buffer;
		meter->buffer[i].bytes = bytes;
		meter->now += bytes;
		break;
	}
	if (meter->now > meter->most)
		meter->most = meter->now;
	pthread_mutex_unlock(&meter->lock);
}

static int
buffer_borrow(void *host, size_t bytes, void **buffer)
{
	struct meter *meter = host;
	int error = may_go(meter) ? meter->behind.buffer_borrow(
		meter->behind.host, bytes, buffer) : meter->error;

	if (!error)
		note(meter, *buffer, bytes);
	return error;
}

static int
buffer_return(void *host, void *buffer)
{
	struct meter *meter = host;
	bool known = false;

	pthread_mutex_lock(&meter->lock);
	for (size_t i = 0; i < METER_BUFFERS && !known; i++) {
		known = meter->buffer[i].at == buffer;
		if (!known)
			continue;
		meter->now -= meter->buffer[i].bytes;
		meter->buffer[i].at = NULL;
		meter->out--;
	}
	meter->strange |= !known;
	pthread_mutex_unlock(&meter->lock);
	return meter->behind.buffer_return(meter->behind.host, buffer);
}

struct lend_lender
meter_start(struct meter *meter, lend_arena *arena)
{
	memset(meter, 0, sizeof(*meter));
	meter->behind = site_lender(arena);
	pthread_mutex_init(&meter->lock, NULL);
	return (struct lend_lender){
		.size = sizeof(struct lend_lender), .host = meter,
		.worker_checkout = worker_checkout,
		.worker_return = worker_return,
		.team_take = team_take, .team_panel = team_panel,
		.team_return = team_return,
		.buffer_borrow = buffer_borrow, .buffer_return = buffer_return
	};
}
