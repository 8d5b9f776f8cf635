/* SPDX-License-Identifier: MIT */
/*
 * What tests ask of the process and do to it.  Nothing here allocates.
 */
#ifndef TESTS_SUPPORT_PROCESS_H
#define TESTS_SUPPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of the process in memory (0: this system does not say), and mapped. */
size_t process_resident(void);
size_t process_mapped(void);

/* How many bytes of the pages p[0..size) are in memory; p page-aligned. */
size_t process_present(void *p, size_t size);

/* Whether the system gives huge pages to a range that asks for them. */
bool process_huge_pages(void);

/*
 * Runs fn(arg) in a child process and returns its result, 0..127, or 128 +
 * the signal that ended it.
 */
int process_child(int (*fn)(void *arg), void *arg);

/*
 * From here on the calling thread's system call `number` fails with `error`,
 * where argument `index` is `value` (its low half counts) or index is -1.
 * For ever, so call it in a child.  False: this system has no filters.
 */
bool process_deny(long number, int index, uint32_t value, int error);

#endif
