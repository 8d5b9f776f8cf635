/* SPDX-License-Identifier: MIT */
/*
 * One body of packing, for any instruction set and real type; what it does is
 * in pack.h.  No include guard: it is included once per real type, with REAL,
 * SUFFIX and VECTOR_BYTES as kernel_template.h has them, and leaves them.  It
 * makes pack_SUFFIX, a pack_a or pack_b for any width of panel.
 *
 * Offsets are arbitrary, so which way is fast must be seen in the offsets
 * themselves.  They are looked at piece by piece, since a fused label's runs
 * seldom fit the panels.  Of each panel's rows
 *
 *  1. runs of rows without gaps are copied in vectors, column by column
 *     (PACK_PATH_COPY);
 *  2. of other rows, blocks whose columns lie without gaps are transposed in
 *     registers (PACK_PATH_TURN);
 *  3. rows for which the `period` given holds are transposed across panels
 *     (PACK_PATH_STEPS; _SPLIT where a panel ends amid a vector);
 *  4. the rest goes one by one (PACK_PATH_PLAIN).
 *
 * A piece is as wide as the widest vector that it can fill; at the end of a
 * run, the last piece goes back to overlap the one before it.  Columns are
 * taken in chunks, so that what is written stays in the nearest cache while
 * several pieces fill its lines.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

#ifndef PACK_TEMPLATE_ONCE
#define PACK_TEMPLATE_ONCE

#ifndef UNROLL
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif
#define INLINE static inline __attribute__((always_inline))
#define PASTE_(x, suffix)	x##_##suffix
#define PASTE(x, suffix)	PASTE_(x, suffix)
#endif

/* sizeof, for the preprocessor. */
#define REAL_BYTES_float	4
#define REAL_BYTES_double	8
enum pack_path {
	PACK_PATH_COPY,
	PACK_PATH_TURN,
	PACK_PATH_STEPS,
	PACK_PATH_SPLIT,
	PACK_PATH_PLAIN
};

/* Tests count the elements that take each path. */
#ifndef PACK_COUNT
#define PACK_COUNT(path, elements)	((void)0)
#endif

enum {
	PACK_CHUNK = 128,	/* columns; fits in a byte */
	/*
	 * Columns that push each other out of every cache, as they lie a
	 * multiple of its ways' size apart: so few that all bands of them can
	 * read their lines in one go (19.7 to 13.8 GFLOP/s, abcde-ecbfa-fd).
	 */
	PACK_CROWDED = 4,
	PACK_WAY = 4096,	/* bytes */
	PACK_LINE = 64,		/* bytes */
	PACK_AHEAD = 128,	/* bytes of a column, from a copy to a prefetch */
	PACK_BLOCK = 8		/* columns that go one by one, at once */
};

/* to - from, without overflow: SIZE_MAX and the like for what is no step. */
INLINE size_t
pack_gap(int64_t from, int64_t to)
{
	return (size_t)((uint64_t)to - (uint64_t)from);
}

/* The length of the run, of n offsets, that begins at the first. */
static inline size_t
pack_run(const int64_t *offset, size_t n)
{
	size_t i = 1;

	while (i < n && pack_gap(offset[i - 1], offset[i]) == 1)
		i++;
	return i;
}

/* Whether lines so many bytes apart fall into the same few sets. */
static inline bool
pack_crowds(size_t bytes)
{
	return bytes && bytes % PACK_WAY == 0;
}

/* Whether a's first step is shorter than b's. */
static inline bool
pack_nearer(const int64_t *a, const int64_t *b)
{
	size_t gap_a = pack_gap(a[0], a[1]), gap_b = pack_gap(b[0], b[1]);

	return size_min(gap_a, -gap_a) < size_min(gap_b, -gap_b);
}

#endif

#ifndef NAME
#define NAME(x)	PASTE(x, SUFFIX)
#endif
#define REAL_BYTES	PASTE(REAL_BYTES, REAL)

/*
 * Elements may be parts of complex numbers, or pairs of smaller ones: any
 * type, at the alignment of the smallest.
 */
typedef REAL NAME(elem) __attribute__((aligned(4), may_alias));
typedef REAL NAME(short)
	__attribute__((vector_size(16), aligned(4), may_alias));

/* A chunk of columns. */
struct NAME(job) {
	size_t width;
	size_t depth;			/* columns of a whole panel */
	size_t period;
	const NAME(elem) *src;
	const int64_t *row, *col;
	const int64_t *row_end;
	size_t cols;			/* of the chunk */
	NAME(elem) *dst;		/* its first column in panel 0 */
	size_t longest;			/* of all run[] */
	uint8_t run[PACK_CHUNK];	/* of columns, from this one on */
};

/* The place of a row's element in the first column of the chunk. */
INLINE NAME(elem) *
NAME(place)(const struct NAME(job) *job, size_t row)
{
	size_t lane = row % job->width;

	return job->dst + (row - lane) * job->depth + lane;
}

/*
 * The offset of the row `step` further on, if there are as many as `lanes`
 * from there, or of this one: what to prefetch.
 */
INLINE const int64_t *
NAME(ahead)(const struct NAME(job) *job, const int64_t *row, size_t step,
	    size_t lanes)
{
	return (size_t)(job->row_end - row) >= step + lanes ? row + step : row;
}

/* To the second cache: a panel's chunk ahead would crowd the first. */
INLINE void
NAME(prefetch_near)(const NAME(elem) *src, int64_t offset)
{
	/* It may be no element at all. */
	uintptr_t at = (uintptr_t)src + (uintptr_t)offset * sizeof(*src);

	__builtin_prefetch((const void *)at, 0, 2);
}

/* Path 4, along rows: a column after the other. */
static void
NAME(plain_rows)(const struct NAME(job) *job, NAME(elem) *to,
		 const int64_t *row, size_t lanes, size_t p, size_t cols)
{
	const NAME(elem) *src = job->src;

	for (size_t q = p; q < p + cols; q++) {
		NAME(elem) *lane = to + q * job->width;
		int64_t col = job->col[q];

		for (size_t i = 0; i < lanes; i++)
			lane[i] = src[row[i] + col];
	}
}

/* Path 4, along columns. */
static void
NAME(plain_cols)(const struct NAME(job) *job, NAME(elem) *to,
		 const int64_t *row, size_t lanes, size_t p, size_t cols)
{
	const NAME(elem) *src = job->src;
	const int64_t *col = job->col + p;
	size_t width = job->width;

	to += p * width;
	for (size_t i = 0; i < lanes; i++) {
		int64_t from = row[i];

		for (size_t q = 0; q < cols; q++)
			to[q * width + i] = src[from + col[q]];
	}
}

/* Columns [p, p + cols) of `lanes` rows, nearer elements first. */
static void
NAME(plain)(const struct NAME(job) *job, NAME(elem) *to, const int64_t *row,
	    size_t lanes, size_t p, size_t cols)
{
	PACK_COUNT(PACK_PATH_PLAIN, lanes * cols);
	if (lanes > 1 && cols > 1 && pack_nearer(row, job->col + p)) {
		NAME(plain_rows)(job, to, row, lanes, p, cols);
		return;
	}
	/* A few columns at a time, whose lines in the panel stay open. */
	for (size_t n; cols; p += n, cols -= n) {
		n = size_min(cols, PACK_BLOCK);
		NAME(plain_cols)(job, to, row, lanes, p, n);
	}
}

/* Lanes of a vector in memory: fewer than the vector has, mostly. */
INLINE void
NAME(move)(NAME(elem) *to, const NAME(elem) *lane, size_t n)
{
	const size_t pair = 16 / REAL_BYTES;

	for (; n >= pair; n -= pair, to += pair, lane += pair)
		*(NAME(short) *)to = *(const NAME(short) *)lane;
	for (size_t i = 0; i < n; i++)
		to[i] = lane[i];
}

#define PACK_BYTES 16
#include "contract/pack_lanes.h"
#undef PACK_BYTES
#if VECTOR_BYTES >= 32
#define PACK_BYTES 32
#include "contract/pack_lanes.h"
#undef PACK_BYTES
#endif
#if VECTOR_BYTES >= 64
#define PACK_BYTES 64
#include "contract/pack_lanes.h"
#undef PACK_BYTES
#endif

/* By the width of a vector: 16, 32 and 64 bytes. */
static const struct NAME(class) {
	size_t lanes;
	void (*copy)(const struct NAME(job) *job, NAME(elem) *to,
		     const int64_t *row, size_t rows);
	void (*turn)(const struct NAME(job) *job, NAME(elem) *to,
		     const int64_t *row);
	bool (*band)(const struct NAME(job) *job, size_t first);
} NAME(classes)[] = {
#define PACK_CLASS(bytes)						\
	{ (bytes) / REAL_BYTES, PASTE(NAME(copy), bytes),		\
	  PASTE(NAME(turn), bytes), PASTE(NAME(band), bytes) }
	PACK_CLASS(16),
#if VECTOR_BYTES >= 32
	PACK_CLASS(32),
#endif
#if VECTOR_BYTES >= 64
	PACK_CLASS(64),
#endif
#undef PACK_CLASS
};

/* The class of the widest vector that n elements fill; below 0: none. */
INLINE int
NAME(class)(size_t n)
{
	int class = (int)(sizeof(NAME(classes)) / sizeof(NAME(classes)[0]));

	while (class-- && NAME(classes)[class].lanes > n)
		continue;
	return class;
}

/* Rows of a panel that do not follow one another. */
static void
NAME(pack_loose)(const struct NAME(job) *job, NAME(elem) *to,
		 const int64_t *row, size_t rows)
{
	int class = NAME(class)(size_min(rows, job->longest));
	size_t lanes;

	if (!rows)
		return;
	if (class < 0) {
		NAME(plain)(job, to, row, rows, 0, job->cols);
		return;
	}
	lanes = NAME(classes)[class].lanes;
	for (size_t i = 0; i < rows; i += lanes) {
		size_t first = size_min(i, rows - lanes);

		NAME(classes)[class].turn(job, to + first, row + first);
	}
}

/* Rows [first, last), all of one panel. */
static void
NAME(pack_panel)(const struct NAME(job) *job, size_t first, size_t last)
{
	const int64_t *row = job->row + first;
	NAME(elem) *to = NAME(place)(job, first);
	size_t run, loose = 0, n = last - first;

	for (size_t i = 0; i < n; i += run) {
		int class = NAME(class)(run = pack_run(row + i, n - i));

		if (class < 0)
			continue;
		NAME(pack_loose)(job, to + loose, row + loose, i - loose);
		NAME(classes)[class].copy(job, to + i, row + i, run);
		loose = i + run;
	}
	NAME(pack_loose)(job, to + loose, row + loose, n - loose);
}

/* Rows [first, last), panel by panel. */
static void
NAME(pack_rows)(const struct NAME(job) *job, size_t first, size_t last)
{
	while (first < last) {
		size_t end = first - first % job->width + job->width;

		end = size_min(end, last);
		NAME(pack_panel)(job, first, end);
		first = end;
	}
}

/* Bands of as many periods as a vector has lanes; returns rows done. */
static size_t
NAME(pack_bands)(const struct NAME(job) *job, size_t rows)
{
	size_t period = job->period;
	size_t lanes, periods = period ? rows / period : 0;
	int class = NAME(class)(size_min(size_min(period, periods),
					 job->width));

	if (class < 0)
		return 0;
	lanes = NAME(classes)[class].lanes;
	for (size_t t = 0; t < periods; t += lanes) {
		size_t first = size_min(t, periods - lanes) * period;

		if (!NAME(classes)[class].band(job, first))
			NAME(pack_rows)(job, t * period,
					first + lanes * period);
	}
	return periods * period;
}

/* The last panel's lanes beyond its rows. */
static void
NAME(pack_zeroes)(const struct NAME(job) *job, size_t rows)
{
	size_t lane = rows % job->width;
	NAME(elem) *to = job->dst + (rows - lane) * job->depth;

	if (!lane)
		return;
	for (size_t p = 0; p < job->cols; p++, to += job->width)
		for (size_t i = lane; i < job->width; i++)
			to[i] = 0;
}

static void
NAME(pack_chunk)(struct NAME(job) *job, size_t rows)
{
	job->longest = 0;
	for (size_t p = job->cols, run = 0; p--;) {
		if (p + 1 < job->cols &&
		    pack_gap(job->col[p], job->col[p + 1]) != 1)
			run = 0;
		job->run[p] = (uint8_t)++run;
		job->longest = size_max(job->longest, run);
	}
	NAME(pack_rows)(job, NAME(pack_bands)(job, rows), rows);
	NAME(pack_zeroes)(job, rows);
}

static void
NAME(pack)(size_t width, size_t rows, size_t cols, const void *src,
	   const int64_t *row, const int64_t *col, size_t period, void *dst)
{
	struct NAME(job) job = {
		.width = width,
		.depth = cols,
		.period = period,
		.src = src,
		.row = row,
		.row_end = row + rows
	};
	size_t chunk = period && cols > 1 &&
		       pack_crowds(pack_gap(col[0], col[1]) * REAL_BYTES) ?
		       PACK_CROWDED : PACK_CHUNK;

	for (size_t p = 0; p < cols; p += job.cols) {
		job.col = col + p;
		job.cols = size_min(cols - p, chunk);
		job.dst = (NAME(elem) *)dst + p * width;
		NAME(pack_chunk)(&job, rows);
	}
}

/* What a kernel needs: see kernel.h. */
#ifdef MR
static void
NAME(pack_a)(size_t rows, size_t cols, const void *src, const int64_t *row,
	     const int64_t *col, size_t period, void *dst)
{
	NAME(pack)(MR, rows, cols, src, row, col, period, dst);
}

static void
NAME(pack_b)(size_t rows, size_t cols, const void *src, const int64_t *row,
	     const int64_t *col, size_t period, void *dst)
{
	NAME(pack)(NR, rows, cols, src, row, col, period, dst);
}
#endif

#undef REAL_BYTES
