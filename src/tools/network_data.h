/* SPDX-License-Identifier: MIT */
/*
 * The operands of a network: made up, or from files.
 *
 * Made up, element i (counted row-major) of operand t is
 *
 *   scale(t) * (0.5 + u(2 i))                     where real
 *   scale(t) * (0.5 + u(2 i) + I (u(2 i + 1) - 0.5))   where complex
 *
 *   u(n)      the upper 53 bits of mix(n + mix(t + mix(seed))), as a
 *             fraction of 2^53, from 0 to below 1
 *   mix(x)    x + 0x9e3779b97f4a7c15, then twice x = (x ^ x >> 32) *
 *             0xd6e8feb86659fd93, then x ^ x >> 32; modulo 2^64
 *   scale(t)  1 / the product of the extents of t's labels that the output
 *             has not and no operand before t has
 *
 * computed in double and rounded to the type.  Each sum is so of as many
 * terms as it divides by: along any path numbers stay near 1 / what is still
 * to be summed, and the result near 1.  Ones have scale(t) alone: the result
 * is 1 everywhere but for rounding.
 */
#ifndef LEND_TOOLS_NETWORK_DATA_H
#define LEND_TOOLS_NETWORK_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <lend/network.h>

#include "tools/instance.h"
#include "tools/message.h"

enum data_kind { DATA_SEED, DATA_ONES, DATA_FILES };

struct network_data {
	enum data_kind kind;
	uint64_t seed;
	size_t count;
	const void **operand;
	size_t *bytes;
	/* Of files: strides, LEND_MAX_RANK for each operand. */
	ptrdiff_t *stride;
};

/*
 * Makes the operands of a type, for an einsum that the library has found to
 * be right.
 */
bool network_data_make(struct network_data *data,
		       const struct instance *instance, enum lend_type type,
		       struct message *why);

/*
 * Reads the operands: `files` is a folder that has 0.npy, 1.npy .., or names
 * with commas.  The instance's layouts become those of the files, which must
 * have its extents; *type becomes theirs, which must be one.
 */
bool network_data_read(struct network_data *data, struct instance *instance,
		       const char *files, enum lend_type *type,
		       struct message *why);

void network_data_free(struct network_data *data);

#endif
