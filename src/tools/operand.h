/* SPDX-License-Identifier: MIT */
/* A tensor that is only described: "72x72x24", "scalar", or a .npy file. */
#ifndef LEND_TOOLS_OPERAND_H
#define LEND_TOOLS_OPERAND_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/contract.h>

#include "tools/message.h"

struct operand {
	size_t rank;
	size_t extent[LEND_MAX_RANK];
	ptrdiff_t stride[LEND_MAX_RANK];
	struct lend_layout layout;	/* of the above */
	bool typed;		/* a file: it says its type */
	enum lend_type type;
};

bool operand_read(struct operand *operand, const char *text,
		  struct message *why);

#endif
