/* SPDX-License-Identifier: MIT */
/*
 * The part of kernel_template.h that takes a tile in memory to any place of
 * C; that file includes this one, and has the macros.
 *
 * A tile is a number of lines, its columns or its rows.  C's offsets along a
 * line are the same for all lines, so the runs in it (offsets that follow one
 * another without gaps) are found once per tile, and cut in pieces: whole
 * vectors, parts of vectors, and single elements.  A part is what a mask
 * leaves of a vector where there are masks, otherwise half a vector.  Lines
 * are columns or rows, whichever makes fewer pieces; for rows the tile is
 * transposed first.
 */

#ifndef SCATTER_TEMPLATE_ONCE
#define SCATTER_TEMPLATE_ONCE

enum { SCATTER_LINE_MAX = 64 };

enum scatter_class {
	SCATTER_WHOLE,
	SCATTER_PART,
	SCATTER_ONE,
	SCATTER_CLASSES
};

/* Where in a line the pieces begin, by their class. */
struct scatter_pieces {
	size_t n[SCATTER_CLASSES];
	uint8_t begin[SCATTER_CLASSES][SCATTER_LINE_MAX];
	uint16_t mask[SCATTER_LINE_MAX];	/* of the parts */
};

/*
 * A tile as lines: element (l, i) is at from[l * stride + i], and in C at
 * line[l] + along[i].
 */
struct scatter_job {
	size_t lines;
	const void *from;
	size_t stride;
	const int64_t *line, *along;
	const struct scatter_pieces *pieces;
};

/* How many runs there are in offset[0..n), at least 1. */
static inline size_t
scatter_runs(size_t n, const int64_t *offset)
{
	size_t runs = 1;

	for (size_t i = 1; i < n; i++)
		runs += pack_gap(offset[i - 1], offset[i]) != 1;
	return runs;
}

#endif

_Static_assert(MR <= SCATTER_LINE_MAX && NR <= SCATTER_LINE_MAX,
	       "a line of the tile has too many elements");

#if defined(LOAD_MASKED)
#define PART_LANES	2	/* at least, and at most what a mask leaves */
#define PART_MASK	1
#elif VECTOR_BYTES >= 32
#define PART_LANES	(LANES / 2)
#define PART_MASK	0
typedef REAL NAME(half_c)
	__attribute__((vector_size(VECTOR_BYTES / 2), aligned(sizeof(REAL)),
		       may_alias));
#endif

/* Cuts the runs, so many, of offset[0..n) in pieces. */
static void
NAME(cut)(size_t n, const int64_t *offset, size_t runs,
	  struct scatter_pieces *pieces)
{
	size_t whole = 0, part = 0, one = 0;

	for (size_t i = 0; i < n;) {
		size_t end = --runs ? i + pack_run(offset + i, n - i) : n;

		for (; i + LANES <= end; i += LANES)
			pieces->begin[SCATTER_WHOLE][whole++] = (uint8_t)i;
#ifdef PART_LANES
		if (i + PART_LANES <= end) {
			size_t length = PART_MASK ? end - i : PART_LANES;

			pieces->mask[part] = (uint16_t)((1u << length) - 1);
			pieces->begin[SCATTER_PART][part++] = (uint8_t)i;
			i += length;
		}
#endif
		for (; i < end; i++)
			pieces->begin[SCATTER_ONE][one++] = (uint8_t)i;
	}
	pieces->n[SCATTER_WHOLE] = whole;
	pieces->n[SCATTER_PART] = part;
	pieces->n[SCATTER_ONE] = one;
}

/* The tile's element or vector with what C has; reads c if need be. */
#define UPDATE(tile, c)							\
	do {								\
		if (update == KERNEL_ADD)				\
			tile = tile + (c);				\
		else if (update == KERNEL_SCALE)			\
			tile = tile + beta * (c);			\
	} while (0)

/* Past the caches if a vector is a whole line. */
INLINE void
NAME(update_whole)(REAL *c, const REAL *from, enum kernel_update update,
		   REAL beta)
{
	NAME(vec_c) *to = (NAME(vec_c) *)c;
	NAME(vec_c) tile = *(const NAME(vec_c) *)from;

#ifdef STREAM_VECTOR
	if (update == KERNEL_STREAM && VECTOR_BYTES == CACHE_LINE &&
	    (uintptr_t)to % CACHE_LINE == 0) {
		STREAM_VECTOR(to, tile);
		return;
	}
#endif
	UPDATE(tile, *to);
	*to = tile;
}

#ifdef PART_LANES
INLINE void
NAME(update_part)(REAL *c, const REAL *from, unsigned mask,
		  enum kernel_update update, REAL beta)
{
#ifdef LOAD_MASKED
	NAME(vec) tile = LOAD_MASKED(mask, from);

	UPDATE(tile, LOAD_MASKED(mask, c));
	STORE_MASKED(c, mask, tile);
#else
	NAME(half_c) *to = (NAME(half_c) *)c;
	NAME(half_c) tile = *(const NAME(half_c) *)from;

	(void)mask;
	UPDATE(tile, *to);
	*to = tile;
#endif
}
#endif

INLINE void
NAME(update_line)(const struct scatter_pieces *pieces, const REAL *from,
		  REAL *c, int64_t line, const int64_t *along,
		  enum kernel_update update, REAL beta)
{
	for (size_t p = 0; p < pieces->n[SCATTER_WHOLE]; p++) {
		size_t i = pieces->begin[SCATTER_WHOLE][p];

		NAME(update_whole)(c + (line + along[i]), from + i, update,
				   beta);
	}
#ifdef PART_LANES
	for (size_t p = 0; p < pieces->n[SCATTER_PART]; p++) {
		size_t i = pieces->begin[SCATTER_PART][p];

		NAME(update_part)(c + (line + along[i]), from + i,
				  pieces->mask[p], update, beta);
	}
#endif
	for (size_t p = 0; p < pieces->n[SCATTER_ONE]; p++) {
		size_t i = pieces->begin[SCATTER_ONE][p];
		REAL *to = c + (line + along[i]);
		REAL tile = from[i];

		UPDATE(tile, *to);
		*to = tile;
	}
}

#undef UPDATE
#undef PART_LANES
#undef PART_MASK

INLINE void
NAME(update_lines)(const struct scatter_job *job, REAL *c,
		   enum kernel_update update, REAL beta)
{
	const REAL *from = job->from;

	for (size_t l = 0; l < job->lines; l++, from += job->stride)
		NAME(update_line)(job->pieces, from, c, job->line[l],
				  job->along, update, beta);
}

static void
NAME(scatter_lines)(const struct scatter_job *job, REAL *c,
		    enum kernel_update update, REAL beta)
{
	switch (update) {
	case KERNEL_SET:
		NAME(update_lines)(job, c, KERNEL_SET, 0);
		break;
	case KERNEL_STREAM:
		NAME(update_lines)(job, c, KERNEL_STREAM, 0);
		break;
	case KERNEL_ADD:
		NAME(update_lines)(job, c, KERNEL_ADD, 0);
		break;
	case KERNEL_SCALE:
		NAME(update_lines)(job, c, KERNEL_SCALE, beta);
		break;
	}
}

/* The widest vector that a row of the tile fills. */
#if NR >= 8 && VECTOR_BYTES >= 8 * REAL_BYTES
#define TURN_LANES	8
#elif NR >= 4 && VECTOR_BYTES >= 4 * REAL_BYTES
#define TURN_LANES	4
#else
#define TURN_LANES	2
#endif
#if TURN_LANES * REAL_BYTES == 64
#define TURN(x)	PASTE(NAME(x), 64)
#elif TURN_LANES * REAL_BYTES == 32
#define TURN(x)	PASTE(NAME(x), 32)
#else
#define TURN(x)	PASTE(NAME(x), 16)
#endif

/* turned[i * nr + j] = tile[j * mr + i] for the first m rows, and some more */
static void
NAME(turn)(size_t m, const REAL *tile, REAL *turned)
{
	for (size_t i = 0; i < m; i += TURN_LANES)
		UNROLL
		for (size_t j = 0; j < NR; j += TURN_LANES) {
			/* The last block may overlap the one before. */
			size_t first = size_min(j, NR - TURN_LANES);
			TURN(vec) r[TURN_LANES];

			UNROLL
			for (size_t l = 0; l < TURN_LANES; l++)
				r[l] = *(const TURN(vec) *)
					(tile + (first + l) * MR + i);
			TURN(transpose)(r);
			UNROLL
			for (size_t l = 0; l < TURN_LANES; l++)
				*(TURN(vec) *)(turned + (i + l) * NR + first) =
					r[l];
		}
}

_Static_assert(MR % TURN_LANES == 0, "the tile is turned by the square");

#undef TURN
#undef TURN_LANES

/* Whether lines had better be rows, given the runs of both. */
static bool
NAME(by_rows)(size_t m, size_t n, const int64_t *row, const int64_t *col,
	      size_t row_runs, size_t col_runs)
{
	if (row_runs * n != col_runs * m)
		return row_runs * n > col_runs * m;
	return m > 1 && n > 1 && pack_nearer(col, row);
}

#ifdef STREAM_VECTOR
/*
 * The length of the runs of rows, if most columns go on where they end: the
 * columns of a run are then a few strips of C, else 0.  Runs that are no
 * multiple of a line are stored past the caches that way.
 */
static size_t
NAME(strip)(size_t m, size_t n, const int64_t *row, const int64_t *col)
{
	size_t run = pack_run(row, m), breaks = 0;

	if (m % run != 0)
		return 0;
	for (size_t j = 1; j < n; j++)
		breaks += pack_gap(col[j - 1], col[j]) != run;
	if (2 * breaks >= n)
		return 0;
	for (size_t i = run; i < m; i += run)
		if (pack_run(row + i, m - i) != run)
			return 0;
	return run;
}

/* Past the caches, but for parts of lines at both ends. */
static void
NAME(stream_strip)(REAL *c, const REAL *strip, size_t n)
{
	size_t skew = (uintptr_t)c % CACHE_LINE / sizeof(REAL);
	size_t line = CACHE_LINE / sizeof(REAL), i = 0;

	if (skew)
		for (; i < line - skew && i < n; i++)
			c[i] = strip[i];
	for (; i + line <= n; i += line)
		UNROLL
		for (size_t v = 0; v < line; v += LANES) {
			NAME(vec) part = *(const NAME(vec_c) *)(strip + i + v);

			STREAM_VECTOR(c + i + v, part);
		}
	for (; i < n; i++)
		c[i] = strip[i];
}

/*
 * Columns of `run` elements, one behind the other.  Whole vectors: what is too
 * much of one column is overwritten by the next, or is behind the strip.
 */
INLINE void
NAME(gather_strip)(const REAL *tile, size_t run, size_t n, REAL *strip)
{
	for (size_t j = 0; j + 1 < n; j++, tile += MR, strip += run)
		for (size_t i = 0; i < run; i += LANES)
			*(NAME(vec_c) *)(strip + i) =
				*(const NAME(vec_c) *)(tile + i);
	/* Behind the tile there may be nothing. */
	for (size_t i = 0; i < run; i++)
		strip[i] = tile[i];
}

static void
NAME(stream_strips)(size_t m, size_t n, const REAL *tile, REAL *c,
		    const int64_t *row, const int64_t *col, size_t run)
{
	REAL strip[NAME(mr) * NR + LANES] __attribute__((aligned(CACHE_LINE)));

	for (size_t j = 0, end; j < n; j = end) {
		end = j + 1;
		while (end < n && pack_gap(col[end - 1], col[end]) == run)
			end++;
		for (size_t i = 0; i < m; i += run) {
			NAME(gather_strip)(tile + j * MR + i, run, end - j,
					   strip);
			NAME(stream_strip)(c + (row[i] + col[j]), strip,
					   (end - j) * run);
		}
	}
}
#endif

/* By lines, columns or rows. */
static void
NAME(scatter_by_lines)(size_t m, size_t n, const REAL *tile, REAL *c,
		       const int64_t *row, const int64_t *col,
		       enum kernel_update update, REAL beta)
{
	REAL turned[NAME(mr) * NR] __attribute__((aligned(CACHE_LINE)));
	size_t row_runs = scatter_runs(m, row), col_runs = scatter_runs(n, col);
	struct scatter_pieces pieces;
	struct scatter_job job = {
		.lines = n, .from = tile, .stride = MR,
		.line = col, .along = row, .pieces = &pieces
	};

	if (NAME(by_rows)(m, n, row, col, row_runs, col_runs)) {
		NAME(turn)(m, tile, turned);
		job = (struct scatter_job){
			.lines = m, .from = turned, .stride = NR,
			.line = row, .along = col, .pieces = &pieces
		};
		NAME(cut)(n, col, col_runs, &pieces);
	} else {
		NAME(cut)(m, row, row_runs, &pieces);
	}
	NAME(scatter_lines)(&job, c, update, beta);
}

static void
NAME(scatter)(size_t m, size_t n, const void *tile, void *c,
	      const int64_t *row, const int64_t *col,
	      enum kernel_update update, double beta)
{
#ifdef STREAM_VECTOR
	/* A single column's runs are no longer for it. */
	if (update == KERNEL_STREAM && m && n > 1) {
		size_t run = NAME(strip)(m, n, row, col);

		if (run) {
			NAME(stream_strips)(m, n, tile, c, row, col, run);
			return;
		}
	}
#endif
	NAME(scatter_by_lines)(m, n, tile, c, row, col, update, (REAL)beta);
}
