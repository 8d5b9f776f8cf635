/* SPDX-License-Identifier: MIT */
/*
 * Who is measured.  Each contender does the same job per operation, and the
 * loop around it is compiled here, on the caller's side of the library's
 * boundary, for all of them but peer-inside, which tells what the peer's C ABI
 * costs it.
 *
 *   contender_lend.c    lend, through its public functions
 *   contender_peer.c    a library with the C ABI of peer.h, where one is given
 *   contender_mutex.c   the mutex reference, mutex_arena.h
 *   contender_tls.c     a bare thread-local look-up, tls.h: the floor
 *   contender_malloc.c  malloc and free per call, from several allocators
 */
#ifndef LEND_BENCH_CONTENDERS_H
#define LEND_BENCH_CONTENDERS_H

#include <stdbool.h>
#include <stddef.h>

#include "bench/harness.h"
#include "bench/request.h"

/* Operations between two looks at the stop flag. */
#define WORKER_BATCH 64
#define TEAM_BATCH 16
#define BUFFER_BATCH 16

enum bench_loop {
	LOOP_WORKER,		/* checkout and return: two calls */
	LOOP_WORKER_CALLBACK,	/* the callback form: one call */
	LOOP_WORKER_TOUCH,	/* two calls, a byte of every page written */
	LOOP_TEAM,		/* take, panel, return */
	LOOP_BUFFER,		/* a plain buffer borrowed, returned */
	LOOP_BUFFER_FILL,	/* the same, all of it written */
	LOOPS
};

struct contender {
	const char *name;
	/* Makes ready; false: absent, and `absent` says why. */
	bool (*open)(struct contender *self);
	void (*close)(struct contender *self);
	/* The loops; their ctx is the contender.  Null: it has no such job. */
	bench_loop_fn *loop[LOOPS];
	/* One call each, ctx the contender.  Null: it has no such thing. */
	void (*stats)(void *self);
	void (*trim)(void *self);
	/* Takes n team sets with panels at once, then returns them. */
	void (*sets)(struct contender *self, size_t n);
	/* Set by open. */
	const void *how;
	void *state;
	bool present;
	char absent[200];
};

enum contender_id {
	LEND,
	PEER,
	PEER_INSIDE,	/* the loop inside its library */
	MUTEX,
	TLS,
	TLS_DEFAULT,
	GLIBC,
	JEMALLOC,
	MIMALLOC,
	TCMALLOC,
	TBB,
	CONTENDERS
};

extern struct contender contenders[CONTENDERS];

/* the peer's library, or null; set it before contenders_open(). */
extern const char *contender_peer_library;

void contenders_open(void);
void contenders_close(void);

/* Writes why a contender is absent.  Returns false. */
bool contender_refuse(struct contender *self, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The buffers' size; set it while nobody loops. */
extern size_t contender_buffer_bytes;

/* Writes to all of it. */
void contender_fill(void *p, size_t bytes);
/* Writes one byte to each page of the three buffers of a loan. */
void contender_touch(void *a, void *tile, void *scatter);

/* One row of the table each. */
bool contender_lend_open(struct contender *self);
void contender_lend_close(struct contender *self);
uint64_t contender_lend_worker(void *self, const atomic_bool *stop);
uint64_t contender_lend_callback(void *self, const atomic_bool *stop);
uint64_t contender_lend_touch(void *self, const atomic_bool *stop);
uint64_t contender_lend_team(void *self, const atomic_bool *stop);
uint64_t contender_lend_buffer(void *self, const atomic_bool *stop);
uint64_t contender_lend_buffer_fill(void *self, const atomic_bool *stop);
void contender_lend_stats(void *self);
void contender_lend_trim(void *self);
void contender_lend_sets(struct contender *self, size_t n);

bool contender_peer_open(struct contender *self);
void contender_peer_close(struct contender *self);
/* Of the peer that is open already. */
bool contender_peer_inside_open(struct contender *self);
void contender_peer_inside_close(struct contender *self);
uint64_t contender_peer_callback(void *self, const atomic_bool *stop);
uint64_t contender_peer_callback_inside(void *self, const atomic_bool *stop);
uint64_t contender_peer_team_inside(void *self, const atomic_bool *stop);
uint64_t contender_peer_touch(void *self, const atomic_bool *stop);
uint64_t contender_peer_team(void *self, const atomic_bool *stop);
void contender_peer_stats(void *self);
void contender_peer_trim(void *self);
void contender_peer_sets(struct contender *self, size_t n);

bool contender_mutex_open(struct contender *self);
void contender_mutex_close(struct contender *self);
uint64_t contender_mutex_worker(void *self, const atomic_bool *stop);
uint64_t contender_mutex_callback(void *self, const atomic_bool *stop);
uint64_t contender_mutex_touch(void *self, const atomic_bool *stop);
uint64_t contender_mutex_team(void *self, const atomic_bool *stop);
void contender_mutex_stats(void *self);
void contender_mutex_trim(void *self);
void contender_mutex_sets(struct contender *self, size_t n);

bool contender_tls_open(struct contender *self);
void contender_tls_close(struct contender *self);
uint64_t contender_tls_initial_exec(void *self, const atomic_bool *stop);
uint64_t contender_tls_default(void *self, const atomic_bool *stop);

bool contender_malloc_open(struct contender *self);
void contender_malloc_close(struct contender *self);
uint64_t contender_malloc_worker(void *self, const atomic_bool *stop);
uint64_t contender_malloc_team(void *self, const atomic_bool *stop);
uint64_t contender_malloc_buffer(void *self, const atomic_bool *stop);
uint64_t contender_malloc_buffer_fill(void *self, const atomic_bool *stop);
/* The allocator's own functions, once it is open. */
void *contender_malloc(struct contender *self, size_t bytes);
void contender_free(struct contender *self, void *p);

/* Where an allocator is found. */
struct malloc_library {
	const char *soname[3];	/* tried in turn; null: no more */
	const char *malloc, *free;
};

#endif
