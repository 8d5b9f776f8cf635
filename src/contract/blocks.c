/* SPDX-License-Identifier: MIT */
#include "contract/blocks.h"

#include "base/util.h"

/* Deeper sums bring nothing, but take cache from A. */
#define MOST_KC 512
#define LEAST_KC 64

static size_t
ceil_div(size_t a, size_t b)
{
	return a / b + (a % b != 0);
}

size_t
block_even(size_t total, size_t unit, size_t most)
{
	size_t blocks = ceil_div(total, size_max(most, unit));
	size_t units = ceil_div(total, unit);

	return blocks ? ceil_div(units, blocks) * unit : unit;
}

struct blocks
blocks_choose(const struct blocks_wish *wish, const struct caches *caches)
{
	struct blocks blocks = { .mr = wish->mr, .nr = wish->nr };
	size_t most;

	most = caches->l1 / 2 / (wish->nr * wish->b_bytes);
	most = size_min(size_max(most, LEAST_KC), MOST_KC);
	blocks.kc = size_min(block_even(wish->k, 8, most / 8 * 8),
			     size_max(wish->k, 1));
	most = caches->l2 / 2 / (blocks.kc * wish->a_bytes);
	blocks.mc = block_even(wish->m, wish->mr,
			 size_min(most, MOST_MC) / wish->mr * wish->mr);
	most = caches->l3 / 4 / (blocks.kc * wish->b_bytes);
	blocks.nc = block_even(wish->n, wish->nr,
			 size_min(most, MOST_NC) / wish->nr * wish->nr);
	return blocks;
}

struct share
share_of(size_t total, size_t unit, size_t index, size_t shares)
{
	size_t units = ceil_div(total, unit);
	size_t each = units / shares, more = units % shares;
	struct share share;

	share.begin = (index * each + size_min(index, more)) * unit;
	share.end = share.begin + (each + (index < more)) * unit;
	share.begin = size_min(share.begin, total);
	share.end = size_min(share.end, total);
	return share;
}
