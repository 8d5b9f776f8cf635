/* SPDX-License-Identifier: MIT */
/*
 * What the files of the operating system room share, and what its test wants
 * to reach: each way of doing a thing that os.h does the best way.
 */
#ifndef LEND_BASE_OS_PRIVATE_H
#define LEND_BASE_OS_PRIVATE_H

#include <stddef.h>
#include <stdint.h>

/* The page size of the system, which may be larger than LEND_PAGE. */
size_t os_system_page(void);

/* Reads and writes back one byte of every page of the range. */
void os_touch(void *p, size_t size);

/*
 * The number of nodes that a list like "0-1,4" asks for: its highest id + 1,
 * so that every id of it can index a table.  1 for what is no list, at most
 * OS_NODES_MAX.
 */
unsigned os_parse_nodes(const char *list);

/* The two ways of os_huge_bytes(). */
int os_huge_bytes_scan(const void *p, size_t size, size_t *bytes);
int os_huge_bytes_smaps(const void *p, size_t size, size_t *bytes);

/*
 * The reader of smaps, fed with pieces of its text.  Start with everything
 * zero but start and end, the range to count in; after the last piece,
 * smaps_end() returns the bytes.
 */
struct smaps {
	uintptr_t start, end;
	size_t overlap;		/* of the present mapping with the range */
	size_t huge;		/* bytes in huge pages of that mapping */
	size_t total;		/* of the mappings before it */
	size_t length;		/* of the line so far; more is dropped */
	char line[80];
};

void smaps_feed(struct smaps *smaps, const char *text, size_t length);
size_t smaps_end(struct smaps *smaps);

#endif
