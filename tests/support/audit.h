/* SPDX-License-Identifier: MIT */
/*
 * The accounts, computed anew from what is there: from the registries of
 * buffers and sets, not from the words that statistics read.
 *
 * No other thread may be at work in the arenas that are looked at.  Nothing
 * here asserts, so any thread may ask.
 */
#ifndef TESTS_SUPPORT_AUDIT_H
#define TESTS_SUPPORT_AUDIT_H

#include <stddef.h>

#include "lend/arena.h"

struct audit {
	size_t retained;	/* capacity of the kept buffers, in bytes */
	size_t panels;		/* the team panels' part of it */
	size_t buffers;		/* the plain buffers' part of it */
	size_t privates;	/* capacity of re-entrant loans */
	size_t lost_records;	/* of a trace: on no stack */
	/*
	 * Null, or which of these does not hold:
	 *   - every object is in one place: on one of its stacks, lent, or
	 *     owned by a thread; buffers are spare or in one slot; plain
	 *     buffers are in one cache at most, and where the map says;
	 *   - what is spare has no storage;
	 *   - a slot or set accounts for what it has, and the statistics for
	 *     the sums above, but for scatter that was resized in a loan that
	 *     is out;
	 *   - leased <= retained, and 0 when no loan is out;
	 *   - under a limit: reserved = retained <= limit.
	 */
	const char *wrong;
};

struct audit audit_arena(lend_arena *arena);

/*
 * The same over all arenas of the process, summed: `retained` and `privates`
 * together are what the backend has given and not got back.
 */
struct audit audit_process(void);

/*
 * Bytes of bookkeeping that stay: of the directory and the map of buffers, of
 * the calling thread.
 */
size_t audit_directory_pages(void);
size_t audit_thread_pages(void);

#endif
