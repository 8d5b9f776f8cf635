/* SPDX-License-Identifier: MIT */
/*
 * The part of kernel_template.h for products of a single column, which read
 * all arrays where they lie (see loops.c); that file includes this one, and
 * has the macros.  Where strides are 1 elements go in vectors.
 *
 * Each sum is a chain of single steps, acc + a * b, by vectors as by what is
 * left beyond them: an element's result does not depend on where it lies in
 * a run.  (In dot() it depends on the run's length.)
 */

/* Vectors at once: what an addition's latency hides. */
#define LOOP_SUMS 4

/* The sum of LOOP_SUMS vectors' lanes. */
INLINE REAL
NAME(loop_fold)(const NAME(vec) part[LOOP_SUMS])
{
	NAME(vec) all = (part[0] + part[1]) + (part[2] + part[3]);
	REAL sum = 0;

	UNROLL
	for (size_t lane = 0; lane < LANES; lane++)
		sum += all[lane];
	return sum;
}

/* The sum of a[i] * b[i], or of a[i] alone; `ones` is a constant. */
INLINE REAL
NAME(loop_sum)(size_t n, const REAL *a, const REAL *b, bool ones)
{
	NAME(vec) part[LOOP_SUMS] = { { 0 } };
	size_t i = 0;
	REAL sum;

	for (; i + LOOP_SUMS * LANES <= n; i += LOOP_SUMS * LANES) {
		const NAME(vec_c) *x = (const NAME(vec_c) *)(a + i);
		const NAME(vec_c) *y = (const NAME(vec_c) *)(b + i);

		UNROLL
		for (size_t v = 0; v < LOOP_SUMS; v++)
			if (ones)
				part[v] += x[v];
			else
				part[v] += x[v] * y[v];
	}
	for (; i + LANES <= n; i += LANES) {
		NAME(vec) x = *(const NAME(vec_c) *)(a + i);

		if (ones)
			part[0] += x;
		else
			part[0] += x * *(const NAME(vec_c) *)(b + i);
	}
	sum = NAME(loop_fold)(part);
	for (; i < n; i++)
		sum += ones ? a[i] : a[i] * b[i];
	return sum;
}

static void
NAME(loop_dot)(size_t n, const void *x, int64_t sa, const void *y,
	       int64_t sb, void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to, sum[2] = { 0 };
	size_t i = 0;

	if (sa == 1 && sb == 1) {
		acc[0] += NAME(loop_sum)(n, a, b, false);
		return;
	}
	if (sa == 1 && sb == 0) {
		acc[0] += NAME(loop_sum)(n, a, a, true) * b[0];
		return;
	}
	for (; i + 2 <= n; i += 2, a += 2 * sa, b += 2 * sb) {
		sum[0] += a[0] * b[0];
		sum[1] += a[sa] * b[sb];
	}
	if (i < n)
		sum[0] += a[0] * b[0];
	acc[0] += sum[0] + sum[1];
}

static void
NAME(loop_add)(size_t n, const void *x, int64_t sa, const void *y,
	       int64_t sb, void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to;
	size_t i = 0;

	if (sa == 1 && sb == 1)
		for (; i + LANES <= n; i += LANES)
			*(NAME(vec_c) *)(acc + i) +=
				*(const NAME(vec_c) *)(a + i) *
				*(const NAME(vec_c) *)(b + i);
	else if (sa == 1 && sb == 0)
		for (; i + LANES <= n; i += LANES)
			*(NAME(vec_c) *)(acc + i) +=
				*(const NAME(vec_c) *)(a + i) * b[0];
	for (; i < n; i++)
		acc[i] += a[(int64_t)i * sa] * b[(int64_t)i * sb];
}

/* What is left of loop_add4() from i on; with any sb. */
INLINE void
NAME(loop_add4_rest)(size_t i, size_t n, const REAL *a, int64_t ta,
		     const REAL *b, int64_t sb, int64_t tb, REAL *acc)
{
	for (; i < n; i++) {
		const REAL *x = a + i, *y = b + (int64_t)i * sb;
		REAL sum = acc[i];

		UNROLL
		for (int64_t p = 0; p < 4; p++)
			sum += x[p * ta] * y[p * tb];
		acc[i] = sum;
	}
}

/* `moves`: sb is 1, not 0; a constant. */
INLINE size_t
NAME(loop_add4_lines)(size_t n, const REAL *a, int64_t ta, const REAL *b,
		      int64_t tb, REAL *acc, bool moves)
{
	size_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		NAME(vec_c) *to = (NAME(vec_c) *)(acc + i);
		NAME(vec) sum = *to;

		UNROLL
		for (int64_t p = 0; p < 4; p++) {
			NAME(vec) x = *(const NAME(vec_c) *)(a + p * ta + i);

			if (moves)
				sum += x * *(const NAME(vec_c) *)
					(b + p * tb + i);
			else
				sum += x * b[p * tb];
		}
		*to = sum;
	}
	return i;
}

static void
NAME(loop_add4)(size_t n, const void *a, int64_t ta, const void *b,
		int64_t sb, int64_t tb, void *acc)
{
	size_t done = 0;

	if (sb == 1)
		done = NAME(loop_add4_lines)(n, a, ta, b, tb, acc, true);
	else if (sb == 0)
		done = NAME(loop_add4_lines)(n, a, ta, b, tb, acc, false);
	NAME(loop_add4_rest)(done, n, a, ta, b, sb, tb, acc);
}

static void
NAME(loop_store)(size_t n, const void *from, struct scalar alpha,
		 struct scalar beta, void *to, int64_t sc)
{
	const REAL *acc = from;
	REAL *c = to, al = (REAL)alpha.re, be = (REAL)beta.re;
	size_t i = 0;

	if (sc == 1 && be == 0)
		for (; i + LANES <= n; i += LANES)
			*(NAME(vec_c) *)(c + i) =
				al * *(const NAME(vec_c) *)(acc + i);
	if (be == 0)
		for (; i < n; i++)
			c[(int64_t)i * sc] = al * acc[i];
	else
		for (; i < n; i++)
			c[(int64_t)i * sc] = be * c[(int64_t)i * sc] +
					     al * acc[i];
}

/* What b does, and what becomes of c: constants. */
enum NAME(loop_way) {
	NAME(loop_moves) = 1,	/* b goes on; else it stands still */
	NAME(loop_adds) = 2,	/* beta * c is added; else c is not read */
	NAME(loop_past) = 4	/* past the caches */
};

INLINE void
NAME(loop_products)(size_t n, const REAL *a, const REAL *b, REAL alpha,
		    REAL beta, REAL *c, unsigned way)
{
	const bool moves = way & NAME(loop_moves);
	const bool adds = way & NAME(loop_adds), past = way & NAME(loop_past);
	const size_t step = CACHE_LINE / sizeof(REAL);
	size_t i = 0;

	/* Whole lines: parts of one would go to memory each for itself. */
	for (; past && i < n && (uintptr_t)(c + i) % CACHE_LINE; i++)
		c[i] = alpha * (a[i] * b[moves ? i : 0]);
	for (; i + step <= n; i += step)
		UNROLL
		for (size_t at = i; at < i + step; at += LANES) {
			NAME(vec) x = *(const NAME(vec_c) *)(a + at);

			if (moves)
				x *= *(const NAME(vec_c) *)(b + at);
			else
				x *= b[0];
#ifdef STREAM_VECTOR
			if (past) {
				STREAM_VECTOR(c + at, alpha * x);
				continue;
			}
#endif
			x *= alpha;
			if (adds)
				x += beta * *(const NAME(vec_c) *)(c + at);
			*(NAME(vec_c) *)(c + at) = x;
		}
	for (; i < n; i++) {
		REAL x = alpha * (a[i] * b[moves ? i : 0]);

		c[i] = adds ? x + beta * c[i] : x;
	}
}

static void
NAME(loop_product)(size_t n, const void *x, const void *y, int64_t sb,
		   double alpha, double beta, void *c, bool past)
{
	const unsigned way = (sb ? NAME(loop_moves) : 0) |
			     (beta != 0 ? NAME(loop_adds) :
			      past ? NAME(loop_past) : 0);

#define WAY(w) case w: \
		NAME(loop_products)(n, x, y, (REAL)alpha, (REAL)beta, c, w); \
		break

	switch (way) {
	WAY(0);
	WAY(NAME(loop_moves));
	WAY(NAME(loop_adds));
	WAY(NAME(loop_adds) | NAME(loop_moves));
	WAY(NAME(loop_past));
	WAY(NAME(loop_past) | NAME(loop_moves));
	}
#undef WAY
}

#undef LOOP_SUMS
