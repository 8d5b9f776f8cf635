/* SPDX-License-Identifier: MIT */
/*
 * Micro-kernels: every one that the processor has, against plain loops.
 *
 * Elements are small whole numbers, so that every sum is exact and results
 * are compared bit by bit.  C lies in a field of NaNs, and the whole field is
 * compared: what is not the tile's must be untouched, and what is set must
 * not have been read.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "contract/kernel.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define UPDATES	(KERNEL_SCALE + 1)
#define BETA	(-3.0)
/* The most that any kernel here may have. */
#define MOST_MR	64
#define MOST_NR	16
#define MOST_K	300
/* Offsets along a line are below SPAN, lines are SPAN apart. */
#define SPAN	(7 * MOST_MR)
/* A field of C's elements, with room around the tile and for shifting it. */
#define MARGIN	64
#define FIELD	(SPAN * MOST_MR + 2 * MARGIN)

static const struct kernel *kernel;	/* the one under test */
static uint64_t seed;

static void
begin(int i)
{
	kernel = kernel_at((size_t)i);
	ck_assert_ptr_nonnull(kernel);
	seed = (uint64_t)i;
}

static double
get(const void *elements, size_t i)
{
	if (kernel->bytes == sizeof(float))
		return ((const float *)elements)[i];
	return ((const double *)elements)[i];
}

static void
put(void *elements, size_t i, double value)
{
	if (kernel->bytes == sizeof(float))
		((float *)elements)[i] = (float)value;
	else
		((double *)elements)[i] = value;
}

static double
whole_number(void)
{
	return (double)random_below(&seed, 15) - 7;
}

/* In -1 .. 1, with all the digits that a double has. */
static double
real_number(void)
{
	return (double)(int64_t)random_next(&seed) / 0x1p63;
}

/* Exactly as many bytes as asked for, so that tools see what is beyond. */
static void *
elements(size_t count, double (*value)(void))
{
	void *p;

	ck_assert_int_eq(posix_memalign(&p, 64, count * kernel->bytes + !count),
			 0);
	for (size_t i = 0; i < count; i++)
		put(p, i, value ? value() : NAN);
	return p;
}

/* Panels of depth k, and their product by plain loops. */
struct product {
	size_t k;
	void *a, *b;
	void *b_memory;
	double tile[MOST_NR][MOST_MR];
	double magnitude[MOST_NR][MOST_MR];	/* the same of |a| and |b| */
};

static void
multiply(struct product *product)
{
	memset(product->tile, 0, sizeof(product->tile));
	memset(product->magnitude, 0, sizeof(product->magnitude));
	for (size_t p = 0; p < product->k; p++)
		for (size_t j = 0; j < kernel->nr; j++)
			for (size_t i = 0; i < kernel->mr; i++) {
				double term =
					get(product->a, p * kernel->mr + i) *
					get(product->b, p * kernel->nr + j);

				product->tile[j][i] += term;
				product->magnitude[j][i] += fabs(term);
			}
}

static void
product_start(struct product *product, size_t k, double (*value)(void))
{
	size_t skip = 16 / kernel->bytes;	/* B is aligned to 16 only */

	product->k = k;
	product->a = elements(k * kernel->mr, value);
	product->b_memory = elements(k * kernel->nr + skip, value);
	product->b = (char *)product->b_memory + 16;
	multiply(product);
}

static void
product_end(struct product *product)
{
	free(product->a);
	free(product->b_memory);
}

/* Where a tile goes: the offsets, from element `base` of a field. */
struct place {
	size_t size;	/* of the part of the field that is looked at */
	size_t base;
	int64_t row[MOST_MR], col[MOST_NR];
};

/* C before, and what it must be afterwards. */
struct field {
	void *c, *expected;
};

static void
field_start(struct field *field)
{
	field->c = elements(FIELD, NULL);
	field->expected = elements(FIELD, NULL);
}

static void
field_end(struct field *field)
{
	free(field->c);
	free(field->expected);
}

static double
updated(double c, double tile, enum kernel_update update)
{
	if (update == KERNEL_ADD)
		return c + tile;
	if (update == KERNEL_SCALE)
		return BETA * c + tile;
	return tile;
}

/*
 * NaN all over the field, but for numbers where C is read; and what an update
 * with tile[j * stride + i] makes of that.
 */
static void
expect_update(struct field *field, const struct place *place, size_t m,
	      size_t n, const double *tile, size_t stride,
	      enum kernel_update update)
{
	ck_assert_uint_le(place->size, FIELD);
	for (size_t i = 0; i < place->size; i++)
		put(field->c, i, NAN);
	memcpy(field->expected, field->c, place->size * kernel->bytes);
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < m; i++) {
			size_t at = place->base +
				    (size_t)(place->row[i] + place->col[j]);
			double c = update == KERNEL_ADD ||
				   update == KERNEL_SCALE ? whole_number()
							  : (double)NAN;

			/* An assertion costs too much to be made each time. */
			if (at >= place->size)
				ck_abort_msg("a place beyond the field");
			put(field->c, at, c);
			put(field->expected, at,
			    updated(c, tile[j * stride + i], update));
		}
}

static bool
as_expected(const struct field *field, const struct place *place)
{
	return !memcmp(field->c, field->expected,
		       place->size * kernel->bytes);
}

/* A random order of 0 .. n - 1. */
static void
shuffle(size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t other = random_below(&seed, (unsigned)i + 1);

		order[i] = order[other];
		order[other] = i;
	}
}

/* How offsets along a line go. */
enum along { UNIT, RUNS, STRIDED, BACKWARD, ALONGS };

static void
inner_offsets(int64_t *offset, size_t n, enum along along)
{
	int64_t next = random_below(&seed, 4);

	for (size_t i = 0; i < n; i++) {
		offset[along == BACKWARD ? n - 1 - i : i] = next;
		next++;
		if (along == STRIDED)
			next++;
		else if (along == RUNS && random_below(&seed, 5) == 0)
			next += random_below(&seed, 3);
	}
	/* The last run before the first: a step back, and into the middle. */
	if (along == RUNS && n > 4)
		for (size_t i = 0; i < n; i++)
			offset[i] += i < n / 2 ? SPAN / 2 : 0;
}

static void
outer_offsets(int64_t *offset, size_t n)
{
	size_t order[MOST_MR];

	shuffle(order, n);
	for (size_t i = 0; i < n; i++)
		offset[i] = (int64_t)order[i] * SPAN;
}

/* `shift` moves it by elements; some of the offsets are negative. */
static void
place_tile(struct place *place, size_t m, size_t n, bool rows_inside,
	   enum along along, size_t shift)
{
	int64_t by = SPAN / 3;

	if (rows_inside) {
		inner_offsets(place->row, m, along);
		outer_offsets(place->col, n);
	} else {
		inner_offsets(place->col, n, along);
		outer_offsets(place->row, m);
	}
	for (size_t i = 0; i < m; i++)
		place->row[i] -= by;
	place->base = MARGIN / 2 + shift + (size_t)by;
	place->size = (rows_inside ? n : m) * SPAN + 2 * MARGIN;
}

/* The table. */

START_TEST(kernels_are_sound)
{
	begin(_i);
	ck_assert(kernel->bytes == 4 || kernel->bytes == 8);
	ck_assert_uint_le(kernel->mr, MOST_MR);
	ck_assert_uint_le(kernel->nr, MOST_NR);
	ck_assert_uint_gt(kernel->mr, 0);
	ck_assert_uint_gt(kernel->nr, 0);
	ck_assert_uint_eq(kernel->mr % 2, 0);
	ck_assert_uint_eq(kernel->mr * kernel->bytes % 16, 0);
	ck_assert_ptr_eq(kernel_find(kernel->name, kernel->bytes), kernel);
}
END_TEST

START_TEST(the_best_is_found)
{
	for (size_t bytes = 4; bytes <= 8; bytes += 4) {
		const struct kernel *best = kernel_find(NULL, bytes);

		ck_assert_ptr_nonnull(best);
		ck_assert_uint_eq(best->bytes, bytes);
		ck_assert_ptr_nonnull(kernel_find("portable", bytes));
		ck_assert_ptr_null(kernel_find("none", bytes));
		ck_assert_ptr_null(kernel_find("", bytes));
		/* The first in the order of kernel_at(). */
		for (size_t i = 0; kernel_at(i) != best; i++)
			ck_assert_uint_ne(kernel_at(i)->bytes, bytes);
	}
	ck_assert_ptr_null(kernel_find(NULL, 2));
	ck_assert_ptr_null(kernel_find("portable", 16));
	ck_assert_ptr_null(kernel_at(SIZE_MAX));
}
END_TEST

/* Direct. */

static size_t
depth(size_t step)
{
	return step <= 40 ? step : MOST_K;
}

static void
check_direct(const struct product *product, struct field *field, size_t shift)
{
	for (int update = 0; update < UPDATES; update++) {
		struct place place;

		place_tile(&place, kernel->mr, kernel->nr, true, UNIT, 0);
		place.base = MARGIN / 2 + shift;
		for (size_t i = 0; i < kernel->mr; i++)
			place.row[i] = (int64_t)i;
		expect_update(field, &place, kernel->mr, kernel->nr,
			      product->tile[0], MOST_MR,
			      (enum kernel_update)update);
		kernel->direct(product->k, product->a, product->b,
			       (char *)field->c + place.base * kernel->bytes,
			       place.col, (enum kernel_update)update, BETA,
			       NULL);
		ck_assert_msg(as_expected(field, &place),
			      "%s, %zu bytes, k %zu, update %d, shift %zu",
			      kernel->name,
			      kernel->bytes, product->k, update, shift);
	}
}

START_TEST(direct_at_any_depth)
{
	struct field field;

	begin(_i);
	field_start(&field);
	for (size_t step = 0; step <= 41; step++) {
		struct product product;

		product_start(&product, depth(step), whole_number);
		check_direct(&product, &field, step % 16);
		product_end(&product);
	}
	field_end(&field);
}
END_TEST

/* Every place in a line at which a column can begin. */
START_TEST(direct_at_any_alignment)
{
	struct product product;
	struct field field;

	begin(_i);
	field_start(&field);
	product_start(&product, 7, whole_number);
	for (size_t shift = 0; shift < 2 * 64 / kernel->bytes; shift++)
		check_direct(&product, &field, shift);
	product_end(&product);
	field_end(&field);
}
END_TEST

/* Tile. */

START_TEST(tile_at_any_depth)
{
	size_t margin = 64 / sizeof(float);
	size_t size, wrong = 0;

	begin(_i);
	size = kernel->mr * kernel->nr;
	for (size_t step = 0; step <= 41; step++) {
		void *memory = elements(size + 2 * margin, NULL);
		void *tile = (char *)memory + margin * kernel->bytes;
		struct product product;

		product_start(&product, depth(step), whole_number);
		kernel->tile(product.k, product.a, product.b, tile, NULL);
		for (size_t i = 0; i < size; i++)
			wrong += get(tile, i) !=
				 product.tile[i / kernel->mr][i % kernel->mr];
		for (size_t i = 0; i < margin; i++)
			wrong += !isnan(get(memory, i)) +
				 !isnan(get(tile, size + i));
		ck_assert_uint_eq(wrong, 0);
		product_end(&product);
		free(memory);
	}
}
END_TEST

/* Scatter. */

/* The tile's m x n; what is beyond them is NaN. */
static void
fill_tile(void *tile, double *plain, size_t m, size_t n)
{
	for (size_t j = 0; j < kernel->nr; j++)
		for (size_t i = 0; i < kernel->mr; i++) {
			double value = i < m && j < n ? whole_number()
						      : (double)NAN;

			put(tile, j * kernel->mr + i, value);
			plain[j * kernel->mr + i] = value;
		}
}

static void
check_scatter(void *tile, struct field *field, size_t m, size_t n,
	      bool rows_inside, enum along along)
{
	double plain[MOST_MR * MOST_NR];

	fill_tile(tile, plain, m, n);
	for (int update = 0; update < UPDATES; update++) {
		struct place place;

		place_tile(&place, m, n, rows_inside, along,
			   random_below(&seed, 16));
		expect_update(field, &place, m, n, plain, kernel->mr,
			      (enum kernel_update)update);
		kernel->scatter(m, n, tile,
				(char *)field->c + place.base * kernel->bytes,
				place.row, place.col,
				(enum kernel_update)update, BETA);
		ck_assert_msg(as_expected(field, &place),
			      "%s, %zu bytes, %zu x %zu, update %d, "
			      "rows inside %d, along %d",
			      kernel->name, kernel->bytes, m, n, update,
			      rows_inside, along);
	}
}

/* All m x n, in one way of lying after another. */
static void
check_edges(bool rows_inside, enum along along)
{
	void *tile = elements(kernel->mr * kernel->nr, NULL);
	struct field field;
	/* Fewer where every step is slow: other ones for each way. */
	size_t step = 16 / scale(16);

	field_start(&field);
	for (size_t m = 0; m <= kernel->mr; m++)
		for (size_t n = 0; n <= kernel->nr; n++)
			if ((m * (kernel->nr + 1) + n + along) % step == 0)
				check_scatter(tile, &field, m, n, rows_inside,
					      along);
	field_end(&field);
	free(tile);
}

START_TEST(scatter_along_rows)
{
	begin(_i);
	for (int along = 0; along < ALONGS; along++)
		check_edges(true, (enum along)along);
}
END_TEST

START_TEST(scatter_along_columns)
{
	begin(_i);
	for (int along = 0; along < ALONGS; along++)
		check_edges(false, (enum along)along);
}
END_TEST

/* Rounding. */

/* A beta of many digits. */
#define FINE_BETA	1.1

/* Where element `at` of a whole tile in memory is in a field. */
static size_t
element_at(const struct place *place, size_t at)
{
	return place->base + (size_t)(place->row[at % kernel->mr] +
				      place->col[at / kernel->mr]);
}

/* Whether a tile goes directly or by memory, the result has the same bits. */
static void
check_ways(const struct product *product, struct field *field,
	   enum kernel_update update, bool rows_inside)
{
	size_t mr = kernel->mr, nr = kernel->nr;
	void *tile = elements(mr * nr, NULL);
	void *direct = elements(mr * nr, real_number);
	int64_t col[MOST_NR];
	struct place place;
	size_t differ = 0;

	place_tile(&place, mr, nr, rows_inside, RUNS, 0);
	for (size_t at = 0; at < mr * nr; at++)
		put(field->c, element_at(&place, at), get(direct, at));
	kernel->tile(product->k, product->a, product->b, tile, NULL);
	kernel->scatter(mr, nr, tile,
			(char *)field->c + place.base * kernel->bytes,
			place.row, place.col, update, FINE_BETA);
	for (size_t j = 0; j < nr; j++)
		col[j] = (int64_t)(j * mr);
	kernel->direct(product->k, product->a, product->b, direct, col, update,
		       FINE_BETA, NULL);
	for (size_t at = 0; at < mr * nr; at++)
		differ += get(field->c, element_at(&place, at)) !=
			  get(direct, at);
	ck_assert_uint_eq(differ, 0);
	free(tile);
	free(direct);
}

START_TEST(both_ways_round_alike)
{
	struct product product;
	struct field field;

	begin(_i);
	field_start(&field);
	product_start(&product, MOST_K, real_number);
	for (int update = 0; update < UPDATES; update++) {
		check_ways(&product, &field, (enum kernel_update)update, true);
		check_ways(&product, &field, (enum kernel_update)update,
			   false);
	}
	product_end(&product);
	field_end(&field);
}
END_TEST

/* The usual bound, k units in the last place of the sum of |a| |b|. */
START_TEST(sums_are_accurate)
{
	size_t wrong = 0;
	double unit;
	void *tile;

	begin(_i);
	unit = kernel->bytes == sizeof(float) ? 0x1p-24 : 0x1p-53;
	tile = elements(kernel->mr * kernel->nr, NULL);
	for (size_t k = 1; k <= MOST_K; k += 13) {
		struct product product;

		product_start(&product, k, real_number);
		kernel->tile(k, product.a, product.b, tile, NULL);
		for (size_t j = 0; j < kernel->nr; j++)
			for (size_t i = 0; i < kernel->mr; i++)
				/* Twice: the plain loop rounds as well. */
				wrong += fabs(get(tile, j * kernel->mr + i) -
					      product.tile[j][i]) >
					 2 * (double)k * unit *
					 product.magnitude[j][i];
		ck_assert_uint_eq(wrong, 0);
		product_end(&product);
	}
	free(tile);
}
END_TEST

/* Runs of `run` rows, far apart, on which the columns go on. */
static void
check_strips(size_t run, size_t m, size_t n, size_t shift)
{
	size_t apart = run * n + 5, size = m / run * apart + shift + 16;
	int64_t row[MOST_MR], col[MOST_NR];
	void *tile = elements(kernel->mr * kernel->nr, whole_number);
	void *c = elements(size, NULL);
	size_t wrong = 0;

	for (size_t i = 0; i < m; i++)
		row[i] = (int64_t)(i / run * apart + i % run);
	for (size_t j = 0; j < n; j++)
		col[j] = (int64_t)(j * run + shift);
	for (size_t i = 0; i < size; i++)
		put(c, i, -0.5);
	kernel->scatter(m, n, tile, c, row, col, KERNEL_STREAM, 0);
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < m; i++) {
			size_t at = (size_t)(row[i] + col[j]);

			wrong += get(c, at) != get(tile, j * kernel->mr + i);
			put(c, at, -0.5);
		}
	for (size_t i = 0; i < size; i++)
		wrong += get(c, i) != -0.5;
	ck_assert_msg(wrong == 0, "%s, %zu bytes, runs of %zu in %zu x %zu, "
		      "shift %zu: %zu wrong", kernel->name, kernel->bytes,
		      run, m, n, shift, wrong);
	free(tile);
	free(c);
}

START_TEST(strips_are_streamed_whole)
{
	begin(_i);
	for (size_t run = 1; run <= kernel->mr; run++)
		for (size_t m = run; m <= kernel->mr; m += run)
			for (size_t n = 1; n <= kernel->nr; n++)
				check_strips(run, m, n, (run + m + n) % 17);
}
END_TEST

/* beta is rounded to the real type before it multiplies. */
START_TEST(beta_is_rounded_first)
{
	int64_t row = 0, col = 0, differ = 0;
	void *c, *tile;

	begin(_i);
	c = elements(1, NULL);
	tile = elements(kernel->mr * kernel->nr, NULL);
	put(tile, 0, 0);
	for (int i = 1; i <= 100; i++) {
		double beta = 0.1;
		float product = (float)beta * (float)i;

		put(c, 0, i);
		kernel->scatter(1, 1, tile, c, &row, &col, KERNEL_SCALE, beta);
		if (kernel->bytes == sizeof(float))
			ck_assert_double_eq(get(c, 0), (double)product);
		else
			ck_assert_double_eq(get(c, 0), beta * i);
		differ += (double)product != (double)(float)(beta * i);
	}
	ck_assert_int_gt(differ, 0);
	free(c);
	free(tile);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("kernel");
	TCase *tcase = suite_case(suite, "kernel");
	int count = 0;

	while (kernel_at((size_t)count))
		count++;
	tcase_add_test(tcase, the_best_is_found);
	tcase_add_loop_test(tcase, kernels_are_sound, 0, count);
	tcase_add_loop_test(tcase, direct_at_any_depth, 0, count);
	tcase_add_loop_test(tcase, direct_at_any_alignment, 0, count);
	tcase_add_loop_test(tcase, tile_at_any_depth, 0, count);
	tcase_add_loop_test(tcase, scatter_along_rows, 0, count);
	tcase_add_loop_test(tcase, scatter_along_columns, 0, count);
	tcase_add_loop_test(tcase, strips_are_streamed_whole, 0, count);
	tcase_add_loop_test(tcase, both_ways_round_alike, 0, count);
	tcase_add_loop_test(tcase, sums_are_accurate, 0, count);
	tcase_add_loop_test(tcase, beta_is_rounded_first, 0, count);
	return suite_run(suite);
}
