/* SPDX-License-Identifier: MIT */
/* Policy: teams, what their groups divide, what they borrow. */
#ifndef LEND_CONTRACT_REQUEST_H
#define LEND_CONTRACT_REQUEST_H

#include "contract/plan.h"

/* What the groups of a pm x pn team divide. */
enum lend_split plan_split(const struct lend_plan *plan, size_t pm,
			   size_t pn);

/* Bytes of one group's panel, and from one group's to the next. */
size_t plan_panel_bytes(const struct lend_plan *plan);

/* Bytes of a partial result, and from one to the next; they follow. */
size_t plan_partial_bytes(const struct lend_plan *plan);

/* Offsets of one group's columns, and from one group's to the next. */
size_t plan_columns(const struct lend_plan *plan);

#endif
