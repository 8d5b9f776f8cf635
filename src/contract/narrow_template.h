/* SPDX-License-Identifier: MIT */
/*
 * The part of kernel_template.h for products of few columns, which read A
 * where it lies (see narrow.h); that file includes this one, and has the
 * macros, four more of which are
 *
 *   ROWS_VECTORS	vectors of A that narrow_rows() takes at once; they
 *			divide a cache line
 *   ROWS_NR		columns, an accumulator for each with each of these
 *   SUMS_MR		rows that narrow_sums() takes at once
 *   SUMS_NR		columns: whole vectors of them, but for half of one
 *
 * As many of each as leave the accumulators in registers.
 */
#define SUMS_VECTORS	(SUMS_NR * REAL_BYTES / VECTOR_BYTES)
#define SUMS_HALF	(SUMS_NR * REAL_BYTES % VECTOR_BYTES != 0)

_Static_assert(CACHE_LINE % (ROWS_VECTORS * VECTOR_BYTES) == 0,
	       "vectors divide a line");
_Static_assert(SUMS_MR <= LANES, "what kernel.h promises");
#if SUMS_HALF
typedef REAL NAME(half)
	__attribute__((vector_size(VECTOR_BYTES / 2), may_alias));
_Static_assert(SUMS_NR == SUMS_VECTORS * LANES + LANES / 2,
	       "columns are whole vectors and a half");
#else
_Static_assert(SUMS_NR == SUMS_VECTORS * LANES, "columns are whole vectors");
#endif

/* Vectors of rows: an accumulator for each and each column. */
static void
NAME(narrow_rows)(size_t k, const void *a, const int64_t *col, const void *b,
		  void *tile, size_t stride, const void *next)
{
	const REAL *rows = a, *row = b, *ahead = next;
	NAME(vec) acc[ROWS_NR][ROWS_VECTORS];

	UNROLL
	for (size_t j = 0; j < ROWS_NR; j++)
		UNROLL
		for (size_t v = 0; v < ROWS_VECTORS; v++)
			acc[j][v] = (NAME(vec)){ 0 };
	for (size_t p = 0; p < k; p++, row += ROWS_NR) {
		const NAME(vec_c) *column =
			(const NAME(vec_c) *)(rows + col[p]);

		__builtin_prefetch(ahead + col[p], 0, 2);
		UNROLL
		for (size_t j = 0; j < ROWS_NR; j++)
			UNROLL
			for (size_t v = 0; v < ROWS_VECTORS; v++)
				acc[j][v] += column[v] * row[j];
	}
	UNROLL
	for (size_t j = 0; j < ROWS_NR; j++) {
		NAME(vec) *to = (NAME(vec) *)((REAL *)tile + j * stride);

		UNROLL
		for (size_t v = 0; v < ROWS_VECTORS; v++)
			to[v] = acc[j][v];
	}
}

/* Some rows, whose elements go one by one; columns are in vectors. */
static void
NAME(narrow_sums)(size_t k, const void *a, const int64_t *row,
		  const int64_t *col, const void *b, void *tile,
		  size_t stride, const void *next)
{
	const REAL *from[SUMS_MR], *ahead = next;
	const NAME(elem) *line = b;
	NAME(vec) acc[SUMS_MR][SUMS_VECTORS];
#if SUMS_HALF
	NAME(half) rest[SUMS_MR];
#endif

	UNROLL
	for (size_t i = 0; i < SUMS_MR; i++) {
		from[i] = (const REAL *)a + row[i];
		UNROLL
		for (size_t v = 0; v < SUMS_VECTORS; v++)
			acc[i][v] = (NAME(vec)){ 0 };
#if SUMS_HALF
		rest[i] = (NAME(half)){ 0 };
#endif
	}
	for (size_t p = 0; p < k; p++, line += SUMS_NR) {
		const NAME(vec_c) *whole = (const NAME(vec_c) *)line;
		int64_t at = col[p];

		/* A line has a step for each row. */
		__builtin_prefetch(ahead + row[p % SUMS_MR] + at, 0, 2);
		UNROLL
		for (size_t i = 0; i < SUMS_MR; i++) {
			REAL x = from[i][at];

			UNROLL
			for (size_t v = 0; v < SUMS_VECTORS; v++)
				acc[i][v] += x * whole[v];
#if SUMS_HALF
			rest[i] += x * *(const NAME(half) *)
				(line + SUMS_VECTORS * LANES);
#endif
		}
	}
	for (size_t i = 0; i < SUMS_MR; i++) {
		NAME(vec_c) *to = (NAME(vec_c) *)((REAL *)tile + i * stride);

		UNROLL
		for (size_t v = 0; v < SUMS_VECTORS; v++)
			to[v] = acc[i][v];
#if SUMS_HALF
		*(NAME(half) *)(to + SUMS_VECTORS) = rest[i];
#endif
	}
}

#define TURN(x)	PASTE(NAME(x), VECTOR_BYTES)

/* turned[x][i] = from[i * stride + x] for a vector each of i and x */
INLINE void
NAME(turn_square)(const REAL *from, size_t stride, REAL *turned)
{
	TURN(vec) r[LANES];

	UNROLL
	for (size_t i = 0; i < LANES; i++)
		r[i] = *(const TURN(vec) *)(from + i * stride);
	TURN(transpose)(r);
	UNROLL
	for (size_t x = 0; x < LANES; x++)
		*(TURN(vec) *)(turned + x * LANES) = r[x];
}

#undef TURN

/* What is left of a line beyond its last whole vector. */
INLINE void
NAME(update_rest)(size_t rows, const REAL *from, size_t stride, REAL *c,
		  enum kernel_update update, REAL beta)
{
	for (size_t i = 0; i < rows; i++) {
		REAL value = from[i * stride];

		if (update == KERNEL_ADD)
			value = value + c[i];
		else if (update == KERNEL_SCALE)
			value = value + beta * c[i];
		c[i] = value;
	}
}

/*
 * Of so many vectors, `step` apart, those of whole lines go past the caches;
 * returns how many.
 */
INLINE size_t
NAME(stream_lines)(size_t whole, const REAL *from, size_t step, REAL *to)
{
	size_t v = 0;

#ifdef STREAM_VECTOR
	const size_t line = CACHE_LINE / VECTOR_BYTES;

	if ((uintptr_t)to % CACHE_LINE == 0)
		for (; v < whole / line * line; v++)
			STREAM_VECTOR(to + v * LANES, (NAME(vec))
				*(const NAME(vec_c) *)(from + v * step));
#else
	(void)whole;
	(void)from;
	(void)step;
	(void)to;
#endif
	return v;
}

/* Vectors of C's neighbours that are written at once: see narrow.h. */
#define TURNED	(NARROW_LINES * CACHE_LINE / VECTOR_BYTES)

INLINE void
NAME(update_turned)(size_t rows, const REAL *from, size_t stride,
		    size_t first, size_t last, REAL *c, const int64_t *off,
		    enum kernel_update update, REAL beta)
{
	REAL turned[TURNED * LANES * LANES]
		__attribute__((aligned(VECTOR_BYTES)));
	size_t whole = rows / LANES, rest = rows % LANES;

	for (size_t v = 0; v < whole; v++)
		NAME(turn_square)(from + v * LANES * stride, stride,
				  turned + v * LANES * LANES);
	for (size_t x = first; x < last; x++) {
		REAL *to = c + off[x];
		size_t v = 0;

		if (update == KERNEL_STREAM)
			v = NAME(stream_lines)(whole, turned + x * LANES,
					       LANES * LANES, to);
		for (; v < whole; v++)
			NAME(update_whole)(to + v * LANES,
					   turned + (v * LANES + x) * LANES,
					   update, beta);
		NAME(update_rest)(rest, from + whole * LANES * stride + x,
				  stride, to + whole * LANES, update, beta);
	}
}

#undef TURNED

static void
NAME(narrow_turn)(size_t rows, const void *tile, size_t stride, size_t first,
		  size_t last, void *c, const int64_t *off,
		  enum kernel_update update, double beta)
{
	switch (update) {
	case KERNEL_SET:
		NAME(update_turned)(rows, tile, stride, first, last, c, off,
				    KERNEL_SET, 0);
		break;
	case KERNEL_STREAM:
		NAME(update_turned)(rows, tile, stride, first, last, c, off,
				    KERNEL_STREAM, 0);
		break;
	case KERNEL_ADD:
		NAME(update_turned)(rows, tile, stride, first, last, c, off,
				    KERNEL_ADD, 0);
		break;
	case KERNEL_SCALE:
		NAME(update_turned)(rows, tile, stride, first, last, c, off,
				    KERNEL_SCALE, (REAL)beta);
		break;
	}
}

INLINE void
NAME(update_rows)(size_t rows, size_t length, const REAL *from, size_t stride,
		  REAL *c, const int64_t *off, enum kernel_update update,
		  REAL beta)
{
	size_t whole = length / LANES, rest = length % LANES;

	for (size_t i = 0; i < rows; i++, from += stride) {
		REAL *to = c + off[i];
		size_t v = 0;

		if (update == KERNEL_STREAM)
			v = NAME(stream_lines)(whole, from, LANES, to);
		for (; v < whole; v++)
			NAME(update_whole)(to + v * LANES, from + v * LANES,
					   update, beta);
		NAME(update_rest)(rest, from + whole * LANES, 1,
				  to + whole * LANES, update, beta);
	}
}

static void
NAME(narrow_copy)(size_t rows, size_t length, const void *tile, size_t stride,
		  void *c, const int64_t *off, enum kernel_update update,
		  double beta)
{
	switch (update) {
	case KERNEL_SET:
		NAME(update_rows)(rows, length, tile, stride, c, off,
				  KERNEL_SET, 0);
		break;
	case KERNEL_STREAM:
		NAME(update_rows)(rows, length, tile, stride, c, off,
				  KERNEL_STREAM, 0);
		break;
	case KERNEL_ADD:
		NAME(update_rows)(rows, length, tile, stride, c, off,
				  KERNEL_ADD, 0);
		break;
	case KERNEL_SCALE:
		NAME(update_rows)(rows, length, tile, stride, c, off,
				  KERNEL_SCALE, (REAL)beta);
		break;
	}
}

static void
NAME(pack_for_rows)(size_t rows, size_t cols, const void *src,
		    const int64_t *row, const int64_t *col, size_t period,
		    void *dst)
{
	NAME(pack)(ROWS_NR, rows, cols, src, row, col, period, dst);
}

static void
NAME(pack_for_sums)(size_t rows, size_t cols, const void *src,
		    const int64_t *row, const int64_t *col, size_t period,
		    void *dst)
{
	NAME(pack)(SUMS_NR, rows, cols, src, row, col, period, dst);
}

enum {
	NAME(lanes) = LANES,
	NAME(line) = CACHE_LINE / REAL_BYTES,
	NAME(rows_mr) = ROWS_VECTORS * LANES,
	NAME(rows_nr) = ROWS_NR,
	NAME(sums_mr) = SUMS_MR,
	NAME(sums_nr) = SUMS_NR
};

#undef SUMS_HALF
#undef SUMS_VECTORS
