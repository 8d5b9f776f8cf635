/* SPDX-License-Identifier: MIT */
/*
 * What loops_template.h has for reals, for complex elements: pairs of reals.
 */
#define COMPLEX(x)	PASTE(x##_complex, SUFFIX)

INLINE void
COMPLEX(add_product)(REAL *acc, const REAL *a, const REAL *b)
{
	acc[0] += a[0] * b[0] - a[1] * b[1];
	acc[1] += a[0] * b[1] + a[1] * b[0];
}

static void
COMPLEX(loop_dot)(size_t n, const void *x, int64_t sa, const void *y,
		  int64_t sb, void *to)
{
	const REAL *a = x, *b = y;
	REAL sum[2][2] = { { 0 } };
	REAL *acc = to;

	for (size_t i = 0; i < n; i++, a += 2 * sa, b += 2 * sb)
		COMPLEX(add_product)(sum[i & 1], a, b);
	acc[0] += sum[0][0] + sum[1][0];
	acc[1] += sum[0][1] + sum[1][1];
}

static void
COMPLEX(loop_add)(size_t n, const void *x, int64_t sa, const void *y,
		  int64_t sb, void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to;

	for (size_t i = 0; i < n; i++, a += 2 * sa, b += 2 * sb)
		COMPLEX(add_product)(acc + 2 * i, a, b);
}

static void
COMPLEX(loop_add4)(size_t n, const void *x, int64_t ta, const void *y,
		   int64_t sb, int64_t tb, void *to)
{
	const REAL *a = x, *b = y;

	for (int64_t p = 0; p < 4; p++)
		COMPLEX(loop_add)(n, a + 2 * p * ta, 1, b + 2 * p * tb, sb,
				  to);
}

static void
COMPLEX(loop_store)(size_t n, const void *from, struct scalar alpha,
		    struct scalar beta, void *to, int64_t sc)
{
	const REAL al[2] = { (REAL)alpha.re, (REAL)alpha.im };
	const REAL be[2] = { (REAL)beta.re, (REAL)beta.im };
	const REAL *acc = from;
	REAL *c = to;

	for (size_t i = 0; i < n; i++, acc += 2, c += 2 * sc) {
		REAL sum[2] = { 0 };

		if (!scalar_is(beta, 0))
			COMPLEX(add_product)(sum, be, c);
		COMPLEX(add_product)(sum, al, acc);
		c[0] = sum[0];
		c[1] = sum[1];
	}
}

#undef COMPLEX
