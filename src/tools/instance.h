/* SPDX-License-Identifier: MIT */
/*
 * A network as a file describes it, in JSON:
 *
 *   "format_string"  the einsum
 *   "shapes"         the operands' extents, row-major: [[2, 3], [3]]
 *   "dtype"          float32, float64, complex64 or complex128; may be absent
 *   "paths"          by name, each with a "path": pairs of positions in the
 *                    working list, the result at its end; may be absent
 *   "name"           may be absent
 *
 * Other members are skipped.  The text is read by Jansson, which trusts
 * nothing; what it says is checked here as to its types, and by the library
 * as to its sense.
 */
#ifndef LEND_TOOLS_INSTANCE_H
#define LEND_TOOLS_INSTANCE_H

#include <stdbool.h>
#include <stddef.h>

#include <lend/network.h>

#include "tools/message.h"

struct instance_path {
	char *name;
	struct lend_network_pair *pair;
	size_t steps;
};

struct instance {
	char *name;		/* null: none */
	char *einsum;
	enum lend_type type;	/* f64 where the file says none */
	size_t count;
	struct lend_layout *layout;
	size_t *extents;	/* of all operands, one after the other */
	struct instance_path *path;
	size_t paths;
};

/* The longest text; longer ones are refused. */
#define INSTANCE_MAX ((size_t)64 << 20)

/*
 * From bytes that need not end with a 0, and from a file.  False: *why says
 * what was wrong, and there is nothing to free.
 */
bool instance_parse(struct instance *instance, const char *bytes, size_t size,
		    struct message *why);
bool instance_read(struct instance *instance, const char *path,
		   struct message *why);
void instance_free(struct instance *instance);

/*
 * What the numbers of operand t are multiplied by, so that sums along any path
 * come to about 1.  *text is the einsum at operand 0, and steps on to the next
 * operand; the library has found it to be right.
 */
double instance_scale(const struct instance *instance, size_t t,
		      const char **text);

/* The path of that name; null: there is none. */
const struct instance_path *
instance_path(const struct instance *instance, const char *name);

#endif
