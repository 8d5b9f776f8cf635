/* SPDX-License-Identifier: MIT */
/* Trace records, taken and kept.  Both functions assert. */
#ifndef TESTS_SUPPORT_RECORDS_H
#define TESTS_SUPPORT_RECORDS_H

#include <stddef.h>

#include "lend/arena.h"

/* Takes all records of the arena; how many there were. */
size_t taken(lend_arena *arena);
/* Record i of those that were taken last. */
const struct lend_trace_record *taken_record(size_t i);

#endif
