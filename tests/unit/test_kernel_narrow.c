/* SPDX-License-Identifier: MIT */
/*
 * The kernels of products of few columns, every one that the processor has,
 * against plain loops.  Elements are small whole numbers: sums are exact.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "support/kernel_field.h"
#include "support/random.h"
#include "support/suite.h"

#define DEPTH	40
/* Elements of A, in which rows and columns of the sum lie anywhere. */
#define AREA	5000

struct inputs {
	size_t nr;
	void *a, *b;
	int64_t row[MOST_MR], col[DEPTH];
};

static void
inputs_start(struct inputs *in, size_t nr)
{
	in->nr = nr;
	in->a = tile_elements(AREA, whole_number);
	in->b = tile_elements(DEPTH * nr, whole_number);
	for (size_t i = 0; i < kernel->sums_mr; i++)
		in->row[i] = random_below(&tile_seed, AREA / 2);
	for (size_t p = 0; p < DEPTH; p++)
		in->col[p] = random_below(&tile_seed,
				(unsigned)(AREA / 2 - kernel->rows_mr));
}

static void
inputs_end(struct inputs *in)
{
	free(in->a);
	free(in->b);
}

/* Of the row at `row` with column j, over k. */
static double
dot(const struct inputs *in, int64_t row, size_t j, size_t k)
{
	double sum = 0;

	for (size_t p = 0; p < k; p++)
		sum += tile_get(in->a, (size_t)(row + in->col[p])) *
		       tile_get(in->b, p * in->nr + j);
	return sum;
}

START_TEST(vectors_of_rows)
{
	size_t mr, stride, size;
	struct inputs in;
	void *tile;

	tile_begin(_i);
	mr = kernel->rows_mr;
	stride = mr + kernel->lanes;
	size = (kernel->rows_nr - 1) * stride + mr;
	tile = tile_elements(size, whole_number);
	inputs_start(&in, kernel->rows_nr);
	for (size_t k = 0; k <= DEPTH; k++) {
		size_t wrong = 0;

		for (size_t i = 0; i < size; i++)
			tile_put(tile, i, 0.5);
		kernel->narrow_rows(k, in.a, in.col, in.b, tile, stride, in.a);
		for (size_t i = 0; i < size; i++) {
			size_t j = i / stride, row = i % stride;
			double right = row < mr ?
				       dot(&in, (int64_t)row, j, k) : 0.5;

			wrong += tile_get(tile, i) != right;
		}
		ck_assert_msg(wrong == 0, "%s, %zu bytes, k %zu: %zu wrong",
			      kernel->name, kernel->bytes, k, wrong);
	}
	inputs_end(&in);
	free(tile);
}
END_TEST

START_TEST(rows_anywhere)
{
	size_t nr, stride, size;
	struct inputs in;
	void *tile;

	tile_begin(_i);
	nr = kernel->sums_nr;
	stride = 2 * nr;
	size = (kernel->sums_mr - 1) * stride + nr;
	tile = tile_elements(size, whole_number);
	inputs_start(&in, nr);
	for (size_t k = 0; k <= DEPTH; k++) {
		size_t wrong = 0;

		for (size_t i = 0; i < size; i++)
			tile_put(tile, i, 0.5);
		kernel->narrow_sums(k, in.a, in.row, in.col, in.b, tile,
				    stride, in.a);
		for (size_t i = 0; i < size; i++) {
			size_t row = i / stride, j = i % stride;
			double right = j < nr ?
				       dot(&in, in.row[row], j, k) : 0.5;

			wrong += tile_get(tile, i) != right;
		}
		ck_assert_msg(wrong == 0, "%s, %zu bytes, k %zu: %zu wrong",
			      kernel->name, kernel->bytes, k, wrong);
	}
	inputs_end(&in);
	free(tile);
}
END_TEST

/* Lines of C some way apart, each beginning anywhere in a cache line. */
static void
check_turn(const void *tile, struct field *field, size_t rows, size_t first,
	   size_t last, size_t shift)
{
	size_t lanes = kernel->lanes, stride = 2 * lanes;
	double plain[MOST_MR * MOST_MR];

	for (size_t x = 0; x < last; x++)
		for (size_t i = 0; i < rows; i++)
			plain[x * MOST_MR + i] =
				tile_get(tile, i * stride + x);
	for (int update = 0; update < UPDATES; update++) {
		struct place place;

		place_tile(&place, rows, last, true, UNIT, shift);
		for (size_t i = 0; i < rows; i++)
			place.row[i] = (int64_t)i;
		/* Those before `first` are none of this call's. */
		memmove(place.col, place.col + first,
			(last - first) * sizeof(place.col[0]));
		expect_update(field, &place, rows, last - first,
			      plain + first * MOST_MR, MOST_MR,
			      (enum kernel_update)update);
		memmove(place.col + first, place.col,
			(last - first) * sizeof(place.col[0]));
		kernel->narrow_turn(rows, tile, stride, first, last,
				    (char *)field->c +
				    place.base * kernel->bytes, place.col,
				    (enum kernel_update)update, BETA);
		ck_assert_msg(as_expected(field, &place), "%s, %zu bytes, "
			      "%zu rows, %zu to %zu, update %d, shift %zu",
			      kernel->name, kernel->bytes, rows, first, last,
			      update, shift);
	}
}

START_TEST(results_are_turned)
{
	struct field field;
	size_t lanes, most;
	void *tile;

	tile_begin(_i);
	lanes = kernel->lanes;
	most = NARROW_LINES * kernel->line;
	tile = tile_elements(most * 2 * lanes, whole_number);
	field_start(&field);
	for (size_t rows = 1; rows <= most; rows++)
		for (size_t x = 0; x < lanes; x++) {
			check_turn(tile, &field, rows, 0, x + 1, rows % 16);
			check_turn(tile, &field, rows, x, lanes, x);
		}
	for (size_t shift = 0; shift < 64 / kernel->bytes; shift++)
		check_turn(tile, &field, most, 0, lanes, shift);
	field_end(&field);
	free(tile);
}
END_TEST

/* Rows of a tile that begin amid vectors, to anywhere in a line of C. */
static void
check_copy(const void *tile, struct field *field, size_t length, size_t shift)
{
	enum { ROWS = 5 };
	size_t stride = 3 * kernel->line + 1;
	double plain[ROWS * MOST_MR];

	for (size_t i = 0; i < ROWS; i++)
		for (size_t x = 0; x < length; x++)
			plain[i * MOST_MR + x] =
				tile_get(tile, i * stride + x);
	for (int update = 0; update < UPDATES; update++) {
		struct place place;

		place_tile(&place, length, ROWS, true, UNIT, shift);
		for (size_t x = 0; x < length; x++)
			place.row[x] = (int64_t)x;
		expect_update(field, &place, length, ROWS, plain, MOST_MR,
			      (enum kernel_update)update);
		kernel->narrow_copy(ROWS, length, tile, stride,
				    (char *)field->c +
				    place.base * kernel->bytes, place.col,
				    (enum kernel_update)update, BETA);
		ck_assert_msg(as_expected(field, &place), "%s, %zu bytes, "
			      "length %zu, update %d, shift %zu",
			      kernel->name, kernel->bytes, length, update,
			      shift);
	}
}

START_TEST(results_are_copied)
{
	struct field field;
	size_t most;
	void *tile;

	tile_begin(_i);
	most = 3 * kernel->line;
	tile = tile_elements(5 * (most + 1), whole_number);
	field_start(&field);
	for (size_t length = 1; length <= most; length++)
		check_copy(tile, &field, length, length % 16);
	for (size_t shift = 0; shift < 64 / kernel->bytes; shift++)
		check_copy(tile, &field, most, shift);
	field_end(&field);
	free(tile);
}
END_TEST

START_TEST(the_table_is_sound)
{
	tile_begin(_i);
	ck_assert_uint_gt(kernel->lanes, 1);
	ck_assert_uint_eq(kernel->line * kernel->bytes, CACHE_LINE);
	ck_assert_uint_eq(kernel->line % kernel->lanes, 0);
	ck_assert_uint_eq(kernel->line % kernel->rows_mr, 0);
	ck_assert_uint_eq(kernel->rows_mr % kernel->lanes, 0);
	ck_assert_uint_le(kernel->sums_mr, kernel->lanes);
	ck_assert_uint_eq(kernel->lanes % kernel->sums_mr, 0);
	ck_assert_uint_eq(kernel->sums_nr * 2 % kernel->lanes, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("kernel_narrow");
	TCase *tcase = suite_case(suite, "narrow");
	int count = 0;

	while (kernel_at((size_t)count))
		count++;
	tcase_add_loop_test(tcase, the_table_is_sound, 0, count);
	tcase_add_loop_test(tcase, vectors_of_rows, 0, count);
	tcase_add_loop_test(tcase, rows_anywhere, 0, count);
	tcase_add_loop_test(tcase, results_are_turned, 0, count);
	tcase_add_loop_test(tcase, results_are_copied, 0, count);
	return suite_run(suite);
}
