/* SPDX-License-Identifier: MIT */
/*
 * What the rows of the warm pool's table are written in: the operations of one
 * pool, each of which asserts what always holds of it.  Slots are numbers.
 */
#ifndef TESTS_SUPPORT_WARM_TABLE_H
#define TESTS_SUPPORT_WARM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/warm.h>

#define WARM_TABLE_BACK 64

extern struct warm_table {
	lend_warm_pool *pool;
	/* What the last operation handed back, in order. */
	uintptr_t back[WARM_TABLE_BACK];
	unsigned backs;
} warm;

void warm_make(size_t cap);
/* Frees it, after which no page may be left. */
void warm_end(void);

/* How many fills it owes. */
size_t warm_begin(const char *id, size_t target);
/* False: handed back. */
bool warm_offer(const char *id, uintptr_t slot);
/* 0: none. */
uintptr_t warm_claim(const char *id);
void warm_abandon(const char *id);
void warm_drain(const char *id);
void warm_drain_all(void);

/* Begins, evicting no slot, and offers all that is owed: first, first + 1.. */
void warm_fill(const char *id, size_t target, uintptr_t first);

/* Of the pool where id is null. */
struct lend_warm_stats warm_stats(const char *id);
bool warm_knows(const char *id);

/* Where the operations hand back to. */
void warm_take_back(void *slot, void *ctx);
/* What was handed back, in order, up to 0. */
void warm_must_be_back(uintptr_t slot, ...);

#define BACK(...) warm_must_be_back(__VA_ARGS__, (uintptr_t)0)
#define SLOT(n) ((uintptr_t)(n))

#endif
