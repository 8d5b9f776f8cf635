/* SPDX-License-Identifier: MIT */
/* What the machine can do at best, as the engine and memcpy() see it. */
#ifndef LEND_TOOLS_MEASURE_H
#define LEND_TOOLS_MEASURE_H

#include <stdbool.h>

#include <lend/contract.h>
#include <lend/exec.h>

#include "tools/message.h"

/* What the peak is, for readers. */
#define MEASURE_PEAK \
	"best rate of 240 x 256 x 960 contractions, one per thread, " \
	"operands in the caches"
#define MEASURE_BANDWIDTH \
	"best rate of memcpy() of 64 MiB per thread, read and written bytes"

/*
 * GFLOP/s of all the exec's threads together, GB/s likewise; either takes
 * about a second, less where it may be `rough`.  Negative: it could not be, and
 * *why says why not.
 */
double measure_peak(enum lend_type type, const char *kernel,
		    const struct lend_exec *exec, bool rough,
		    struct message *why);
double measure_bandwidth(const struct lend_exec *exec, bool rough,
			 struct message *why);

/* Values in [-1, 1) for `bytes` bytes of the type's reals; repeatable. */
void measure_fill(enum lend_type type, void *array, size_t bytes,
		  unsigned seed);

#endif
