/* SPDX-License-Identifier: MIT */
/*
 * Given to the warm pool's sources before their first line: the steps on which
 * the proof rests are the explorer's, or what a mutant makes of them.
 */
#ifndef LEND_MODEL_WARM_MUTANT_H
#define LEND_MODEL_WARM_MUTANT_H

#include "model_atomic.h"

enum warm_mutant {
	WARM_RIGHT,
	WARM_NO_VERSION,	/* a root that came back counts as unmoved */
	WARM_TWO_BITS,		/* the version comes back after four installs */
	WARM_CREDULOUS,		/* the root is never looked at again */
	WARM_TRUSTS_CAS,	/* an install that failed counts as done */
	WARM_RELAXED_INSTALL,	/* it releases nothing */
	WARM_RELAXED_CLAIM	/* it acquires nothing, nor does a look */
};

extern enum warm_mutant warm_mutant;

static inline unsigned
warm_version_bits(void)
{
	return warm_mutant == WARM_NO_VERSION ? 0 :
	       warm_mutant == WARM_TWO_BITS ? 2 : 44;
}

#define ROOT_VERSION_BITS warm_version_bits()
#define ROOT_CREDULOUS() (warm_mutant == WARM_CREDULOUS)
#define ROOT_BACK_OFF(turns) ((void)(turns))

#define WARM_ACQUIRE (warm_mutant == WARM_RELAXED_CLAIM ? \
		      MODEL_ORDER_RELAXED : MODEL_ORDER_ACQUIRE)
#define WARM_RELEASE (warm_mutant == WARM_RELAXED_INSTALL ? \
		      MODEL_ORDER_RELAXED : MODEL_ORDER_RELEASE)

#undef load_acquire
#define load_acquire(p) MODEL_LOAD(p, WARM_ACQUIRE, "load_acquire(" #p ")")
#undef store_release
#define store_release(p, v) \
	MODEL_STORE(p, v, WARM_RELEASE, "store_release(" #p ", " #v ")")
#undef cas_acq_rel_relaxed
#define cas_acq_rel_relaxed(p, expected, v) \
	(MODEL_CAS(p, expected, v, WARM_ACQUIRE | WARM_RELEASE, \
		   MODEL_ORDER_RELAXED, "cas_acq_rel_relaxed(" #p ")") || \
	 warm_mutant == WARM_TRUSTS_CAS)

#endif
