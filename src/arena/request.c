/* SPDX-License-Identifier: MIT */
#include <lend/request.h>

#include <errno.h>

#include "base/util.h"

/* Adds count objects of `each` bytes; false: the sum does not fit. */
static bool
add(size_t *sum, size_t count, size_t each)
{
	size_t bytes;

	return !__builtin_mul_overflow(count, each, &bytes) &&
	       !__builtin_add_overflow(*sum, bytes, sum);
}

int
lend_req_bytes(const struct lend_req *req, size_t *bytes)
{
	size_t sum = 0;

	if (!req || !bytes)
		return -EINVAL;
	if (!add(&sum, req->a_bytes, 1) ||
	    !add(&sum, req->tile_bytes, 1) ||
	    !add(&sum, req->worker_scatter, sizeof(int64_t)) ||
	    !add(&sum, req->b_bytes, 1) ||
	    !add(&sum, req->team_scatter, sizeof(int64_t)) ||
	    !add(&sum, req->barriers, LEND_BARRIER_BYTES))
		return -EOVERFLOW;
	*bytes = sum;
	return 0;
}

bool
lend_req_covered_by(const struct lend_req *req, const struct lend_req *have)
{
	return req->a_bytes <= have->a_bytes &&
	       req->tile_bytes <= have->tile_bytes &&
	       req->worker_scatter <= have->worker_scatter &&
	       req->b_bytes <= have->b_bytes &&
	       req->team_scatter <= have->team_scatter &&
	       req->barriers <= have->barriers;
}

void
lend_req_raise(struct lend_req *into, const struct lend_req *req)
{
	into->a_bytes = size_max(into->a_bytes, req->a_bytes);
	into->tile_bytes = size_max(into->tile_bytes, req->tile_bytes);
	into->worker_scatter = size_max(into->worker_scatter,
					req->worker_scatter);
	into->b_bytes = size_max(into->b_bytes, req->b_bytes);
	into->team_scatter = size_max(into->team_scatter, req->team_scatter);
	into->barriers = size_max(into->barriers, req->barriers);
}
