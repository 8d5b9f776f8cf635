/* SPDX-License-Identifier: MIT */
#include "contract/blocks.h"

#include "base/util.h"

/* Deeper sums bring nothing, but take cache from A. */
#define MOST_KC 512
#define LEAST_KC 64
/* Units that are enough to divide among threads. */
#define FINE 64

size_t
block_even(size_t total, size_t unit, size_t most)
{
	size_t blocks = ceil_div(total, size_max(most, unit));
	size_t units = ceil_div(total, unit);

	return blocks ? ceil_div(units, blocks) * unit : unit;
}

/* The multiple of the tile that takes whole lines, where it fits at all. */
static size_t
unit_within(size_t tile, size_t lines, size_t most)
{
	return lines > tile && lines % tile == 0 && lines <= most ? lines :
								     tile;
}

/* Threads' shares are cut finely where there are few units to go round. */
static size_t
share_unit(size_t total, size_t unit, size_t tile)
{
	return total / unit >= FINE ? unit : tile;
}

struct blocks
blocks_choose(const struct blocks_wish *wish, const struct caches *caches)
{
	struct blocks blocks = { .mr = wish->mr, .nr = wish->nr };
	size_t most, unit;

	most = caches->l1 / 2 / (wish->nr * wish->b_bytes);
	most = size_min(size_max(most, LEAST_KC), MOST_KC);
	unit = unit_within(8, wish->k_unit, most);
	/* One pass over C is worth a little more of L1. */
	blocks.kc = wish->k <= most + most / 2 ? size_max(wish->k, 1) :
		    block_even(wish->k, unit, most / unit * unit);

	most = size_min(caches->l2 / 2 / (blocks.kc * wish->a_bytes),
			MOST_MC);
	unit = unit_within(wish->mr, wish->m_unit, most);
	blocks.mc = block_even(wish->m, unit, most / unit * unit);
	blocks.m_share = share_unit(wish->m, unit, wish->mr);

	/* One block of rows: the panel of B is used once, and at once. */
	most = (wish->m <= blocks.mc ? caches->l2 / 4 : caches->l3 / 4) /
	       (blocks.kc * wish->b_bytes);
	most = size_min(most, MOST_NC);
	unit = unit_within(wish->nr, wish->n_unit, most);
	blocks.nc = block_even(wish->n, unit, most / unit * unit);
	blocks.n_share = share_unit(wish->n, unit, wish->nr);
	return blocks;
}

struct share
share_of(size_t total, size_t unit, size_t index, size_t shares)
{
	struct share share = { 0, total };
	size_t units, each, more;

	if (shares == 1)
		return share;
	units = ceil_div(total, unit);
	each = units / shares;
	more = units % shares;
	share.begin = (index * each + size_min(index, more)) * unit;
	share.end = share.begin + (each + (index < more)) * unit;
	share.begin = size_min(share.begin, total);
	share.end = size_min(share.end, total);
	return share;
}
