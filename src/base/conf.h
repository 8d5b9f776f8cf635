/* SPDX-License-Identifier: MIT */
/*
 * LEND_CONF: what the environment asks of the library, read once.
 *
 *   LEND_CONF="stats_print:true,limit:512M,backend:mmap"
 *
 * Pairs `key:value`, separated by commas.  An unknown key or an impossible
 * value is reported on standard error and skipped.
 */
#ifndef LEND_BASE_CONF_H
#define LEND_BASE_CONF_H

#include <stdbool.h>
#include <stddef.h>

struct conf {
	char backend[16];	/* "jemalloc", "mmap"; empty: the best one */
	char kernel[16];	/* for contractions; empty: the best one */
	size_t buffer_cache;	/* bytes of idle buffers that a thread keeps */
	size_t limit;		/* default ceiling of an arena, 0: none */
	bool trace;		/* default of an arena's tracing */
	bool hugetlb;		/* default of reserved huge pages */
	bool membarrier;	/* false: worker slots go by exchange */
	bool fork;		/* false: no handlers around fork(2) */
	bool stats_print;	/* print statistics at destroy and at exit */
};

/* Fills *conf with the defaults, then with what `text` (or null) says. */
void conf_parse(struct conf *conf, const char *text);

#endif
