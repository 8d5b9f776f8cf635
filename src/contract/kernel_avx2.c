/* SPDX-License-Identifier: MIT */
/*
 * For AVX2 with FMA: 16 registers of 32 bytes.  A tile of 2 x 6 vectors takes
 * 12 of them and leaves room for a column of A (2) and elements of B.  Of 3 x 4
 * it was measured as fast, but reads more of A, which comes from farther away
 * than B; and 2 vectors are a whole line of C.
 */
#include <immintrin.h>

#include "contract/kernel_isa.h"

#define STREAM_VECTOR(p, v)	_mm256_stream_pd((void *)(p), (__m256d)(v))

#define REAL		double
#define SUFFIX		f64
#define VECTOR_BYTES	32
#define MR_VECTORS	2
#define NR		6
#define ROWS_VECTORS	2
#define ROWS_NR		6
#define SUMS_MR		4
#define SUMS_NR		12
#include "contract/kernel_template.h"

#define REAL		float
#define SUFFIX		f32
#define VECTOR_BYTES	32
#define MR_VECTORS	2
#define NR		6
#define ROWS_VECTORS	2
#define ROWS_NR		6
#define SUMS_MR		4
#define SUMS_NR		24
#include "contract/kernel_template.h"

const struct kernel kernels_avx2[KERNELS_PER_ISA] = {
	KERNEL_ENTRY("avx2", f64),
	KERNEL_ENTRY("avx2", f32)
};
