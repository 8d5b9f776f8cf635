/* SPDX-License-Identifier: MIT */
/* The buffers of one loan, as the two plain lenders keep them. */
#ifndef LEND_TOOLS_LENDER_BUFFERS_H
#define LEND_TOOLS_LENDER_BUFFERS_H

#include <stddef.h>
#include <stdint.h>

#include <lend/request.h>
#include <lend/team.h>
#include <lend/worker.h>

struct lender_buffer {
	void *start;
	size_t capacity;
};

struct lender_worker {
	struct lender_worker *next;
	struct lender_buffer a, tile, scatter;
};

struct lender_team {
	struct lender_team *next;
	struct lender_buffer panel, scatter, barriers;
};

/*
 * Room for `bytes`, in powers of two of pages as the library's; what was there
 * is lost.  Counts what it allocates in *allocations.  0 or -ENOMEM.
 */
int lender_buffer_ensure(struct lender_buffer *buffer, size_t bytes,
			 uint64_t *allocations);

int lender_worker_fill(struct lender_worker *worker,
		       const struct lend_req *req, struct lend_worker *loan,
		       uint64_t *allocations);
size_t lender_worker_bytes(const struct lender_worker *worker);
/* With its buffers.  Null is accepted. */
void lender_worker_free(struct lender_worker *worker);

/* All but the panel, whose size comes later. */
int lender_team_fill(struct lender_team *team, const struct lend_req *req,
		     size_t pm, size_t pn, struct lend_team *lease,
		     uint64_t *allocations);
size_t lender_team_bytes(const struct lender_team *team);
void lender_team_free(struct lender_team *team);

#endif
