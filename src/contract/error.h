/* SPDX-License-Identifier: MIT */
/* One line that says what was wrong and where. */
#ifndef LEND_CONTRACT_ERROR_H
#define LEND_CONTRACT_ERROR_H

#include <lend/contract.h>

/* Fills *why (may be null) and returns `error`. */
int lend__fail(struct lend_error *why, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
