/* SPDX-License-Identifier: MIT */
/*
 * Atomic operations, the memory order in each name.
 *
 * The default, sequentially consistent forms are left out on purpose: a site
 * says which order it needs and, in a comment, what it pairs with.  The
 * protocols (slot, stack) use these names alone, so that the explorer in
 * tests/model can put its own operations in their place (LEND_MODEL) and run
 * the real code through every interleaving.
 *
 * cas_*: weak, as all our uses loop; on failure *expected is what was seen,
 * read with the order that the name gives second.
 */
#ifndef LEND_BASE_ATOMIC_H
#define LEND_BASE_ATOMIC_H

#ifdef LEND_MODEL
#include "model_atomic.h"
#else

#include <stdatomic.h>

#define load_relaxed(p)		atomic_load_explicit((p), memory_order_relaxed)
#define load_acquire(p)		atomic_load_explicit((p), memory_order_acquire)

#define store_relaxed(p, v) \
	atomic_store_explicit((p), (v), memory_order_relaxed)
#define store_release(p, v) \
	atomic_store_explicit((p), (v), memory_order_release)

#define exchange_relaxed(p, v) \
	atomic_exchange_explicit((p), (v), memory_order_relaxed)
#define exchange_acquire(p, v) \
	atomic_exchange_explicit((p), (v), memory_order_acquire)
#define exchange_acq_rel(p, v) \
	atomic_exchange_explicit((p), (v), memory_order_acq_rel)

#define fetch_add_relaxed(p, v) \
	atomic_fetch_add_explicit((p), (v), memory_order_relaxed)
#define fetch_add_acq_rel(p, v) \
	atomic_fetch_add_explicit((p), (v), memory_order_acq_rel)
#define fetch_sub_relaxed(p, v) \
	atomic_fetch_sub_explicit((p), (v), memory_order_relaxed)
#define fetch_sub_release(p, v) \
	atomic_fetch_sub_explicit((p), (v), memory_order_release)

#define cas_relaxed(p, expected, v) \
	atomic_compare_exchange_weak_explicit((p), (expected), (v), \
					      memory_order_relaxed, \
					      memory_order_relaxed)
#define cas_release_relaxed(p, expected, v) \
	atomic_compare_exchange_weak_explicit((p), (expected), (v), \
					      memory_order_release, \
					      memory_order_relaxed)
#define cas_acquire_acquire(p, expected, v) \
	atomic_compare_exchange_weak_explicit((p), (expected), (v), \
					      memory_order_acquire, \
					      memory_order_acquire)
#define cas_acq_rel_acquire(p, expected, v) \
	atomic_compare_exchange_weak_explicit((p), (expected), (v), \
					      memory_order_acq_rel, \
					      memory_order_acquire)
#define cas_acq_rel_relaxed(p, expected, v) \
	atomic_compare_exchange_weak_explicit((p), (expected), (v), \
					      memory_order_acq_rel, \
					      memory_order_relaxed)

/* Keeps the compiler, not the processor, from moving accesses across. */
#define compiler_barrier()	atomic_signal_fence(memory_order_seq_cst)

#endif
#endif
