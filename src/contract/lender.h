/* SPDX-License-Identifier: MIT */
/* Who lends: an arena, seen as a table of functions, or a host's table. */
#ifndef LEND_CONTRACT_LENDER_H
#define LEND_CONTRACT_LENDER_H

#include <stdbool.h>

#include <lend/contract.h>

struct lend_lender arena_lender(lend_arena *arena);

/* Whether a host's table (null: no) has what plans need. */
bool lender_serves_plans(const struct lend_lender *lender);
/* And what networks need. */
bool lender_serves_networks(const struct lend_lender *lender);

#endif
