/* SPDX-License-Identifier: MIT */
/*
 * The part of kernel_template.h for products that lie side by side (see
 * side.h); that file includes this one, and has the macros.  A tile of
 * products is in registers, one of each in a lane.
 */
#define SIDE_ROWS	4
/* 16 accumulators want 32 registers. */
#define SIDE_COLS	(VECTOR_BYTES == 64 ? 4 : 2)

enum {
	NAME(side_rows) = SIDE_ROWS,
	NAME(side_cols) = SIDE_COLS
};

/* Where rows or columns of a tile begin; what it has not is the first one. */
INLINE void
NAME(side_places)(const REAL *first, size_t count, int64_t step,
		  const REAL **place, size_t most)
{
	UNROLL
	for (size_t i = 0; i < most; i++)
		place[i] = i < count ? first + (int64_t)i * step : first;
}

/* A vector of each product of the tile. */
INLINE void
NAME(side_vector)(const struct kernel_side *side, const REAL *const *row,
		  const REAL *const *col, size_t at, REAL *c)
{
	NAME(vec) acc[SIDE_ROWS][SIDE_COLS];

	UNROLL
	for (size_t i = 0; i < SIDE_ROWS; i++)
		UNROLL
		for (size_t j = 0; j < SIDE_COLS; j++)
			acc[i][j] = (NAME(vec)){ 0 };
	for (size_t p = 0; p < side->k; p++) {
		int64_t in_a = side->col_a[p] + (int64_t)at;
		int64_t in_b = side->row_b[p] + (int64_t)at;
		NAME(vec) b[SIDE_COLS];

		UNROLL
		for (size_t j = 0; j < SIDE_COLS; j++)
			b[j] = *(const NAME(vec_c) *)(col[j] + in_b);
		UNROLL
		for (size_t i = 0; i < SIDE_ROWS; i++) {
			NAME(vec) a = *(const NAME(vec_c) *)(row[i] + in_a);

			UNROLL
			for (size_t j = 0; j < SIDE_COLS; j++)
				acc[i][j] += a * b[j];
		}
	}
	UNROLL
	for (size_t i = 0; i < SIDE_ROWS; i++)
		UNROLL
		for (size_t j = 0; j < SIDE_COLS; j++) {
			NAME(vec_c) *to = (NAME(vec_c) *)
				(c + (int64_t)i * side->row_c +
				 (int64_t)j * side->col_c + (int64_t)at);

			if (i >= side->rows || j >= side->cols)
				continue;
			acc[i][j] *= (REAL)side->alpha;
			if (side->beta != 0)
				acc[i][j] += (REAL)side->beta * *to;
			*to = acc[i][j];
		}
}

/* One product of the tile, in what is left beyond the vectors. */
INLINE void
NAME(side_rest)(const struct kernel_side *side, const REAL *a, const REAL *b,
		size_t at, size_t n, REAL *c)
{
	for (; at < n; at++) {
		REAL sum = 0;

		for (size_t p = 0; p < side->k; p++)
			sum += a[side->col_a[p] + (int64_t)at] *
			       b[side->row_b[p] + (int64_t)at];
		sum *= (REAL)side->alpha;
		if (side->beta != 0)
			sum += (REAL)side->beta * c[at];
		c[at] = sum;
	}
}

static void
NAME(side)(size_t n, const struct kernel_side *side, const void *a,
	   const void *b, void *c)
{
	const REAL *row[SIDE_ROWS], *col[SIDE_COLS];
	size_t at = 0;

	NAME(side_places)(a, side->rows, side->row_a, row, SIDE_ROWS);
	NAME(side_places)(b, side->cols, side->col_b, col, SIDE_COLS);
	for (; at + LANES <= n; at += LANES)
		NAME(side_vector)(side, row, col, at, c);
	if (at == n)
		return;
	for (size_t i = 0; i < side->rows; i++)
		for (size_t j = 0; j < side->cols; j++)
			NAME(side_rest)(side, row[i], col[j], at, n,
					(REAL *)c + (int64_t)i * side->row_c +
					(int64_t)j * side->col_c);
}

#undef SIDE_ROWS
#undef SIDE_COLS
