/* SPDX-License-Identifier: MIT */
/*
 * Where a warmer is tried.  Prepares here sleep, fail, hang and look around as
 * they are told; every slot is counted from its making to its end.  The
 * functions without a comment that says otherwise assert.
 */
#ifndef TESTS_SUPPORT_WARMER_SITE_H
#define TESTS_SUPPORT_WARMER_SITE_H

#include <semaphore.h>
#include <stdatomic.h>

#include <lend/warmer.h>

#define WARMER_SLOTS 100000

enum { SLOT_DESTROYED, SLOT_ALIVE, SLOT_DEAD };

extern struct warmer_site {
	lend_warmer *warmer;
	/* What prepares do. */
	atomic_uint sleep_us, fail_percent, hang_percent;
	sem_t hanging, go_on;
	atomic_uint hung;		/* at this moment */
	/* What was seen. */
	atomic_int slot[WARMER_SLOTS];	/* the last one is never made */
	atomic_uint made, attempts, preparing, most;
	atomic_uint wrong;
	atomic_bool signals_open, nameless;
} site;

/* With prepares, ends and looks of this site; the rest is the library's. */
struct lend_warmer_options warmer_options(void);
/* A warmer, on a site where nothing has been seen. */
void warmer_make(const struct lend_warmer_options *with);
/* Ends it; every slot has been torn down once, by it or by its claimer. */
void warmer_end(void);

struct lend_warmer_stats warmer_stats(void);
void warmer_refill(const char *id);
/* A slot that the test tears down, or null. */
void *warmer_claim(const char *id);
/* Until so many are ready and nothing is under way. */
void warmer_await_ready(unsigned n);

/* Does not assert: prepared slots end here, whoever has them. */
void warmer_destroy_slot(void *slot, void *ctx);

/* These neither.  A die of this many sides from 0 on, per thread. */
unsigned roll(unsigned sides);
void doze(unsigned us);

#endif
