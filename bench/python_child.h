/* SPDX-License-Identifier: MIT */
/*
 * A Python script that works by turns: it says that it is ready, takes a
 * number of turns from its input, does as many, and answers with how long
 * they took, by the clock and of processors, in ns.
 */
#ifndef LEND_BENCH_PYTHON_CHILD_H
#define LEND_BENCH_PYTHON_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "bench/contract_peer.h"

struct python_child {
	pid_t pid;
	FILE *to, *from;
};

/*
 * Finds a Python with NumPy: *python alone where that is not null, else the
 * first of the usual names.  False: there is none.
 */
bool python_find(const char **python);

/*
 * Starts argv with this number of threads for any BLAS: it is read when NumPy
 * starts.  False: it ended before it was ready.
 */
bool python_start(struct python_child *child, const char *const *argv,
		  int threads);
struct contract_time python_run(struct python_child *child, unsigned turns);
void python_stop(struct python_child *child);

#endif
