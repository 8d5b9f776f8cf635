/* SPDX-License-Identifier: MIT */
#include "tools/operand.h"

#include <stdint.h>
#include <string.h>

#include "tools/npy.h"

/* Whether it reads as a shape; a file of such a name is "./2x3". */
static bool
is_shape(const char *text)
{
	return !strcmp(text, "scalar") || !text[0] ||
	       !text[strspn(text, "0123456789x")];
}

static bool
read_shape(struct npy_header *header, const char *text, struct message *why)
{
	size_t bytes;

	if (!strcmp(text, "scalar"))
		return npy_measure(header, &bytes, why);
	for (;; text++) {
		size_t *extent = &header->extent[header->rank];

		if (header->rank == LEND_MAX_RANK)
			return refuse(why, "more than %d dimensions",
				      LEND_MAX_RANK);
		if (*text < '0' || *text > '9')
			return refuse(why, "not a shape as 72x72x24");
		for (; *text >= '0' && *text <= '9'; text++)
			if (__builtin_mul_overflow(*extent, 10, extent) ||
			    __builtin_add_overflow(*extent, *text - '0',
						   extent) ||
			    *extent > PTRDIFF_MAX)
				return refuse(why, "an extent is too large "
					      "for any machine");
		header->rank++;
		if (*text != 'x')
			break;
	}
	return npy_measure(header, &bytes, why);
}

static bool
read_file(struct npy_header *header, const char *path, struct message *why)
{
	struct npy_input input;

	if (!npy_open(&input, path, why))
		return false;
	*header = input.header;
	npy_close(&input);
	return true;
}

bool
operand_read(struct operand *operand, const char *text, struct message *why)
{
	struct npy_header header = { .type = LEND_F64 };

	operand->typed = !is_shape(text);
	if (!(operand->typed ? read_file : read_shape)(&header, text, why))
		return false;
	operand->type = header.type;
	operand->rank = header.rank;
	memcpy(operand->extent, header.extent, sizeof operand->extent);
	npy_layout(&header, operand->stride, &operand->layout);
	operand->layout.extent = operand->extent;
	return true;
}
