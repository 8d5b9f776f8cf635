/* SPDX-License-Identifier: MIT */
/*
 * One body of the micro-kernels, for any instruction set and real type.  No
 * include guard: a file includes it once per real type, having defined
 *
 *   REAL		the type, float or double
 *   SUFFIX		of the names made here: f32 or f64
 *   VECTOR_BYTES	of a vector register: 16, 32 or 64
 *   MR_VECTORS		vectors in a tile's column: mr is that times the lanes
 *   NR			columns of a tile
 *   ROWS_VECTORS, ROWS_NR, SUMS_MR, SUMS_NR  see narrow_template.h
 *   STREAM_VECTOR(p, v)  stores v at p, aligned to a vector, past the caches;
 *			undefined where there is no such thing
 *   LOAD_MASKED(m, p), STORE_MASKED(p, m, v)  a vector at p, but of it only
 *			the lanes whose bits are set in m; both undefined where
 *			there is no such thing
 *
 * All but STREAM_VECTOR are undefined again at the end.  What it makes is
 * static; KERNEL_ENTRY collects it.
 *
 * The same sums are rounded alike in direct() and by tile() and scatter(), so
 * that a result does not depend on where tiles end: every file that includes
 * this one is compiled with -ffp-contract=fast, on which both rely.
 *
 * The accumulators are MR_VECTORS * NR registers.  They stay registers only
 * if each loop over them is unrolled, hence UNROLL at all of these.
 */
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"
#include "contract/kernel.h"

#ifndef KERNEL_TEMPLATE_ONCE
#define KERNEL_TEMPLATE_ONCE

#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

#define INLINE static inline __attribute__((always_inline))

#define PASTE_(x, suffix)	x##_##suffix
#define PASTE(x, suffix)	PASTE_(x, suffix)

/* Where a store past the caches pays: whole lines alone. */

static const int64_t kernel_no_offset;
static const struct kernel_ahead kernel_no_ahead = {
	(const char *)&kernel_no_offset, &kernel_no_offset, 0
};

#endif

#define NAME(x)	PASTE(x, SUFFIX)
#define LANES	(VECTOR_BYTES / sizeof(REAL))

enum {
	NAME(bytes) = sizeof(REAL),
	NAME(mr) = MR_VECTORS * LANES,
	NAME(nr) = NR
};
#define MR	((size_t)NAME(mr))
_Static_assert(NAME(mr) >= LEAST_MR && NAME(mr) <= KERNEL_MOST_LANES &&
	       NAME(nr) <= KERNEL_MOST_LANES, "what kernel.h promises");

/* In registers and in panels; then in C, aligned as its elements are. */
typedef REAL NAME(vec) __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef REAL NAME(vec_c)
	__attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(REAL)),
		       may_alias));

INLINE void
NAME(zero)(NAME(vec) acc[NR][MR_VECTORS])
{
	UNROLL
	for (size_t j = 0; j < NR; j++)
		UNROLL
		for (size_t i = 0; i < MR_VECTORS; i++)
			acc[j][i] = (NAME(vec)){ 0 };
}

/* acc(i, j) += a[i] * b[j] */
INLINE void
NAME(step)(const REAL *a, const REAL *b, NAME(vec) acc[NR][MR_VECTORS])
{
	const NAME(vec) *column = (const NAME(vec) *)a;

	UNROLL
	for (size_t j = 0; j < NR; j++)
		UNROLL
		for (size_t i = 0; i < MR_VECTORS; i++)
			acc[j][i] += column[i] * b[j];
}

/* acc(i, j) += sum over p of a[p * mr + i] * b[p * nr + j] */
INLINE void
NAME(multiply)(size_t k, const REAL *a, const REAL *b,
	       NAME(vec) acc[NR][MR_VECTORS], struct kernel_ahead ahead)
{
	for (; k; k--) {
		__builtin_prefetch(ahead.base + *ahead.offset, 0, 2);
		ahead.offset += ahead.step;
		NAME(step)(a, b, acc);
		a += MR;
		b += NR;
	}
}

/* Has the lines of a column of C fetched. */
INLINE void
NAME(fetch)(const REAL *c)
{
	const char *column = (const char *)c;

	UNROLL
	for (size_t i = 0; i < MR * sizeof(REAL); i += CACHE_LINE)
		__builtin_prefetch(column + i, 1);
	/* It need not begin with a line. */
	__builtin_prefetch(column + MR * sizeof(REAL) - 1, 1);
}

/*
 * The same as multiply(), with a column of C fetched at each of the first
 * steps.  All of them at once would keep the first steps waiting for A: with
 * C in memory that cost 1.5 to 3 % at k = 256.
 */
INLINE void
NAME(multiply_fetching)(size_t k, const REAL *a, const REAL *b,
			NAME(vec) acc[NR][MR_VECTORS], const REAL *c,
			const int64_t *col, struct kernel_ahead ahead)
{
	for (size_t j = 0; j < NR; j++) {
		NAME(fetch)(c + col[j]);
		if (j < k)
			NAME(step)(a + j * MR, b + j * NR, acc);
	}
	if (k > NR)
		NAME(multiply)(k - NR, a + NR * MR, b + NR * NR, acc, ahead);
}

/*
 * The store of KERNEL_STREAM.  A vector goes past the caches if all of its
 * line is in this column of the tile; otherwise the rest of the line comes by
 * another call, much later, and the two halves would go to memory each for
 * itself.
 */
INLINE void
NAME(stream)(REAL *c, const NAME(vec) acc[MR_VECTORS])
{
	UNROLL
	for (size_t i = 0; i < MR_VECTORS; i++) {
		REAL *to = c + i * LANES;
#ifdef STREAM_VECTOR
		size_t skew = (uintptr_t)to % CACHE_LINE;
		size_t before = i * VECTOR_BYTES;
		size_t after = (MR_VECTORS - i) * VECTOR_BYTES;

		if (skew % VECTOR_BYTES == 0 && skew <= before &&
		    CACHE_LINE - skew <= after) {
			STREAM_VECTOR(to, acc[i]);
			continue;
		}
#endif
		*(NAME(vec_c) *)to = acc[i];
	}
}

/* C's columns from the accumulators; `update` is a constant at each call. */
INLINE void
NAME(write)(REAL *c, const int64_t *col, const NAME(vec) acc[NR][MR_VECTORS],
	    enum kernel_update update, REAL beta)
{
	UNROLL
	for (size_t j = 0; j < NR; j++) {
		NAME(vec_c) *to = (NAME(vec_c) *)(c + col[j]);

		if (update == KERNEL_STREAM) {
			NAME(stream)(c + col[j], acc[j]);
			continue;
		}
		UNROLL
		for (size_t i = 0; i < MR_VECTORS; i++)
			if (update == KERNEL_ADD)
				to[i] = acc[j][i] + to[i];
			else if (update == KERNEL_SCALE)
				to[i] = acc[j][i] + beta * to[i];
			else
				to[i] = acc[j][i];
	}
}

/* After KERNEL_STREAM a store fence is due before C is published: caller's. */
static void
NAME(direct)(size_t k, const void *a, const void *b, void *c,
	     const int64_t *col, enum kernel_update update, double beta,
	     const struct kernel_ahead *ahead)
{
	NAME(vec) acc[NR][MR_VECTORS];

	if (!ahead)
		ahead = &kernel_no_ahead;
	NAME(zero)(acc);
	if (update == KERNEL_STREAM)
		NAME(multiply)(k, a, b, acc, *ahead);
	else
		NAME(multiply_fetching)(k, a, b, acc, c, col, *ahead);
	switch (update) {
	case KERNEL_SET:
		NAME(write)(c, col, acc, KERNEL_SET, 0);
		break;
	case KERNEL_STREAM:
		NAME(write)(c, col, acc, KERNEL_STREAM, 0);
		break;
	case KERNEL_ADD:
		NAME(write)(c, col, acc, KERNEL_ADD, 0);
		break;
	case KERNEL_SCALE:
		NAME(write)(c, col, acc, KERNEL_SCALE, (REAL)beta);
		break;
	}
}

static void
NAME(tile)(size_t k, const void *a, const void *b, void *tile,
	   const struct kernel_ahead *ahead)
{
	NAME(vec) acc[NR][MR_VECTORS];
	NAME(vec) *to = tile;

	NAME(zero)(acc);
	NAME(multiply)(k, a, b, acc, ahead ? *ahead : kernel_no_ahead);
	UNROLL
	for (size_t j = 0; j < NR; j++)
		UNROLL
		for (size_t i = 0; i < MR_VECTORS; i++)
			to[j * MR_VECTORS + i] = acc[j][i];
}

#include "contract/pack_template.h"
#define REAL_BYTES	PASTE(REAL_BYTES, REAL)
#include "contract/scatter_template.h"
#include "contract/narrow_template.h"
#include "contract/loops_template.h"
#include "contract/loops_complex_template.h"
#include "contract/side_template.h"
#undef REAL_BYTES

#undef MR
#undef LANES
#undef NAME
#undef REAL
#undef SUFFIX
#undef MR_VECTORS
#undef NR
#undef VECTOR_BYTES
#undef LOAD_MASKED
#undef STORE_MASKED
#undef ROWS_VECTORS
#undef ROWS_NR
#undef SUMS_MR
#undef SUMS_NR
