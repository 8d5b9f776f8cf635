/* SPDX-License-Identifier: MIT */
/* Element types by name. */
#include "tools/npy.h"

#include <string.h>

static const char *const names[] = {
	[LEND_F32] = "f32", [LEND_F64] = "f64",
	[LEND_CF32] = "cf32", [LEND_CF64] = "cf64",
};

const char *
type_name(enum lend_type type)
{
	return names[type];
}

bool
type_parse(enum lend_type *type, const char *name)
{
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		if (strcmp(name, names[i]))
			continue;
		*type = (enum lend_type)i;
		return true;
	}
	return false;
}

size_t
type_real_bytes(enum lend_type type)
{
	return type == LEND_F32 || type == LEND_CF32 ? 4 : 8;
}

bool
type_is_complex(enum lend_type type)
{
	return type == LEND_CF32 || type == LEND_CF64;
}
