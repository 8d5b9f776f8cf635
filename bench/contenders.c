/* SPDX-License-Identifier: MIT */
#include "bench/contenders.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

size_t contender_buffer_bytes;

static const struct malloc_library glibc = {
	{ "libc.so.6" }, "malloc", "free",
};
static const struct malloc_library jemalloc = {
	{ "libjemalloc.so.2" }, "malloc", "free",
};
static const struct malloc_library mimalloc = {
	{ "libmimalloc.so.2", "libmimalloc.so.2.0", "libmimalloc.so.3" },
	"mi_malloc", "mi_free",
};
static const struct malloc_library tcmalloc = {
	{ "libtcmalloc_minimal.so.4", "libtcmalloc.so.4" }, "malloc", "free",
};
static const struct malloc_library tbb = {
	{ "libtbbmalloc.so.2" }, "scalable_malloc", "scalable_free",
};

#define MALLOC_CONTENDER(library) {			\
	.name = #library,				\
	.how = &library,				\
	.open = contender_malloc_open,			\
	.close = contender_malloc_close,		\
	.loop = {					\
		[LOOP_WORKER] = contender_malloc_worker,	\
		[LOOP_TEAM] = contender_malloc_team,	\
		[LOOP_BUFFER] = contender_malloc_buffer,	\
		[LOOP_BUFFER_FILL] = contender_malloc_buffer_fill,	\
	},						\
}

struct contender contenders[CONTENDERS] = {
	[LEND] = {
		.name = "lend",
		.open = contender_lend_open,
		.close = contender_lend_close,
		.loop = {
			[LOOP_WORKER] = contender_lend_worker,
			[LOOP_WORKER_CALLBACK] = contender_lend_callback,
			[LOOP_WORKER_TOUCH] = contender_lend_touch,
			[LOOP_TEAM] = contender_lend_team,
			[LOOP_BUFFER] = contender_lend_buffer,
			[LOOP_BUFFER_FILL] = contender_lend_buffer_fill,
		},
		.stats = contender_lend_stats,
		.trim = contender_lend_trim,
		.sets = contender_lend_sets,
	},
	[PEER] = {
		.name = "peer",
		.open = contender_peer_open,
		.close = contender_peer_close,
		/* The callback form is the only one that it has. */
		.loop = {
			[LOOP_WORKER_CALLBACK] = contender_peer_callback,
			[LOOP_WORKER_TOUCH] = contender_peer_touch,
			[LOOP_TEAM] = contender_peer_team,
		},
		.stats = contender_peer_stats,
		.trim = contender_peer_trim,
		.sets = contender_peer_sets,
	},
	[PEER_INSIDE] = {
		.name = "peer-inside",
		.open = contender_peer_inside_open,
		.close = contender_peer_inside_close,
		.loop = {
			[LOOP_WORKER_CALLBACK] =
				contender_peer_callback_inside,
			[LOOP_TEAM] = contender_peer_team_inside,
		},
	},
	[MUTEX] = {
		.name = "mutex",
		.open = contender_mutex_open,
		.close = contender_mutex_close,
		.loop = {
			[LOOP_WORKER] = contender_mutex_worker,
			[LOOP_WORKER_CALLBACK] = contender_mutex_callback,
			[LOOP_WORKER_TOUCH] = contender_mutex_touch,
			[LOOP_TEAM] = contender_mutex_team,
		},
		.stats = contender_mutex_stats,
		.trim = contender_mutex_trim,
		.sets = contender_mutex_sets,
	},
	[TLS] = {
		.name = "tls",
		.open = contender_tls_open,
		.close = contender_tls_close,
		.loop = { [LOOP_WORKER] = contender_tls_initial_exec },
	},
	[TLS_DEFAULT] = {
		.name = "tls-default",
		.open = contender_tls_open,
		.close = contender_tls_close,
		.loop = { [LOOP_WORKER] = contender_tls_default },
	},
	[GLIBC] = MALLOC_CONTENDER(glibc),
	[JEMALLOC] = MALLOC_CONTENDER(jemalloc),
	[MIMALLOC] = MALLOC_CONTENDER(mimalloc),
	[TCMALLOC] = MALLOC_CONTENDER(tcmalloc),
	[TBB] = MALLOC_CONTENDER(tbb),
};

void
contenders_open(void)
{
	for (int i = 0; i < CONTENDERS; i++) {
		struct contender *c = &contenders[i];

		c->present = c->open(c);
	}
	if (!contenders[LEND].present)
		bench_die("lend: %s", contenders[LEND].absent);
}

void
contenders_close(void)
{
	for (int i = 0; i < CONTENDERS; i++) {
		struct contender *c = &contenders[i];

		if (c->present)
			c->close(c);
		c->present = false;
	}
}

bool
contender_refuse(struct contender *self, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(self->absent, sizeof(self->absent), format, args);
	va_end(args);
	return false;
}

void
contender_fill(void *p, size_t bytes)
{
	memset(p, 1, bytes);
	bench_keep(p);
}

static void
touch(char *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += 4096)
		*(volatile char *)(p + i) = 1;
}

void
contender_touch(void *a, void *tile, void *scatter)
{
	touch(a, bench_req.a_bytes);
	touch(tile, bench_req.tile_bytes);
	touch(scatter, bench_req.worker_scatter * sizeof(int64_t));
}
