/* SPDX-License-Identifier: MIT */
/*
 * The warm pool as its files see it.  The protocol is told in root.h.
 */
#ifndef LEND_WARM_POOL_H
#define LEND_WARM_POOL_H

#include <lend/warm.h>

#include "base/util.h"
#include "warm/stock.h"

struct lend_warm_pool {
	struct stock stock;
	/* [ version | index of a value ]: see root.h */
	_Alignas(FALSE_SHARING) _Atomic(uint64_t) root;
	/* Beside it, as it is read with it: see "Progress" there. */
	_Atomic(uint64_t) pleas;
};

/*
 * Hands the ready slots back, those of an id earliest first, and frees the
 * pool, with what fills are in flight.  Needs no memory; the caller is alone,
 * and `drained` leaves the pool alone.
 */
void warm_pool_end(lend_warm_pool *pool, lend_warm_slot_fn *drained, void *ctx);

#endif
