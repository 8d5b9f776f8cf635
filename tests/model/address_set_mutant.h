/* SPDX-License-Identifier: MIT */
/*
 * Given to mem/address_set.c before its first line: its two compare-and-swaps
 * are the explorer's, or what a mutant makes of them.
 */
#ifndef LEND_MODEL_ADDRESS_SET_MUTANT_H
#define LEND_MODEL_ADDRESS_SET_MUTANT_H

#include "model_atomic.h"

enum set_mutant {
	SET_RIGHT,
	SET_STORES_SLOT,	/* an empty slot is filled without a CAS */
	SET_STORES_CHUNK,	/* a new chunk is linked without a CAS */
	SET_TRUSTS_CAS		/* a CAS that failed counts as done */
};

extern enum set_mutant set_mutant;

#define MODEL_STORE_INSTEAD(p, v, order, text) \
	(MODEL_STORE(p, v, order, text), true)

#undef cas_relaxed
#define cas_relaxed(p, expected, v) \
	(set_mutant == SET_STORES_SLOT ? \
	 MODEL_STORE_INSTEAD(p, v, MODEL_ORDER_RELAXED, \
			     "store_relaxed(" #p ", " #v ")") : \
	 MODEL_CAS(p, expected, v, MODEL_ORDER_RELAXED, MODEL_ORDER_RELAXED, \
		   "cas_relaxed(" #p ", " #v ")") || \
	 set_mutant == SET_TRUSTS_CAS)

#undef cas_release_relaxed
#define cas_release_relaxed(p, expected, v) \
	(set_mutant == SET_STORES_CHUNK ? \
	 MODEL_STORE_INSTEAD(p, v, MODEL_ORDER_RELEASE, \
			     "store_release(" #p ", " #v ")") : \
	 MODEL_CAS(p, expected, v, MODEL_ORDER_RELEASE, MODEL_ORDER_RELAXED, \
		   "cas_release_relaxed(" #p ", " #v ")"))

#endif
