/* SPDX-License-Identifier: MIT */
/*
 * The vector part of pack_template.h, which includes this file once for each
 * width of vector up to the widest, with PACK_BYTES set to 16, 32 or 64.
 */
#define LANES_		(PACK_BYTES / REAL_BYTES)
#define VNAME(x)	PASTE(NAME(x), PACK_BYTES)

/* Source elements keep the alignment of their type; a panel's need no more. */
typedef REAL VNAME(vec)
	__attribute__((vector_size(PACK_BYTES), aligned(4), may_alias));

INLINE VNAME(vec) *
VNAME(at)(NAME(elem) *p)
{
	return (VNAME(vec) *)p;
}

INLINE const VNAME(vec) *
VNAME(from)(const NAME(elem) *src, int64_t offset)
{
	return (const VNAME(vec) *)(src + offset);
}

/*
 * A transposition exchanges blocks of 1, 2, 4 .. elements about the diagonal,
 * a butterfly at each distance d.  Lane l of the upper vector, and of the
 * lower one, in terms of the two put one behind the other:
 */
#define UPPER(l, d)	((l) & (d) ? LANES_ + (l) - (d) : (l))
#define LOWER(l, d)	((l) & (d) ? LANES_ + (l) : (l) + (d))
#define LANES_2(f, d)	f(0, d), f(1, d)
#define LANES_4(f, d)	LANES_2(f, d), f(2, d), f(3, d)
#define LANES_8(f, d)	LANES_4(f, d), f(4, d), f(5, d), f(6, d), f(7, d)
#define LANES_16(f, d)	LANES_8(f, d), f(8, d), f(9, d), f(10, d),	\
			f(11, d), f(12, d), f(13, d), f(14, d), f(15, d)
#if LANES_ == 2
#define MASK(f, d)	LANES_2(f, d)
#elif LANES_ == 4
#define MASK(f, d)	LANES_4(f, d)
#elif LANES_ == 8
#define MASK(f, d)	LANES_8(f, d)
#else
#define MASK(f, d)	LANES_16(f, d)
#endif

#define BUTTERFLIES(r, d)						\
	UNROLL								\
	for (size_t i = 0; i < LANES_; i++) {				\
		VNAME(vec) upper, lower;				\
									\
		if (i & (d))						\
			continue;					\
		upper = r[i];						\
		lower = r[i + (d)];					\
		r[i] = __builtin_shufflevector(upper, lower,		\
					       MASK(UPPER, d));		\
		r[i + (d)] = __builtin_shufflevector(upper, lower,	\
						     MASK(LOWER, d));	\
	}

INLINE void
VNAME(transpose)(VNAME(vec) r[LANES_])
{
	BUTTERFLIES(r, 1)
#if LANES_ > 2
	BUTTERFLIES(r, 2)
#endif
#if LANES_ > 4
	BUTTERFLIES(r, 4)
#endif
#if LANES_ > 8
	BUTTERFLIES(r, 8)
#endif
}

/* Asks for a vector, at both of its ends: it may be on two lines. */
INLINE void
VNAME(prefetch)(const NAME(elem) *src, int64_t offset)
{
	NAME(prefetch_near)(src, offset);
	NAME(prefetch_near)(src, offset + LANES_ - 1);
}

/*
 * Of a run of rows, n vectors that fill some `rows` rows, the last one going
 * back if need be.  n is a constant at each call.
 */
INLINE void
VNAME(copy_line)(const struct NAME(job) *job, NAME(elem) *to,
		 const int64_t *row, size_t rows, size_t n)
{
	int64_t from = *row;
	int64_t ahead = *NAME(ahead)(job, row, PACK_AHEAD / REAL_BYTES, 1);
	const NAME(elem) *src = job->src;
	size_t cols = job->cols, width = job->width, last = rows - LANES_;

	for (size_t p = 0; p < cols; p++, to += width) {
		const NAME(elem) *column = src + (from + job->col[p]);

		VNAME(prefetch)(src, ahead + job->col[p]);
		UNROLL
		for (size_t k = 0; k + 1 < n; k++)
			*VNAME(at)(to + k * LANES_) =
				*VNAME(from)(column, (int64_t)(k * LANES_));
		*VNAME(at)(to + last) = *VNAME(from)(column, (int64_t)last);
	}
}

/*
 * Path 1: rows that lie without gaps, at least a vector's worth.  A line at a
 * time: each column's next line then comes a chunk of columns later, and from
 * memory that is faster than a panel's height at once; yet no line is read by
 * halves, for columns may push each other out of the nearest cache.
 */
static void
VNAME(copy)(const struct NAME(job) *job, NAME(elem) *to, const int64_t *row,
	    size_t rows)
{
	for (size_t i = 0; i < rows; i += PACK_LINE / REAL_BYTES) {
		size_t first = size_min(i, rows - LANES_);
		size_t n = size_min(rows - first, PACK_LINE / REAL_BYTES);

		PACK_COUNT(PACK_PATH_COPY, n * job->cols);
		if (n <= LANES_)
			VNAME(copy_line)(job, to + first, row + first, n, 1);
		else if (n <= 2 * LANES_)
			VNAME(copy_line)(job, to + first, row + first, n, 2);
		else if (n <= 3 * LANES_)
			VNAME(copy_line)(job, to + first, row + first, n, 3);
		else
			VNAME(copy_line)(job, to + first, row + first, n, 4);
	}
}

/*
 * r[i] = the vector at src[row[i] + col], for all lanes, transposed.  Rows
 * next[] will be asked for the same columns when these are done.
 */
INLINE void
VNAME(load)(VNAME(vec) r[LANES_], const NAME(elem) *src, const int64_t *row,
	    const int64_t *next, int64_t col)
{
	UNROLL
	for (size_t i = 0; i < LANES_; i++) {
		VNAME(prefetch)(src, next[i] + col);
		r[i] = *VNAME(from)(src, row[i] + col);
	}
	VNAME(transpose)(r);
}

/*
 * Path 2: a vector's worth of rows whose columns come in runs.  The last
 * block of a run ends with it and may repeat columns of the block before.
 */
static void
VNAME(turn)(const struct NAME(job) *job, NAME(elem) *to, const int64_t *row)
{
	const int64_t *next = NAME(ahead)(job, row, LANES_, LANES_);
	size_t width = job->width, p = 0;

	while (p < job->cols) {
		size_t run = job->run[p];
		VNAME(vec) r[LANES_];

		if (run < LANES_) {
			NAME(plain)(job, to, row, LANES_, p, run);
			p += run;
			continue;
		}
		PACK_COUNT(PACK_PATH_TURN, LANES_ * LANES_);
		VNAME(load)(r, job->src, row, next, job->col[p]);
		UNROLL
		for (size_t i = 0; i < LANES_; i++)
			*VNAME(at)(to + (p + i) * width) = r[i];
		p += run > LANES_ && run < 2 * LANES_ ? run - LANES_ : LANES_;
	}
}

/* Whether row[i + period * t] == row[i] + t for all t and i < period. */
static bool
VNAME(steps)(const int64_t *row, size_t period)
{
	for (size_t t = 1; t < LANES_; t++)
		for (size_t i = 0; i < period; i++)
			if (pack_gap(row[i], row[i + period * t]) != t)
				return false;
	return true;
}

/* Where turn_steps puts a vector: some lanes to[], the others elsewhere. */
struct VNAME(place) {
	NAME(elem) *to, *rest;
	size_t lanes;
};

/* Returns whether all lanes go to one panel. */
static bool
VNAME(find_place)(const struct NAME(job) *job, size_t row,
		  struct VNAME(place) *place)
{
	place->lanes = size_min(job->width - row % job->width, LANES_);
	place->to = NAME(place)(job, row);
	place->rest = NAME(place)(job, row + place->lanes);
	return place->lanes == LANES_;
}

/* As turn_steps, where panels end amid vectors or are narrower. */
static void
VNAME(turn_split)(const struct NAME(job) *job, const int64_t *row,
		  const struct VNAME(place) place[LANES_])
{
	const int64_t *next = NAME(ahead)(job, row, LANES_, LANES_);

	PACK_COUNT(PACK_PATH_SPLIT, LANES_ * LANES_ * job->cols);
	for (size_t p = 0; p < job->cols; p++) {
		size_t at = p * job->width;
		VNAME(vec) r[LANES_];

		VNAME(load)(r, job->src, row, next, job->col[p]);
		for (size_t t = 0; t < LANES_; t++) {
			const NAME(elem) *lane = (const NAME(elem) *)&r[t];
			size_t n = place[t].lanes;

			NAME(move)(place[t].to + at, lane, n);
			NAME(move)(place[t].rest + at, lane + n, LANES_ - n);
		}
	}
}

/*
 * Path 3: rows first + i + period * t, for lanes i and t, where the step t
 * lies without gaps: a vector of the source holds a lane of each panel.
 */
static void
VNAME(turn_steps)(const struct NAME(job) *job, size_t first)
{
	const int64_t *row = job->row + first;
	const int64_t *next = NAME(ahead)(job, row, LANES_, LANES_);
	struct VNAME(place) place[LANES_];
	bool whole = true;

	for (size_t t = 0; t < LANES_; t++)
		whole &= VNAME(find_place)(job, first + t * job->period,
					   &place[t]);
	if (!whole) {
		VNAME(turn_split)(job, row, place);
		return;
	}
	PACK_COUNT(PACK_PATH_STEPS, LANES_ * LANES_ * job->cols);
	for (size_t p = 0; p < job->cols; p++) {
		size_t at = p * job->width;
		VNAME(vec) r[LANES_];

		VNAME(load)(r, job->src, row, next, job->col[p]);
		UNROLL
		for (size_t t = 0; t < LANES_; t++)
			*VNAME(at)(place[t].to + at) = r[t];
	}
}

/*
 * Path 3 for LANES_ periods of rows from `first` on.  Returns false, with
 * nothing done, unless the hint holds for all of them.
 */
static bool
VNAME(band)(const struct NAME(job) *job, size_t first)
{
	size_t period = job->period;

	if (!VNAME(steps)(job->row + first, period))
		return false;
	for (size_t i = 0; i < period; i += LANES_)
		VNAME(turn_steps)(job, first + size_min(i, period - LANES_));
	return true;
}

#undef BUTTERFLIES
#undef MASK
#undef LANES_16
#undef LANES_8
#undef LANES_4
#undef LANES_2
#undef LOWER
#undef UPPER
#undef VNAME
#undef LANES_
