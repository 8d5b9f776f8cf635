/* SPDX-License-Identifier: MIT */
/*
 * What loops_template.h has for reals, for complex elements: pairs of reals,
 * of which a vector has LANES / 2.
 *
 *   x = (a, b)   y = (c, d)   x * y = x * (c, c) + (b, a) * (-d, d)
 *
 * Here too a sum is a chain of steps in this order.
 */
#if VECTOR_BYTES / REAL_BYTES == 2
#define LOOP_LANES	LOOP_LANES_2
#elif VECTOR_BYTES / REAL_BYTES == 4
#define LOOP_LANES	LOOP_LANES_4
#elif VECTOR_BYTES / REAL_BYTES == 8
#define LOOP_LANES	LOOP_LANES_8
#else
#define LOOP_LANES	LOOP_LANES_16
#endif

#ifndef LOOP_LANES_2
/* The lanes x and y of each pair in turn. */
#define LOOP_LANES_2(x, y)	x, y
#define LOOP_LANES_4(x, y)	x, y, (x) + 2, (y) + 2
#define LOOP_LANES_8(x, y)	\
	LOOP_LANES_4(x, y), LOOP_LANES_4((x) + 4, (y) + 4)
#define LOOP_LANES_16(x, y)	\
	LOOP_LANES_8(x, y), LOOP_LANES_8((x) + 8, (y) + 8)
#endif

#define COMPLEX(x)	PASTE(x##_complex, SUFFIX)
#define PAIRS		(LANES / 2)
#define SWAPPED(v)	__builtin_shufflevector(v, v, LOOP_LANES(1, 0))
#define REALS(v)	__builtin_shufflevector(v, v, LOOP_LANES(0, 0))
#define IMAGINARIES(v)	__builtin_shufflevector(v, v, LOOP_LANES(1, 1))

/* A factor as (c, c) and (-d, d). */
struct COMPLEX(factor) {
	NAME(vec) re, im;
};

INLINE NAME(vec)
COMPLEX(load)(const REAL *from)
{
	return *(const NAME(vec_c) *)from;
}

/* -1 and 1 by turns. */
INLINE NAME(vec)
COMPLEX(signs)(void)
{
	NAME(vec) sign;

	UNROLL
	for (size_t lane = 0; lane < LANES; lane++)
		sign[lane] = lane % 2 ? 1 : -1;
	return sign;
}

INLINE struct COMPLEX(factor)
COMPLEX(factor)(NAME(vec) y)
{
	return (struct COMPLEX(factor)){
		REALS(y), IMAGINARIES(y) * COMPLEX(signs)()
	};
}

/* The same one for each element. */
INLINE struct COMPLEX(factor)
COMPLEX(one_factor)(REAL re, REAL im)
{
	return (struct COMPLEX(factor)){
		(NAME(vec)){ 0 } + re, COMPLEX(signs)() * im
	};
}

INLINE NAME(vec)
COMPLEX(step)(NAME(vec) sum, NAME(vec) x, struct COMPLEX(factor) y)
{
	sum += x * y.re;
	sum += SWAPPED(x) * y.im;
	return sum;
}

INLINE void
COMPLEX(step_one)(REAL *sum, const REAL *x, const REAL *y)
{
	sum[0] += x[0] * y[0];
	sum[1] += x[1] * y[0];
	sum[0] -= x[1] * y[1];
	sum[1] += x[0] * y[1];
}

/* Sums of x * (c, c), and of (b, a) * (d, d), whose sign comes at the end. */
INLINE void
COMPLEX(dot_lines)(size_t n, const REAL *a, const REAL *b, REAL *sum)
{
	NAME(vec) part[4] = { { 0 } };
	size_t i = 0;

	for (; i + 2 * PAIRS <= n; i += 2 * PAIRS) {
		UNROLL
		for (size_t v = 0; v < 2; v++) {
			size_t at = 2 * i + v * LANES;
			NAME(vec) x = COMPLEX(load)(a + at);
			NAME(vec) y = COMPLEX(load)(b + at);

			part[v] += x * REALS(y);
			part[2 + v] += SWAPPED(x) * IMAGINARIES(y);
		}
	}
	part[0] += part[1];
	part[0] += (part[2] + part[3]) * COMPLEX(signs)();
	UNROLL
	for (size_t lane = 0; lane < LANES; lane++)
		sum[lane % 2] += part[0][lane];
	for (; i < n; i++)
		COMPLEX(step_one)(sum, a + 2 * i, b + 2 * i);
}

INLINE void
COMPLEX(sum_lines)(size_t n, const REAL *a, REAL *sum)
{
	NAME(vec) part[2] = { { 0 } };
	size_t i = 0;

	for (; i + 2 * PAIRS <= n; i += 2 * PAIRS) {
		part[0] += COMPLEX(load)(a + 2 * i);
		part[1] += COMPLEX(load)(a + 2 * i + LANES);
	}
	part[0] += part[1];
	UNROLL
	for (size_t lane = 0; lane < LANES; lane++)
		sum[lane % 2] += part[0][lane];
	for (; i < n; i++) {
		sum[0] += a[2 * i];
		sum[1] += a[2 * i + 1];
	}
}

static void
COMPLEX(loop_dot)(size_t n, const void *x, int64_t sa, const void *y,
		  int64_t sb, void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to, sum[2] = { 0 }, other[2] = { 0 };

	if (sa == 1 && sb == 0) {
		COMPLEX(sum_lines)(n, a, sum);
		COMPLEX(step_one)(acc, sum, b);
		return;
	}
	if (sa == 1 && sb == 1) {
		COMPLEX(dot_lines)(n, a, b, sum);
	} else {
		for (; n >= 2; n -= 2, a += 4 * sa, b += 4 * sb) {
			COMPLEX(step_one)(sum, a, b);
			COMPLEX(step_one)(other, a + 2 * sa, b + 2 * sb);
		}
		if (n)
			COMPLEX(step_one)(sum, a, b);
	}
	acc[0] += sum[0] + other[0];
	acc[1] += sum[1] + other[1];
}

/*
 * acc[i] += the sum over p < terms of a[i + p * ta] * b[i * sb + p * tb]: as
 * many i as vectors take.  sb is 0 or 1; it and `terms` are constants.
 */
INLINE size_t
COMPLEX(add_lines)(size_t n, const REAL *a, int64_t ta, const REAL *b,
		   int64_t sb, int64_t tb, REAL *acc, int64_t terms)
{
	struct COMPLEX(factor) factor[4];
	size_t i = 0;

	for (int64_t p = 0; p < terms && !sb; p++)
		factor[p] = COMPLEX(one_factor)(b[2 * p * tb],
						b[2 * p * tb + 1]);
	for (; i + PAIRS <= n; i += PAIRS) {
		NAME(vec) sum = COMPLEX(load)(acc + 2 * i);

		UNROLL
		for (int64_t p = 0; p < terms; p++) {
			if (sb)
				factor[p] = COMPLEX(factor)(COMPLEX(load)
					(b + 2 * p * tb + 2 * i));
			sum = COMPLEX(step)(sum, COMPLEX(load)
				(a + 2 * p * ta + 2 * i), factor[p]);
		}
		*(NAME(vec_c) *)(acc + 2 * i) = sum;
	}
	return i;
}

static void
COMPLEX(loop_add)(size_t n, const void *x, int64_t sa, const void *y,
		  int64_t sb, void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to;
	size_t i = 0;

	if (sa == 1 && sb == 1)
		i = COMPLEX(add_lines)(n, a, 0, b, 1, 0, acc, 1);
	else if (sa == 1 && sb == 0)
		i = COMPLEX(add_lines)(n, a, 0, b, 0, 0, acc, 1);
	for (; i < n; i++)
		COMPLEX(step_one)(acc + 2 * i, a + 2 * (int64_t)i * sa,
				  b + 2 * (int64_t)i * sb);
}

static void
COMPLEX(loop_add4)(size_t n, const void *x, int64_t ta, const void *y,
		   int64_t sb, int64_t tb, void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to;
	size_t i = 0;

	if (sb == 1)
		i = COMPLEX(add_lines)(n, a, ta, b, 1, tb, acc, 4);
	else if (sb == 0)
		i = COMPLEX(add_lines)(n, a, ta, b, 0, tb, acc, 4);
	for (; i < n; i++)
		for (int64_t p = 0; p < 4; p++)
			COMPLEX(step_one)(acc + 2 * i,
				a + 2 * (p * ta + (int64_t)i),
				b + 2 * (p * tb + (int64_t)i * sb));
}

/* As many as vectors take; `reads`: beta is not 0, a constant. */
INLINE size_t
COMPLEX(store_lines)(size_t n, const REAL *acc, struct scalar alpha,
		     struct scalar beta, REAL *c, bool reads)
{
	struct COMPLEX(factor) al = COMPLEX(one_factor)((REAL)alpha.re,
							(REAL)alpha.im);
	struct COMPLEX(factor) be = COMPLEX(one_factor)((REAL)beta.re,
							(REAL)beta.im);
	size_t i = 0;

	for (; i + PAIRS <= n; i += PAIRS) {
		NAME(vec) sum = { 0 };

		if (reads)
			sum = COMPLEX(step)(sum, COMPLEX(load)(c + 2 * i), be);
		sum = COMPLEX(step)(sum, COMPLEX(load)(acc + 2 * i), al);
		*(NAME(vec_c) *)(c + 2 * i) = sum;
	}
	return i;
}

static void
COMPLEX(loop_store)(size_t n, const void *from, struct scalar alpha,
		    struct scalar beta, void *to, int64_t sc)
{
	const REAL al[2] = { (REAL)alpha.re, (REAL)alpha.im };
	const REAL be[2] = { (REAL)beta.re, (REAL)beta.im };
	bool reads = !scalar_is(beta, 0);
	const REAL *acc = from;
	REAL *c = to;
	size_t i = 0;

	if (sc == 1 && reads)
		i = COMPLEX(store_lines)(n, acc, alpha, beta, c, true);
	else if (sc == 1)
		i = COMPLEX(store_lines)(n, acc, alpha, beta, c, false);
	for (; i < n; i++) {
		REAL *at = c + 2 * (int64_t)i * sc, sum[2] = { 0 };

		if (reads)
			COMPLEX(step_one)(sum, at, be);
		COMPLEX(step_one)(sum, acc + 2 * i, al);
		at[0] = sum[0];
		at[1] = sum[1];
	}
}

#undef COMPLEX
#undef PAIRS
#undef SWAPPED
#undef REALS
#undef IMAGINARIES
#undef LOOP_LANES
