/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of loops.c for one complex type, as loops_template.h has
 * them for reals.  REAL and SUFFIX as there; elements are pairs of reals.
 */
#define NAME_(x, suffix)	x##_##suffix
#define NAME__(x, suffix)	NAME_(x, suffix)
#define NAME(x)			NAME__(x, SUFFIX)

static inline void
NAME(add_product)(REAL *acc, const REAL *a, const REAL *b)
{
	acc[0] += a[0] * b[0] - a[1] * b[1];
	acc[1] += a[0] * b[1] + a[1] * b[0];
}

static void
NAME(dot)(size_t n, const void *x, int64_t sa, const void *y, int64_t sb,
	  void *to)
{
	const REAL *a = x, *b = y;
	REAL sum[2][2] = { { 0 } };
	REAL *acc = to;

	for (size_t i = 0; i < n; i++, a += 2 * sa, b += 2 * sb)
		NAME(add_product)(sum[i & 1], a, b);
	acc[0] += sum[0][0] + sum[1][0];
	acc[1] += sum[0][1] + sum[1][1];
}

static void
NAME(multiply)(size_t n, const void *x, int64_t sa, const void *y,
	       int64_t sb, void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to;

	for (size_t i = 0; i < n; i++, a += 2 * sa, b += 2 * sb)
		NAME(add_product)(acc + 2 * i, a, b);
}

static void
NAME(multiply4)(size_t n, const void *x, int64_t ta, const void *y,
		int64_t tb, void *to)
{
	const REAL *a = x, *b = y;

	for (int64_t k = 0; k < 4; k++)
		NAME(multiply)(n, a + 2 * k * ta, 1, b + 2 * k * tb, 0, to);
}

static void
NAME(store)(size_t n, const void *from, struct scalar alpha,
	    struct scalar beta, void *to, int64_t sc)
{
	const REAL al[2] = { (REAL)alpha.re, (REAL)alpha.im };
	const REAL be[2] = { (REAL)beta.re, (REAL)beta.im };
	const REAL *acc = from;
	REAL *c = to;

	for (size_t i = 0; i < n; i++, acc += 2, c += 2 * sc) {
		REAL sum[2] = { 0 };

		if (!scalar_is(beta, 0))
			NAME(add_product)(sum, be, c);
		NAME(add_product)(sum, al, acc);
		c[0] = sum[0];
		c[1] = sum[1];
	}
}

#undef NAME
#undef NAME_
#undef NAME__
#undef REAL
#undef SUFFIX
