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

/* r[i] = the vector at src[row[i] + col], for all lanes. */
INLINE void
VNAME(load)(VNAME(vec) r[LANES_], const NAME(elem) *src, const int64_t *row,
	    int64_t col)
{
	UNROLL
	for (size_t i = 0; i < LANES_; i++)
		r[i] = *VNAME(from)(src, row[i] + col);
}

/*
 * Path 1: n pieces of rows that lie without gaps, piece k from lane at[k] on.
 * n is a constant at each call.
 */
INLINE void
VNAME(copy_some)(const struct NAME(job) *job, NAME(elem) *to,
		 const int64_t *row, size_t n, const uint8_t *at)
{
	int64_t from[PACK_COPIES];
	size_t lane[PACK_COPIES];

	for (size_t k = 0; k < n; k++) {
		lane[k] = at[k];
		from[k] = row[at[k]];
	}
	for (size_t p = 0; p < job->cols; p++) {
		UNROLL
		for (size_t k = 0; k < n; k++)
			*VNAME(at)(to + lane[k]) =
				*VNAME(from)(job->src, from[k] + job->col[p]);
		to += job->width;
	}
}

static void
VNAME(copy)(const struct NAME(job) *job, NAME(elem) *to, const int64_t *row,
	    size_t n, const uint8_t *at)
{
	PACK_COUNT(PACK_PATH_COPY, n * LANES_ * job->cols);
	for (; n >= PACK_COPIES; n -= PACK_COPIES, at += PACK_COPIES)
		VNAME(copy_some)(job, to, row, PACK_COPIES, at);
	if (n == 2)
		VNAME(copy_some)(job, to, row, 2, at);
	else if (n == 1)
		VNAME(copy_some)(job, to, row, 1, at);
}

/*
 * Path 2: a vector's worth of rows whose columns come in runs.  The last
 * block of a run ends with it and may repeat columns of the block before.
 */
static void
VNAME(turn)(const struct NAME(job) *job, NAME(elem) *to, const int64_t *row)
{
	size_t p = 0;

	while (p < job->cols) {
		size_t run = job->run[p];
		VNAME(vec) r[LANES_];

		if (run < LANES_) {
			NAME(plain)(job, to, row, LANES_, p, run);
			p += run;
			continue;
		}
		PACK_COUNT(PACK_PATH_TURN, LANES_ * LANES_);
		VNAME(load)(r, job->src, row, job->col[p]);
		VNAME(transpose)(r);
		UNROLL
		for (size_t i = 0; i < LANES_; i++)
			*VNAME(at)(to + (p + i) * job->width) = r[i];
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

/*
 * Stores lane[0..LANES_) for the rows from `first` on, of which the panel of
 * the first has not room for all.
 */
static void
VNAME(store_split)(const struct NAME(job) *job, size_t first, size_t p,
		   const NAME(elem) *lane)
{
	for (size_t i = 0; i < LANES_; i++)
		NAME(place)(job, first + i)[p * job->width] = lane[i];
}

/* What turn_steps does, when some of the panels end amid a vector. */
static void
VNAME(turn_steps_split)(const struct NAME(job) *job, size_t first)
{
	const int64_t *row = job->row + first;

	PACK_COUNT(PACK_PATH_SPLIT, LANES_ * LANES_ * job->cols);
	for (size_t p = 0; p < job->cols; p++) {
		VNAME(vec) r[LANES_];

		VNAME(load)(r, job->src, row, job->col[p]);
		VNAME(transpose)(r);
		for (size_t t = 0; t < LANES_; t++)
			VNAME(store_split)(job, first + t * job->period, p,
					   (const NAME(elem) *)&r[t]);
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
	NAME(elem) *to[LANES_];

	for (size_t t = 0; t < LANES_; t++) {
		size_t place = first + t * job->period;

		if (place % job->width + LANES_ > job->width) {
			VNAME(turn_steps_split)(job, first);
			return;
		}
		to[t] = NAME(place)(job, place);
	}
	PACK_COUNT(PACK_PATH_STEPS, LANES_ * LANES_ * job->cols);
	for (size_t p = 0; p < job->cols; p++) {
		VNAME(vec) r[LANES_];

		VNAME(load)(r, job->src, row, job->col[p]);
		VNAME(transpose)(r);
		UNROLL
		for (size_t t = 0; t < LANES_; t++)
			*VNAME(at)(to[t] + p * job->width) = r[t];
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
