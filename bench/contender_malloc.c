/* SPDX-License-Identifier: MIT */
/*
 * Allocators: three allocations of the request's sizes and three frees per
 * worker loan, one of the panel's size per team loan; nothing is touched.
 * What they give is not page-aligned, and a team gets neither scatter vector
 * nor barriers: where they differ, they do less than the arenas.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "bench/contenders.h"
#include "bench/sanitized.h"

struct allocator {
	void *(*malloc)(size_t bytes);
	void (*free)(void *p);
};

/* The first of the library's names that can be loaded, or null. */
static void *
load(struct contender *self, const struct malloc_library *where)
{
	size_t n = sizeof(where->soname) / sizeof(where->soname[0]);

	for (size_t i = 0; i < n && where->soname[i]; i++) {
		void *library = dlopen(where->soname[i],
				       RTLD_NOW | RTLD_LOCAL);

		if (library)
			return library;
		/* The first name's reason: the others are older or newer. */
		if (i == 0)
			contender_refuse(self, "%s", dlerror());
	}
	return NULL;
}

bool
contender_malloc_open(struct contender *self)
{
	const struct malloc_library *where = self->how;
	void *library, *symbol;
	struct allocator *allocator;

	if (BENCH_SANITIZED)
		return contender_refuse(self, "a sanitizer is compiled in");
	/* Never closed: its threads' destructors may run after us. */
	library = load(self, where);
	if (!library)
		return false;
	allocator = calloc(1, sizeof(*allocator));
	if (!allocator)
		bench_die("no memory");
	symbol = dlsym(library, where->malloc);
	memcpy(&allocator->malloc, &symbol, sizeof(symbol));
	symbol = dlsym(library, where->free);
	memcpy(&allocator->free, &symbol, sizeof(symbol));
	self->state = allocator;
	if (allocator->malloc && allocator->free)
		return true;
	free(allocator);
	return contender_refuse(self, "no %s in %s", where->malloc,
				where->soname[0]);
}

void
contender_malloc_close(struct contender *self)
{
	free(self->state);
}

void *
contender_malloc(struct contender *self, size_t bytes)
{
	struct allocator *allocator = self->state;

	return allocator->malloc(bytes);
}

void
contender_free(struct contender *self, void *p)
{
	struct allocator *allocator = self->state;

	allocator->free(p);
}

static void *
get(const struct allocator *allocator, size_t bytes)
{
	void *p = allocator->malloc(bytes);

	if (__builtin_expect(!p, 0))
		bench_die("malloc: no memory");
	bench_keep(p);
	return p;
}

uint64_t
contender_malloc_worker(void *self, const atomic_bool *stop)
{
	const struct allocator *m = ((struct contender *)self)->state;
	size_t scatter_bytes = bench_req.worker_scatter * sizeof(int64_t);
	uint64_t n = 0;

	do {
		for (int i = 0; i < WORKER_BATCH; i++) {
			void *a = get(m, bench_req.a_bytes);
			void *tile = get(m, bench_req.tile_bytes);
			void *scatter = get(m, scatter_bytes);

			m->free(scatter);
			m->free(tile);
			m->free(a);
		}
		n += WORKER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_malloc_buffer(void *self, const atomic_bool *stop)
{
	const struct allocator *m = ((struct contender *)self)->state;
	size_t bytes = contender_buffer_bytes;
	uint64_t n = 0;

	do {
		for (int i = 0; i < BUFFER_BATCH; i++)
			m->free(get(m, bytes));
		n += BUFFER_BATCH;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_malloc_buffer_fill(void *self, const atomic_bool *stop)
{
	const struct allocator *m = ((struct contender *)self)->state;
	size_t bytes = contender_buffer_bytes;
	uint64_t n = 0;

	do {
		void *p = get(m, bytes);

		contender_fill(p, bytes);
		m->free(p);
		n++;
	} while (!bench_stopped(stop));
	return n;
}

uint64_t
contender_malloc_team(void *self, const atomic_bool *stop)
{
	const struct allocator *m = ((struct contender *)self)->state;
	uint64_t n = 0;

	do {
		for (int i = 0; i < TEAM_BATCH; i++)
			m->free(get(m, bench_req.b_bytes));
		n += TEAM_BATCH;
	} while (!bench_stopped(stop));
	return n;
}
