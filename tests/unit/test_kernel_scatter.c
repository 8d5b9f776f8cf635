/* SPDX-License-Identifier: MIT */
/*
 * A tile in memory to any place of C, by every kernel that the processor has.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/kernel_field.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

/* The tile's m x n; what is beyond them is NaN. */
static void
fill_tile(void *tile, double *plain, size_t m, size_t n)
{
	for (size_t j = 0; j < kernel->nr; j++)
		for (size_t i = 0; i < kernel->mr; i++) {
			double value = i < m && j < n ? whole_number()
						      : (double)NAN;

			tile_put(tile, j * kernel->mr + i, value);
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
			   random_below(&tile_seed, 16));
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
	void *tile = tile_elements(kernel->mr * kernel->nr, NULL);
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
	tile_begin(_i);
	for (int along = 0; along < ALONGS; along++)
		check_edges(true, (enum along)along);
}
END_TEST

START_TEST(scatter_along_columns)
{
	tile_begin(_i);
	for (int along = 0; along < ALONGS; along++)
		check_edges(false, (enum along)along);
}
END_TEST

#define GAP 5

/*
 * Runs of `run` rows, far apart, on which the columns go on, but for a gap
 * before column `broken`.
 */
static void
check_strips(size_t run, size_t m, size_t n, size_t shift, size_t broken)
{
	size_t apart = run * n + GAP + 5;
	size_t size = m / run * apart + shift + 16;
	int64_t row[MOST_MR], col[MOST_NR];
	void *tile = tile_elements(kernel->mr * kernel->nr, whole_number);
	void *c = tile_elements(size, NULL);
	size_t wrong = 0;

	for (size_t i = 0; i < m; i++)
		row[i] = (int64_t)(i / run * apart + i % run);
	for (size_t j = 0; j < n; j++)
		col[j] = (int64_t)(j * run + shift + (j < broken ? 0 : GAP));
	for (size_t i = 0; i < size; i++)
		tile_put(c, i, -0.5);
	kernel->scatter(m, n, tile, c, row, col, KERNEL_STREAM, 0);
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < m; i++) {
			size_t at = (size_t)(row[i] + col[j]);

			wrong += tile_get(c, at) != tile_get(tile, j * kernel->mr + i);
			tile_put(c, at, -0.5);
		}
	for (size_t i = 0; i < size; i++)
		wrong += tile_get(c, i) != -0.5;
	ck_assert_msg(wrong == 0, "%s, %zu bytes, runs of %zu in %zu x %zu, "
		      "shift %zu, broken at %zu: %zu wrong", kernel->name,
		      kernel->bytes, run, m, n, shift, broken, wrong);
	free(tile);
	free(c);
}

START_TEST(strips_are_streamed_whole)
{
	tile_begin(_i);
	for (size_t run = 1; run <= kernel->mr; run++)
		for (size_t m = run; m <= kernel->mr; m += run)
			for (size_t n = 1; n <= kernel->nr; n++)
				check_strips(run, m, n, (run + m + n) % 17,
					     (run + m) % (n + 1));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("kernel_scatter");
	TCase *tcase = suite_case(suite, "scatter");
	int count = 0;

	while (kernel_at((size_t)count))
		count++;
	tcase_add_loop_test(tcase, scatter_along_rows, 0, count);
	tcase_add_loop_test(tcase, scatter_along_columns, 0, count);
	tcase_add_loop_test(tcase, strips_are_streamed_whole, 0, count);
	return suite_run(suite);
}
