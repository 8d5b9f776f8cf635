/* SPDX-License-Identifier: MIT */
/* What the system tells of the machine.  Texts are cut; "?": it is silent. */
#ifndef LEND_TOOLS_MACHINE_H
#define LEND_TOOLS_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

#define MACHINE_TEXT 128

/* "always", "madvise" or "never". */
void machine_huge_pages(char text[MACHINE_TEXT]);
/* Reserved huge pages that are free. */
bool machine_reserved_pages(size_t *pages);
size_t machine_nodes(void);

struct machine_cache {
	char level[8], type[16], size[16];
};

/* The i-th cache of the first processor; false: there is none. */
bool machine_cache(size_t i, struct machine_cache *cache);

#endif
