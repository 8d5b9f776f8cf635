/* SPDX-License-Identifier: MIT */
#include "contract/lender.h"

#include <stddef.h>

#include <lend/buffer.h>

/* Tables of before there were buffers end here. */
#define OLD_SIZE offsetof(struct lend_lender, buffer_borrow)

static int
arena_checkout(void *host, const struct lend_req *req,
	       struct lend_worker *loan)
{
	return lend_worker_checkout(host, req, loan);
}

static int
arena_return(void *host, struct lend_worker *loan)
{
	return lend_worker_return(host, loan);
}

static int
arena_take(void *host, const struct lend_req *req, size_t pm, size_t pn,
	   struct lend_team *lease)
{
	return lend_team_take(host, req, pm, pn, lease);
}

static int
arena_panel(void *host, struct lend_team *lease, size_t bytes)
{
	return lend_team_panel(host, lease, bytes);
}

static int
arena_team_return(void *host, struct lend_team *lease)
{
	return lend_team_return(host, lease);
}

static int
arena_borrow(void *host, size_t bytes, void **buffer)
{
	return lend_buffer_borrow(host, bytes, buffer);
}

static int
arena_buffer_return(void *host, void *buffer)
{
	(void)host;
	return lend_buffer_return(buffer);
}

struct lend_lender
arena_lender(lend_arena *arena)
{
	return (struct lend_lender){
		.size = sizeof(struct lend_lender),
		.host = arena,
		.worker_checkout = arena_checkout,
		.worker_return = arena_return,
		.team_take = arena_take,
		.team_panel = arena_panel,
		.team_return = arena_team_return,
		.buffer_borrow = arena_borrow,
		.buffer_return = arena_buffer_return
	};
}

bool
lender_serves_plans(const struct lend_lender *lender)
{
	return lender && (lender->size == sizeof(*lender) ||
			  lender->size == OLD_SIZE) &&
	       lender->worker_checkout && lender->worker_return &&
	       lender->team_take && lender->team_panel &&
	       lender->team_return;
}

bool
lender_serves_networks(const struct lend_lender *lender)
{
	return lender_serves_plans(lender) &&
	       lender->size == sizeof(*lender) && lender->buffer_borrow &&
	       lender->buffer_return;
}
