/* SPDX-License-Identifier: MIT */
#ifndef LEND_CONTRACT_METHOD_H
#define LEND_CONTRACT_METHOD_H

#include "contract/plan.h"

/*
 * Makes the plan one of METHOD_LOOPS where it suits, whose indices are m and
 * k alone.  Labels are sorted and inputs in their places.
 */
void method_loops(struct lend_plan *plan);

#endif
