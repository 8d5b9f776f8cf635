/* SPDX-License-Identifier: MIT */
/*
 * What every test program's main() does, and how it runs once more in a
 * process of its own: for what is settled before the first arena (LEND_CONF)
 * and for what ends with the process.
 */
#ifndef TESTS_SUPPORT_SUITE_H
#define TESTS_SUPPORT_SUITE_H

#include <check.h>
#include <stddef.h>

/* Adds a case to the suite. */
TCase *suite_case(Suite *suite, const char *name);

/* Runs the suite as the environment (CK_...) says; main()'s result. */
int suite_run(Suite *suite);

/*
 * The same; then runs the program once more with each of the LEND_CONFs, the
 * last one null, and the whole suite in it.
 */
int suite_run_also(Suite *suite, const char *const *confs);

/*
 * Runs this program once more, for a role that is not the tests, with
 * LEND_CONF `conf`, and returns its exit status, 128 + the signal that ended
 * it, or -1.  Its standard error goes to text[0..size), cut and terminated;
 * to ours where text is null.
 */
int suite_again(const char *role, const char *conf, char *text, size_t size);

/* The role that this process was started for, or null. */
const char *suite_role(void);

#endif
