/* SPDX-License-Identifier: MIT */
/*
 * What an arena is made of.
 *
 *   lend_arena
 *     slots     registry of worker slots, one per thread at once
 *                 \-- bufs: the three buffers, taken and put as one
 *     sets      registry of team sets
 *     privates  registry of re-entrant worker loans, outside the accounts
 *     buffers   registry of plain buffers
 *     caches    registry of threads' caches of idle ones, one per slot
 *                 \-- magazines: what a cache holds, taken and put as one
 *     records   registry of trace records
 *     stacks    of those that are idle or spare
 *
 * Registry objects are never freed before the arena is, so every walker may
 * read any of them; each struct says who writes what.
 */
#ifndef LEND_ARENA_STATE_H
#define LEND_ARENA_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/arena.h>

#include "arena/buffer_cache.h"
#include "arena/bufs.h"
#include "arena/loan.h"
#include "base/atomic.h"
#include "base/util.h"
#include "sync/cells.h"
#include "sync/registry.h"
#include "sync/stack.h"

/*
 * A team set.  While its loan is out the holder is alone with it; while it is
 * neither on a stack nor in a cell, whoever took it is.  `number`,
 * `rest_bytes`, `panel_bytes` are read by statistics at any time: relaxed, each
 * is right by itself.
 */
struct team_set {
	struct node node;
	_Atomic(uint64_t) number;	/* bit 0: the loan is out */
	_Atomic(size_t) panel_bytes;	/* account: the panel */
	_Atomic(size_t) rest_bytes;	/* account: scatter and barriers */
	_Atomic(void *) taker;		/* thread that took it, for fork */
	struct page_buf panel;
	struct page_buf scatter;
	struct page_buf barrier;
	/* Written when they change, so that this line stays shared. */
	uint32_t parties;		/* of the barriers below */
	uint32_t prepared;		/* barriers that nobody has reached */
	bool resized;			/* scatter is not in the account */
	char pad[31];
};

/* A re-entrant worker loan: buffers of its own, freed at its return. */
struct private_loan {
	struct loan loan;
	struct bufs bufs;		/* the owner's alone, while out */
	char pad[32];
};

/* One growth, as lend_trace_record shows it. */
struct record {
	struct node node;
	pid_t thread;
	uint32_t buffer;
	size_t capacity;
	char pad[8];
};

/* A magazine is a page of its own; this is what a stack can hold of it. */
struct magazine_place {
	struct node node;
	struct magazine *magazine;	/* constant */
};

_Static_assert(sizeof(struct bufs) == 64, "a power of two");
_Static_assert(sizeof(struct team_set) == 128, "a power of two");
_Static_assert(sizeof(struct private_loan) == 128, "a power of two");
_Static_assert(sizeof(struct record) == 32, "a power of two");
_Static_assert(sizeof(struct magazine_place) == 16, "a power of two");

#define ARENA_NAME_BYTES 32

struct lend_arena {
	/*
	 * The start of a page is left to what nobody hurries for: every buffer
	 * begins there, and what is written to their starts goes to the same
	 * sets of the first cache (a buffer of 16 pages, a byte of each
	 * written: 86 ns; so placed 41).
	 */
	char name[ARENA_NAME_BYTES];	/* constant */
	char lead[160];

	/* Read by every checkout; written by trimmers alone. */
	uint64_t key;			/* constant */
	uint32_t index;			/* constant: place in the directory */
	_Atomic(uint32_t) trimmers;	/* see slot.h */
	bool fast;			/* constant: membarrier serves */
	bool trace;			/* constant */
	bool hugetlb;			/* constant */
	size_t limit;			/* constant: 0: none */
	size_t buffer_cache;		/* constant: bytes, of each thread */

	struct registry slots;
	struct registry bufs;
	struct registry sets;
	struct registry privates;
	struct registry records;
	struct registry buffers;
	struct registry caches;
	struct registry magazines;

	struct stack idle_slots;	/* without an owner, to be adopted */
	struct stack spare_bufs;	/* empty descriptors */
	struct cells idle_sets;		/* most recently returned first */
	struct stack spare_sets;	/* without storage */
	struct stack idle_privates;
	struct stack taken_records;	/* free for use again */
	struct stack records_out;	/* recorded, newest first */
	struct stack spare_magazines;	/* empty */
	struct stack spare_buffers;	/* without storage */
	struct stack idle_buffers[BUFFER_CLASSES];

	/* Under a limit: what growth has reserved, never above it. */
	_Alignas(FALSE_SHARING) _Atomic(size_t) reserved;

	/* Counters, relaxed: each is right by itself. */
	_Alignas(FALSE_SHARING) _Atomic(uint64_t) growths;
	_Atomic(uint64_t) reentrant;
	_Atomic(uint64_t) abandoned;
	_Atomic(uint64_t) adopted;
	_Atomic(uint64_t) trims;
};

/* Adds one to a counter of the arena. */
static inline void
count(_Atomic(uint64_t) *counter)
{
	/* Relaxed: nothing hangs on it. */
	fetch_add_relaxed(counter, 1);
}

#endif
