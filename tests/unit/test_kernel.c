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

#include "support/kernel_field.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

/* The table. */

START_TEST(kernels_are_sound)
{
	tile_begin(_i);
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

	tile_begin(_i);
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

	tile_begin(_i);
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

	tile_begin(_i);
	size = kernel->mr * kernel->nr;
	for (size_t step = 0; step <= 41; step++) {
		void *memory = tile_elements(size + 2 * margin, NULL);
		void *tile = (char *)memory + margin * kernel->bytes;
		struct product product;

		product_start(&product, depth(step), whole_number);
		kernel->tile(product.k, product.a, product.b, tile, NULL);
		for (size_t i = 0; i < size; i++)
			wrong += tile_get(tile, i) !=
				 product.tile[i / kernel->mr][i % kernel->mr];
		for (size_t i = 0; i < margin; i++)
			wrong += !isnan(tile_get(memory, i)) +
				 !isnan(tile_get(tile, size + i));
		ck_assert_uint_eq(wrong, 0);
		product_end(&product);
		free(memory);
	}
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
	void *tile = tile_elements(mr * nr, NULL);
	void *direct = tile_elements(mr * nr, real_number);
	int64_t col[MOST_NR];
	struct place place;
	size_t differ = 0;

	place_tile(&place, mr, nr, rows_inside, RUNS, 0);
	for (size_t at = 0; at < mr * nr; at++)
		tile_put(field->c, element_at(&place, at), tile_get(direct, at));
	kernel->tile(product->k, product->a, product->b, tile, NULL);
	kernel->scatter(mr, nr, tile,
			(char *)field->c + place.base * kernel->bytes,
			place.row, place.col, update, FINE_BETA);
	for (size_t j = 0; j < nr; j++)
		col[j] = (int64_t)(j * mr);
	kernel->direct(product->k, product->a, product->b, direct, col, update,
		       FINE_BETA, NULL);
	for (size_t at = 0; at < mr * nr; at++)
		differ += tile_get(field->c, element_at(&place, at)) !=
			  tile_get(direct, at);
	ck_assert_uint_eq(differ, 0);
	free(tile);
	free(direct);
}

START_TEST(both_ways_round_alike)
{
	struct product product;
	struct field field;

	tile_begin(_i);
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

	tile_begin(_i);
	unit = kernel->bytes == sizeof(float) ? 0x1p-24 : 0x1p-53;
	tile = tile_elements(kernel->mr * kernel->nr, NULL);
	for (size_t k = 1; k <= MOST_K; k += 13) {
		struct product product;

		product_start(&product, k, real_number);
		kernel->tile(k, product.a, product.b, tile, NULL);
		for (size_t j = 0; j < kernel->nr; j++)
			for (size_t i = 0; i < kernel->mr; i++)
				/* Twice: the plain loop rounds as well. */
				wrong += fabs(tile_get(tile, j * kernel->mr + i) -
					      product.tile[j][i]) >
					 2 * (double)k * unit *
					 product.magnitude[j][i];
		ck_assert_uint_eq(wrong, 0);
		product_end(&product);
	}
	free(tile);
}
END_TEST

/* beta is rounded to the real type before it multiplies. */
START_TEST(beta_is_rounded_first)
{
	int64_t row = 0, col = 0, differ = 0;
	void *c, *tile;

	tile_begin(_i);
	c = tile_elements(1, NULL);
	tile = tile_elements(kernel->mr * kernel->nr, NULL);
	tile_put(tile, 0, 0);
	for (int i = 1; i <= 100; i++) {
		double beta = 0.1;
		float product = (float)beta * (float)i;

		tile_put(c, 0, i);
		kernel->scatter(1, 1, tile, c, &row, &col, KERNEL_SCALE, beta);
		if (kernel->bytes == sizeof(float))
			ck_assert_double_eq(tile_get(c, 0), (double)product);
		else
			ck_assert_double_eq(tile_get(c, 0), beta * i);
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
	tcase_add_loop_test(tcase, both_ways_round_alike, 0, count);
	tcase_add_loop_test(tcase, sums_are_accurate, 0, count);
	tcase_add_loop_test(tcase, beta_is_rounded_first, 0, count);
	return suite_run(suite);
}
