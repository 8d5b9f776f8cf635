/* SPDX-License-Identifier: MIT */
/*
 * The part of kernel_template.h for products of few columns, which read A
 * where it lies (see narrow.h); that file includes this one, and has the
 * macros, two more of which are
 *
 *   NARROW_NR		columns of such a product: whole vectors of them, but
 *			for half of one
 *   NARROW_ROWS	rows that narrow_sums() takes at once: as many as leave
 *			their accumulators in registers
 */
#define NARROW_VECTORS	(NARROW_NR * REAL_BYTES / VECTOR_BYTES)
#define NARROW_HALF	(NARROW_NR * REAL_BYTES % VECTOR_BYTES != 0)

#if NARROW_HALF
typedef REAL NAME(half)
	__attribute__((vector_size(VECTOR_BYTES / 2), may_alias));
_Static_assert(NARROW_NR == NARROW_VECTORS * LANES + LANES / 2,
	       "columns are whole vectors and a half");
#else
_Static_assert(NARROW_NR == NARROW_VECTORS * LANES,
	       "columns are whole vectors");
#endif

/* A vector of rows, that many columns: an accumulator for each column. */
static void
NAME(narrow_rows)(size_t k, const void *a, const int64_t *col, const void *b,
		  void *tile, const void *next)
{
	const REAL *rows = a, *row = b, *ahead = next;
	NAME(vec) acc[NARROW_NR], *to = tile;

	UNROLL
	for (size_t j = 0; j < NARROW_NR; j++)
		acc[j] = (NAME(vec)){ 0 };
	for (size_t p = 0; p < k; p++, row += NARROW_NR) {
		NAME(vec) column = *(const NAME(vec_c) *)(rows + col[p]);

		__builtin_prefetch(ahead + col[p], 0, 2);
		UNROLL
		for (size_t j = 0; j < NARROW_NR; j++)
			acc[j] += column * row[j];
	}
	UNROLL
	for (size_t j = 0; j < NARROW_NR; j++)
		to[j] = acc[j];
}

/* Some rows, whose elements go one by one; columns are in vectors. */
static void
NAME(narrow_sums)(size_t k, const void *a, const int64_t *row,
		  const int64_t *col, const void *b, void *tile,
		  size_t stride)
{
	const REAL *from[NARROW_ROWS];
	const NAME(elem) *line = b;
	NAME(vec) acc[NARROW_ROWS][NARROW_VECTORS];
#if NARROW_HALF
	NAME(half) rest[NARROW_ROWS];
#endif

	UNROLL
	for (size_t i = 0; i < NARROW_ROWS; i++) {
		from[i] = (const REAL *)a + row[i];
		UNROLL
		for (size_t v = 0; v < NARROW_VECTORS; v++)
			acc[i][v] = (NAME(vec)){ 0 };
#if NARROW_HALF
		rest[i] = (NAME(half)){ 0 };
#endif
	}
	for (size_t p = 0; p < k; p++, line += NARROW_NR) {
		const NAME(vec_c) *whole = (const NAME(vec_c) *)line;
		int64_t at = col[p];

		UNROLL
		for (size_t i = 0; i < NARROW_ROWS; i++) {
			REAL x = from[i][at];

			UNROLL
			for (size_t v = 0; v < NARROW_VECTORS; v++)
				acc[i][v] += x * whole[v];
#if NARROW_HALF
			rest[i] += x * *(const NAME(half) *)
				(line + NARROW_VECTORS * LANES);
#endif
		}
	}
	for (size_t i = 0; i < NARROW_ROWS; i++) {
		NAME(vec_c) *to = (NAME(vec_c) *)((REAL *)tile + i * stride);

		UNROLL
		for (size_t v = 0; v < NARROW_VECTORS; v++)
			to[v] = acc[i][v];
#if NARROW_HALF
		*(NAME(half) *)(to + NARROW_VECTORS) = rest[i];
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

/* Vectors of C's neighbours that are written at once: see narrow.h. */
#define TURNED	(NARROW_LINES * CACHE_LINE / VECTOR_BYTES)

/* Those of whole lines, past the caches; returns how many. */
INLINE size_t
NAME(stream_turned)(size_t whole, const REAL *turned, REAL *to)
{
	size_t v = 0;

#ifdef STREAM_VECTOR
	const size_t line = CACHE_LINE / VECTOR_BYTES;

	if ((uintptr_t)to % CACHE_LINE == 0)
		for (; v < whole / line * line; v++)
			STREAM_VECTOR(to + v * LANES,
				*(const NAME(vec) *)(turned +
						     v * LANES * LANES));
#else
	(void)whole;
	(void)turned;
	(void)to;
#endif
	return v;
}

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
			v = NAME(stream_turned)(whole, turned + x * LANES,
						to);
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

static void
NAME(pack_narrow)(size_t rows, size_t cols, const void *src,
		  const int64_t *row, const int64_t *col, size_t period,
		  void *dst)
{
	NAME(pack)(NARROW_NR, rows, cols, src, row, col, period, dst);
}

enum {
	NAME(narrow_nr) = NARROW_NR,
	NAME(narrow_group) = NARROW_ROWS,
	NAME(lanes) = LANES,
	NAME(line) = CACHE_LINE / REAL_BYTES
};

#undef NARROW_HALF
#undef NARROW_VECTORS
