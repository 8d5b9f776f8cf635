/* SPDX-License-Identifier: MIT */
/*
 * Products whose layouts follow from labels, one letter of ASCII each:
 * column-major, so that an operand's first label has the unit stride, with
 * gaps, and with the last dimension reversed now and then.  The same number
 * gives the same one.  The functions assert.
 */
#ifndef TESTS_SUPPORT_EINSUM_FORM_H
#define TESTS_SUPPORT_EINSUM_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/einsum_random.h"

/* By letter. */
struct form_extents {
	size_t of[128];
};

/*
 * Lays a tensor of these labels; `gap`: how far apart its dimensions are
 * beyond what they hold.
 */
void form_lay(struct random_tensor *tensor, const char *labels, size_t rank,
	      const struct form_extents *extents, ptrdiff_t gap, bool reversed);

/* The product of the form, "ik,kj->ij"; gaps and factors are drawn. */
struct random_einsum form_einsum(const char *form, enum lend_type type,
				 const struct form_extents *extents,
				 uint64_t seed);

#endif
