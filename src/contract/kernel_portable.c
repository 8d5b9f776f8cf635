/* SPDX-License-Identifier: MIT */
/*
 * For any processor: vectors of 16 bytes, which the compiler makes of what
 * there is, and a tile of 2 x 4 of them that fits in 16 registers.  Nothing is
 * stored past the caches: no column of a tile has a whole line.
 */
#include "contract/kernel_isa.h"

#define REAL		double
#define SUFFIX		f64
#define VECTOR_BYTES	16
#define MR_VECTORS	2
#define NR		4
#define ROWS_VECTORS	2
#define ROWS_NR		6
#define SUMS_MR		2
#define SUMS_NR		12
#include "contract/kernel_template.h"

#define REAL		float
#define SUFFIX		f32
#define VECTOR_BYTES	16
#define MR_VECTORS	2
#define NR		4
#define ROWS_VECTORS	2
#define ROWS_NR		6
#define SUMS_MR		4
#define SUMS_NR		12
#include "contract/kernel_template.h"

const struct kernel kernels_portable[KERNELS_PER_ISA] = {
	KERNEL_ENTRY("portable", f64),
	KERNEL_ENTRY("portable", f32)
};
