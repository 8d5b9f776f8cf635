/* SPDX-License-Identifier: MIT */
#include "bench/request.h"

const struct lend_req bench_req = {
	.a_bytes = (size_t)384 << 10,
	.tile_bytes = 1536,
	.worker_scatter = 1024,
	.b_bytes = (size_t)8 << 20,
	.team_scatter = 4096,
	.barriers = 2,
};
