/* SPDX-License-Identifier: MIT */
/*
 * The inner loops of loops.c for one real type.  No include guard: included
 * once for each, with
 *
 *   REAL	float or double
 *   SUFFIX	f32 or f64
 *
 * Strides count elements.  A unit stride goes in vectors of a cache line,
 * which the compiler cuts to what the processor has.
 */
#define NAME_(x, suffix)	x##_##suffix
#define NAME__(x, suffix)	NAME_(x, suffix)
#define NAME(x)			NAME__(x, SUFFIX)
#define LANES			(64 / sizeof(REAL))

typedef REAL NAME(line) __attribute__((vector_size(64), aligned(sizeof(REAL)),
				       may_alias));

static REAL
NAME(dot_line)(size_t n, const REAL *a, const REAL *b)
{
	NAME(line) sum0 = { 0 }, sum1 = { 0 };
	REAL sum = 0;
	size_t i = 0;

	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		sum0 += *(const NAME(line) *)(a + i) *
			*(const NAME(line) *)(b + i);
		sum1 += *(const NAME(line) *)(a + i + LANES) *
			*(const NAME(line) *)(b + i + LANES);
	}
	sum0 += sum1;
	for (size_t lane = 0; lane < LANES; lane++)
		sum += sum0[lane];
	for (; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

static REAL
NAME(sum_line)(size_t n, const REAL *a)
{
	NAME(line) sum0 = { 0 }, sum1 = { 0 };
	REAL sum = 0;
	size_t i = 0;

	for (; i + 2 * LANES <= n; i += 2 * LANES) {
		sum0 += *(const NAME(line) *)(a + i);
		sum1 += *(const NAME(line) *)(a + i + LANES);
	}
	sum0 += sum1;
	for (size_t lane = 0; lane < LANES; lane++)
		sum += sum0[lane];
	for (; i < n; i++)
		sum += a[i];
	return sum;
}

/* acc[0] += sum over i of a[i * sa] * b[i * sb] */
static void
NAME(dot)(size_t n, const void *x, int64_t sa, const void *y, int64_t sb,
	  void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to, sum = 0;

	if (sa == 1 && sb == 1)
		sum = NAME(dot_line)(n, a, b);
	else if (sa == 1 && sb == 0)
		sum = NAME(sum_line)(n, a) * b[0];
	else
		for (size_t i = 0; i < n; i++)
			sum += a[(int64_t)i * sa] * b[(int64_t)i * sb];
	acc[0] += sum;
}

/* acc[i] += a[i * sa] * b[i * sb] */
static void
NAME(multiply)(size_t n, const void *x, int64_t sa, const void *y,
	       int64_t sb, void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to;
	size_t i = 0;

	if (sa == 1 && sb == 1)
		for (; i + LANES <= n; i += LANES)
			*(NAME(line) *)(acc + i) +=
				*(const NAME(line) *)(a + i) *
				*(const NAME(line) *)(b + i);
	else if (sa == 1 && sb == 0)
		for (; i + LANES <= n; i += LANES)
			*(NAME(line) *)(acc + i) +=
				*(const NAME(line) *)(a + i) * b[0];
	for (; i < n; i++)
		acc[i] += a[(int64_t)i * sa] * b[(int64_t)i * sb];
}

/* acc[i] += sum over k < 4 of a[i + k * ta] * b[k * tb] */
static void
NAME(multiply4)(size_t n, const void *x, int64_t ta, const void *y,
		int64_t tb, void *to)
{
	const REAL *a = x, *b = y;
	REAL *acc = to;
	REAL b0 = b[0], b1 = b[tb], b2 = b[2 * tb], b3 = b[3 * tb];
	const REAL *a1 = a + ta, *a2 = a1 + ta, *a3 = a2 + ta;
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		*(NAME(line) *)(acc + i) +=
			(*(const NAME(line) *)(a + i) * b0 +
			 *(const NAME(line) *)(a1 + i) * b1) +
			(*(const NAME(line) *)(a2 + i) * b2 +
			 *(const NAME(line) *)(a3 + i) * b3);
	for (; i < n; i++)
		acc[i] += (a[i] * b0 + a1[i] * b1) +
			  (a2[i] * b2 + a3[i] * b3);
}

/* c[i * sc] = beta * c[i * sc] + alpha * acc[i]; a beta of 0 reads no c. */
static void
NAME(store)(size_t n, const void *from, struct scalar alpha,
	    struct scalar beta, void *to, int64_t sc)
{
	const REAL *acc = from;
	REAL *c = to, al = (REAL)alpha.re, be = (REAL)beta.re;

	if (be == 0)
		for (size_t i = 0; i < n; i++)
			c[(int64_t)i * sc] = al * acc[i];
	else
		for (size_t i = 0; i < n; i++)
			c[(int64_t)i * sc] = be * c[(int64_t)i * sc] +
					     al * acc[i];
}

#undef NAME
#undef NAME_
#undef NAME__
#undef LANES
#undef REAL
#undef SUFFIX
