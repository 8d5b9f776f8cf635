/* SPDX-License-Identifier: MIT */
/*
 * The kernels of products that lie side by side, every one that the processor
 * has, against plain loops.  Elements are small whole numbers: sums are exact.
 * The field of NaNs in which C lies is compared whole.
 */
#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "support/kernel_field.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define DEPTH	9
/* Products side by side: whole vectors and what is left. */
#define MOST_N	70
/* Elements of A and of B, in which rows and terms of the sum lie anywhere. */
#define AREA	1500
#define ALPHA	3.0

struct inputs {
	void *a, *b;
	int64_t col_a[DEPTH], row_b[DEPTH];
};

static int64_t
anywhere(size_t n)
{
	return (int64_t)random_below(&tile_seed, (unsigned)(AREA / 2 - n));
}

static double
sum_of(const struct inputs *in, const struct kernel_side *side, size_t i,
       size_t j, size_t x)
{
	double sum = 0;

	for (size_t p = 0; p < side->k; p++)
		sum += tile_get(in->a, (size_t)((int64_t)i * side->row_a +
						in->col_a[p]) + x) *
		       tile_get(in->b, (size_t)((int64_t)j * side->col_b +
						in->row_b[p]) + x);
	return sum;
}

/* C is a field of NaNs but for the tile; with a beta, numbers are there. */
static void
check(const struct inputs *in, struct kernel_side *side, size_t n)
{
	size_t size = kernel->side_rows * kernel->side_cols * (MOST_N + 3);
	void *c = tile_elements(size + 2 * MARGIN, NULL);
	void *expected = tile_elements(size + 2 * MARGIN, NULL);
	size_t wrong = 0;

	/* Rows next to each other, or columns. */
	side->row_c = side->k % 2 ? MOST_N + 3 :
		      (int64_t)kernel->side_cols * (MOST_N + 3);
	side->col_c = side->k % 2 ?
		      (int64_t)kernel->side_rows * (MOST_N + 3) : MOST_N + 3;
	for (size_t i = 0; i < side->rows; i++)
		for (size_t j = 0; j < side->cols; j++)
			for (size_t x = 0; x < n; x++) {
				size_t at = (size_t)((int64_t)i * side->row_c +
						     (int64_t)j * side->col_c)
					    + x + MARGIN;
				double was = whole_number();
				double sum = side->alpha *
					     sum_of(in, side, i, j, x);

				if (side->beta != 0) {
					tile_put(c, at, was);
					sum += side->beta * was;
				}
				tile_put(expected, at, sum);
			}
	kernel->side(n, side, in->a, in->b,
		     (char *)c + MARGIN * kernel->bytes);
	for (size_t i = 0; i < size + 2 * MARGIN; i++) {
		double is = tile_get(c, i), should = tile_get(expected, i);

		wrong += is != should && !(isnan(is) && isnan(should));
	}
	ck_assert_msg(wrong == 0, "%s, %zu bytes, k %zu, %zu x %zu, n %zu, "
		      "beta %g: %zu wrong", kernel->name, kernel->bytes,
		      side->k, side->rows, side->cols, n, side->beta, wrong);
	free(c);
	free(expected);
}

static void
check_tile(const struct inputs *in, size_t rows, size_t cols, size_t n)
{
	/* Under a tool: the least, the largest, and one between. */
	for (size_t k = 1; k <= DEPTH; k += scale(2) < 2 ? DEPTH / 2 : 1)
		for (int scaled = 0; scaled < 2; scaled++) {
			struct kernel_side side = {
				.k = k, .col_a = in->col_a, .row_b = in->row_b,
				.rows = rows, .cols = cols,
				.row_a = 100, .col_b = 90,
				.alpha = scaled ? ALPHA : 1,
				.beta = scaled ? BETA : 0
			};

			check(in, &side, n);
		}
}

START_TEST(tiles_of_all_sizes)
{
	struct inputs in;

	tile_begin(_i);
	in.a = tile_elements(AREA, whole_number);
	in.b = tile_elements(AREA, whole_number);
	for (size_t p = 0; p < DEPTH; p++) {
		in.col_a[p] = anywhere(MOST_N);
		in.row_b[p] = anywhere(MOST_N);
	}
	for (size_t rows = 1; rows <= kernel->side_rows; rows++)
		for (size_t cols = 1; cols <= kernel->side_cols; cols++)
			for (size_t n = 1; n <= MOST_N; n += 1 + n / 20)
				check_tile(&in, rows, cols, n);
	free(in.a);
	free(in.b);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("kernel_side");
	TCase *tcase = suite_case(suite, "kernel_side");
	int count = 0;

	while (kernel_at((size_t)count))
		count++;
	tcase_add_loop_test(tcase, tiles_of_all_sizes, 0, count);
	return suite_run(suite);
}
