/* SPDX-License-Identifier: MIT */
/*
 * For AVX-512 (F, DQ, VL) with FMA: 32 registers of 64 bytes.  A tile of 3 x 8
 * vectors takes 24 of them and leaves room for a column of A (3) and for
 * elements of B.
 */
#include <immintrin.h>

#include "contract/kernel_isa.h"

#define STREAM_VECTOR(p, v)	_mm512_stream_pd((void *)(p), (__m512d)(v))

#define REAL		double
#define SUFFIX		f64
#define VECTOR_BYTES	64
#define MR_VECTORS	3
#define NR		8
#define ROWS_VECTORS	1
#define ROWS_NR		24
#define SUMS_MR		8
#define SUMS_NR		24
#define LOAD_MASKED(m, p)	_mm512_maskz_loadu_pd((__mmask8)(m), (p))
#define STORE_MASKED(p, m, v)	_mm512_mask_storeu_pd((p), (__mmask8)(m), (v))
#include "contract/kernel_template.h"

#define REAL		float
#define SUFFIX		f32
#define VECTOR_BYTES	64
#define MR_VECTORS	3
#define NR		8
#define ROWS_VECTORS	1
#define ROWS_NR		24
#define SUMS_MR		8
#define SUMS_NR		24
#define LOAD_MASKED(m, p)	_mm512_maskz_loadu_ps((__mmask16)(m), (p))
#define STORE_MASKED(p, m, v)	_mm512_mask_storeu_ps((p), (__mmask16)(m), (v))
#include "contract/kernel_template.h"

const struct kernel kernels_avx512[KERNELS_PER_ISA] = {
	KERNEL_ENTRY("avx512", f64),
	KERNEL_ENTRY("avx512", f32)
};
