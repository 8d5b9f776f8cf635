/* SPDX-License-Identifier: MIT */
/* Slots that are handed back: nodes that are the calling thread's alone. */
#ifndef LEND_WARM_PILE_H
#define LEND_WARM_PILE_H

#include "warm/pool.h"

/* The pile turned round, its earliest slot first, and then the rest. */
struct warm_node *pile_reversed(struct warm_node *pile,
				struct warm_node *rest);

/* Gives the slots to `fn`, which may call the pool: nothing is held. */
void pile_hand_back(lend_warm_pool *pool, struct warm_node *list,
		    lend_warm_slot_fn *fn, void *ctx);

#endif
