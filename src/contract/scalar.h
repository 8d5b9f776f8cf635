/* SPDX-License-Identifier: MIT */
/* alpha and beta, whatever the type.  A real type's number has im = 0. */
#ifndef LEND_CONTRACT_SCALAR_H
#define LEND_CONTRACT_SCALAR_H

#include <stdbool.h>

struct scalar {
	double re, im;
};

static inline bool
scalar_is(struct scalar x, double re)
{
	return x.re == re && x.im == 0;
}

#endif
