/* SPDX-License-Identifier: MIT */
#include "warm/pile.h"

struct warm_node *
pile_reversed(struct warm_node *pile, struct warm_node *rest)
{
	while (pile) {
		/* Relaxed: they are ours alone; so below. */
		struct warm_node *below = load_relaxed(&pile->below);

		/* Release: who still walks here must see the root moved. */
		store_release(&pile->below, rest);
		rest = pile;
		pile = below;
	}
	return rest;
}

void
pile_hand_back(lend_warm_pool *pool, struct warm_node *list,
	       lend_warm_slot_fn *fn, void *ctx)
{
	while (list) {
		struct warm_node *next = load_relaxed(&list->below);
		void *slot = list->slot;

		stock_node_release(&pool->stock, list);
		fn(slot, ctx);
		list = next;
	}
}
