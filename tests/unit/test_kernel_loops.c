/* SPDX-License-Identifier: MIT */
/*
 * The kernels of products of a single column, every one that the processor
 * has, real and complex, against plain loops.  Elements are small whole
 * numbers: sums are exact, and compared bit by bit.  What lies between the
 * elements is NaN, and memory ends with them: tools see what is read beyond.
 */
#include <check.h>
#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/kernel_field.h"
#include "support/random.h"
#include "support/suite.h"

/* Beyond the vectors that dot() takes at once. */
#define MOST_N	150
/* Before and after what is written. */
#define AROUND	8

typedef double complex number;

static size_t parts;	/* reals of an element */
static const struct kernel_loops *loops;

static const int64_t strides[] = { 1, 0, 2, -1, -3 };
#define STRIDES	(sizeof(strides) / sizeof(strides[0]))

/* Both real types' kernels, each of reals and of pairs. */
static void
loops_begin(int i)
{
	tile_begin(i / 2);
	parts = 1 + (size_t)i % 2;
	loops = parts == 2 ? &kernel->complex_loops : &kernel->loops;
}

/* CMPLX() of C11, which not every compiler has. */
static number
pair(double re, double im)
{
	double part[2] = { re, im };
	number value;

	memcpy(&value, part, sizeof(value));
	return value;
}

static number
get(const void *base, int64_t i)
{
	const char *at = (const char *)base +
			 i * (int64_t)(parts * kernel->bytes);

	return parts == 1 ? tile_get(at, 0) :
	       pair(tile_get(at, 0), tile_get(at, 1));
}

static void
put(void *base, int64_t i, number value)
{
	char *at = (char *)base + i * (int64_t)(parts * kernel->bytes);

	tile_put(at, 0, creal(value));
	if (parts == 2)
		tile_put(at, 1, cimag(value));
}

static number
random_element(void)
{
	double re = whole_number();

	return parts == 1 ? re : pair(re, whole_number());
}

static bool
same(number x, number y)
{
	return (creal(x) == creal(y) || (isnan(creal(x)) && isnan(creal(y)))) &&
	       (cimag(x) == cimag(y) || (isnan(cimag(x)) && isnan(cimag(y))));
}

/* Element (i, p) is at base[i * s + p * t]. */
struct array {
	void *memory, *base;
	size_t elements;
	int64_t before;		/* elements */
	int64_t s, t;
};

static struct array
array_of(size_t n, int64_t s, size_t k, int64_t t, int64_t around)
{
	int64_t i = (int64_t)n - 1, p = (int64_t)k - 1;
	int64_t low = (s < 0 ? i * s : 0) + (t < 0 ? p * t : 0);
	int64_t high = (s > 0 ? i * s : 0) + (t > 0 ? p * t : 0);
	struct array array = {
		.elements = (size_t)(high - low + 1 + 2 * around),
		.before = around - low, .s = s, .t = t
	};

	array.memory = tile_elements(array.elements * parts, NULL);
	array.base = (char *)array.memory +
		     array.before * (int64_t)(parts * kernel->bytes);
	for (size_t row = 0; row < n; row++)
		for (size_t col = 0; col < k; col++)
			put(array.base, (int64_t)row * s + (int64_t)col * t,
			    random_element());
	return array;
}

static number
array_get(const struct array *array, size_t i, size_t p)
{
	return get(array->base, (int64_t)i * array->s + (int64_t)p * array->t);
}

/* Two that shall be the same, what lies around them included. */
static void
check_same(const struct array *is, const struct array *expected,
	   const char *what, size_t n, int64_t sa, int64_t sb)
{
	size_t wrong = 0;

	for (size_t i = 0; i < is->elements; i++)
		wrong += !same(get(is->memory, (int64_t)i),
			       get(expected->memory, (int64_t)i));
	ck_assert_msg(wrong == 0, "%s of %s, %zu bytes, %zu parts, n %zu, "
		      "strides %jd and %jd: %zu wrong", what, kernel->name,
		      kernel->bytes, parts, n, (intmax_t)sa, (intmax_t)sb,
		      wrong);
}

static struct array
array_copy(const struct array *from, size_t n, int64_t s, int64_t around)
{
	struct array to = array_of(n, s, 1, 0, around);

	for (size_t i = 0; i < to.elements; i++)
		put(to.memory, (int64_t)i, get(from->memory, (int64_t)i));
	return to;
}

static void
check_dot(size_t n, int64_t sa, int64_t sb)
{
	struct array a = array_of(n, sa, 1, 0, 0);
	struct array b = array_of(n, sb, 1, 0, 0);
	struct array acc = array_of(1, 1, 1, 0, AROUND);
	struct array expected = array_copy(&acc, 1, 1, AROUND);
	number sum = get(acc.base, 0);

	for (size_t i = 0; i < n; i++)
		sum += array_get(&a, i, 0) * array_get(&b, i, 0);
	put(expected.base, 0, sum);
	loops->dot(n, a.base, sa, b.base, sb, acc.base);
	check_same(&acc, &expected, "dot", n, sa, sb);
	free(a.memory);
	free(b.memory);
	free(acc.memory);
	free(expected.memory);
}

static void
check_add(size_t n, int64_t sa, int64_t sb)
{
	struct array a = array_of(n, sa, 1, 0, 0);
	struct array b = array_of(n, sb, 1, 0, 0);
	struct array acc = array_of(n, 1, 1, 0, AROUND);
	struct array expected = array_copy(&acc, n, 1, AROUND);

	for (size_t i = 0; i < n; i++)
		put(expected.base, (int64_t)i, get(acc.base, (int64_t)i) +
		    array_get(&a, i, 0) * array_get(&b, i, 0));
	loops->add(n, a.base, sa, b.base, sb, acc.base);
	check_same(&acc, &expected, "add", n, sa, sb);
	free(a.memory);
	free(b.memory);
	free(acc.memory);
	free(expected.memory);
}

/* The four lie far apart, or, where elements do, beside each other. */
static void
check_add4(size_t n, int64_t ta, int64_t sb, int64_t tb)
{
	struct array a = array_of(n, 1, 4, ta, 0);
	struct array b = array_of(n, sb, 4, tb, 0);
	struct array acc = array_of(n, 1, 1, 0, AROUND);
	struct array expected = array_copy(&acc, n, 1, AROUND);

	for (size_t i = 0; i < n; i++) {
		number sum = get(acc.base, (int64_t)i);

		for (size_t p = 0; p < 4; p++)
			sum += array_get(&a, i, p) * array_get(&b, i, p);
		put(expected.base, (int64_t)i, sum);
	}
	loops->add4(n, a.base, ta, b.base, sb, tb, acc.base);
	check_same(&acc, &expected, "add4", n, ta, sb);
	free(a.memory);
	free(b.memory);
	free(acc.memory);
	free(expected.memory);
}

static void
check_store(size_t n, int64_t sc, struct scalar alpha, struct scalar beta)
{
	struct array acc = array_of(n, 1, 1, 0, 0);
	struct array c = array_of(n, sc, 1, 0, AROUND);
	struct array expected = array_copy(&c, n, sc, AROUND);
	bool reads = !scalar_is(beta, 0);

	for (size_t i = 0; i < n; i++) {
		int64_t at = (int64_t)i * sc;
		number value = pair(alpha.re, alpha.im) *
			       array_get(&acc, i, 0);

		if (reads)
			value += pair(beta.re, beta.im) * get(c.base, at);
		else
			put(c.base, at, pair(NAN, NAN));
		put(expected.base, at, value);
	}
	loops->store(n, acc.base, alpha, beta, c.base, sc);
	check_same(&c, &expected, "store", n, sc, reads);
	free(acc.memory);
	free(c.memory);
	free(expected.memory);
}

/* `around` moves C against the lines of memory, which ends with it. */
static void
check_product(size_t n, int64_t sb, int64_t around, double alpha, double beta,
	      bool past)
{
	struct array a = array_of(n, 1, 1, 0, 0);
	struct array b = array_of(n, sb, 1, 0, 0);
	struct array c = array_of(n, 1, 1, 0, around);
	struct array expected = array_copy(&c, n, 1, around);

	for (size_t i = 0; i < n; i++) {
		double was = whole_number();

		/* Not read where beta is 0. */
		put(c.base, (int64_t)i, beta != 0 ? was : NAN);
		put(expected.base, (int64_t)i, alpha * array_get(&a, i, 0) *
					       array_get(&b, i, 0) +
					       beta * was);
	}
	kernel->product(n, a.base, b.base, sb, alpha, beta, c.base, past);
	kernel_fence();
	check_same(&c, &expected, past ? "product past" : "product", n, sb,
		   around);
	free(a.memory);
	free(b.memory);
	free(c.memory);
	free(expected.memory);
}

START_TEST(dots_and_sums)
{
	loops_begin(_i);
	for (size_t n = 1; n <= MOST_N; n++)
		for (size_t a = 0; a < STRIDES; a++)
			for (size_t b = 0; b < STRIDES; b++) {
				check_dot(n, strides[a], strides[b]);
				check_add(n, strides[a], strides[b]);
			}
}
END_TEST

START_TEST(four_at_once)
{
	loops_begin(_i);
	for (size_t n = 1; n <= MOST_N; n++)
		for (size_t b = 0; b < STRIDES; b++) {
			check_add4(n, MOST_N + 3, strides[b], 3 * MOST_N + 1);
			check_add4(n, -MOST_N - 3, strides[b], 0);
			check_add4(n, MOST_N, 5, 1);
		}
}
END_TEST

START_TEST(stores_scale)
{
	static const struct scalar factor[] = {
		{ 1, 0 }, { 0, 0 }, { -3, 0 }, { 2, 5 }
	};
	/* A real type's have no imaginary part. */
	size_t factors;

	loops_begin(_i);
	factors = parts == 1 ? 3 : 4;
	for (size_t n = 1; n <= MOST_N; n++)
		for (size_t s = 0; s < STRIDES; s++)
			for (size_t x = 0; x < factors * factors; x++)
				if (strides[s])
					check_store(n, strides[s],
						    factor[x % factors],
						    factor[x / factors]);
}
END_TEST

START_TEST(products_of_runs)
{
	tile_begin(_i);
	parts = 1;
	/* Three lines and more. */
	for (size_t n = 1; n <= 52; n++)
		for (int around = AROUND; around < AROUND + 16; around++)
			for (int way = 0; way < 6; way++)
				check_product(n, way % 2, around, way - 7,
					      way / 2 == 2 ? -3 : 0,
					      way / 2 == 1);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("kernel_loops");
	TCase *tcase = suite_case(suite, "kernel_loops");
	int count = 0;

	while (kernel_at((size_t)count))
		count++;
	tcase_add_loop_test(tcase, dots_and_sums, 0, 2 * count);
	tcase_add_loop_test(tcase, four_at_once, 0, 2 * count);
	tcase_add_loop_test(tcase, stores_scale, 0, 2 * count);
	tcase_add_loop_test(tcase, products_of_runs, 0, count);
	return suite_run(suite);
}
