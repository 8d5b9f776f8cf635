/* SPDX-License-Identifier: MIT */
/*
 * A request: the sizes that one execution needs.
 *
 *   worker (one thread)          team (pm x pn threads)
 *   +--------------------+       +-----------------------------+
 *   | packed A block     |       | packed B panel, shared      |
 *   | accumulator tile   |       | block-scatter vectors       |
 *   | scatter scratch    |       | barriers                    |
 *   +--------------------+       +-----------------------------+
 *
 * A component of zero never allocates.
 */
#ifndef LEND_REQUEST_H
#define LEND_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/visibility.h>

LEND_BEGIN_DECLS

struct lend_req {
	size_t a_bytes;		/* worker: packed A block, in bytes */
	size_t tile_bytes;	/* worker: accumulator tile, in bytes */
	size_t worker_scatter;	/* worker: scratch, in int64_t elements */
	size_t b_bytes;		/* team: shared B panel, in bytes */
	size_t team_scatter;	/* team: scatter vector, in int64_t elements */
	size_t barriers;	/* team: barriers, 0 when nothing is shared */
};

/* The bytes of one barrier object, as lend_req_bytes() counts it. */
#define LEND_BARRIER_BYTES ((size_t)64)

/*
 * Writes to *bytes the payload of the request: its byte fields, 8 bytes per
 * scatter element and LEND_BARRIER_BYTES per barrier.  Pure; any thread.
 * Returns 0, -EINVAL for a null argument, -EOVERFLOW when the sum does not
 * fit in size_t (*bytes is then left alone).
 */
LEND_API LEND_CHECKED int
lend_req_bytes(const struct lend_req *req, size_t *bytes);

/*
 * Whether `have` is at least `req` in every component.  The totals are never
 * compared: a large A block does not stand in for a missing B panel.
 * Neither pointer may be null.  Pure; any thread.
 */
LEND_API bool
lend_req_covered_by(const struct lend_req *req, const struct lend_req *have);

/* Raises each component of *into to at least that of `req`.  Not null. */
LEND_API void
lend_req_raise(struct lend_req *into, const struct lend_req *req);

LEND_END_DECLS

#endif
