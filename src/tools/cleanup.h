/* SPDX-License-Identifier: MIT */
/*
 * How the program ends early: no temporary file stays, and it dies by the
 * signal that ended it.
 *
 * SIGHUP, SIGINT, SIGQUIT and SIGTERM end it, unless they were ignored when
 * it began.  SIGBUS within a mapped file says that the file was cut while it
 * was read; that is told and ends it with STATUS_BAD.
 *
 * The functions are for the main thread; other threads block the signals.
 */
#ifndef LEND_TOOLS_CLEANUP_H
#define LEND_TOOLS_CLEANUP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* Once, before all others. */
void cleanup_install(void);

/* Between the two no signal ends the program. */
void cleanup_hold(sigset_t *before);
void cleanup_let(const sigset_t *before);

/* The file to remove; null: none.  At most one, with signals held. */
void cleanup_file(const char *path);

/* A mapped file and its name; at most four at once. */
void cleanup_map(const void *memory, size_t bytes, const char *path);
void cleanup_unmap(const void *memory);

/* Whether the terminal's line is unfinished. */
void cleanup_line(bool unfinished);

#endif
