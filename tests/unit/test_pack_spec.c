/* SPDX-License-Identifier: MIT */
/*
 * Packing as callers see it: by each kernel of this processor, for each type
 * and side; sums; scaling; and that the product of what is packed is the
 * product.
 */
#include "contract/pack.h"

#include <check.h>
#include <string.h>

#include "support/block.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

/* A loop test's number: a kernel, a side, real or complex. */
#define KERNELS_MOST 6
#define SPECS (4 * KERNELS_MOST)

static struct block block;

/* False: this processor has no such kernel. */
static bool
spec_get(int i, struct pack_spec *spec)
{
	spec->kernel = kernel_at((size_t)i / 4);
	spec->side = i % 2 ? PACK_B : PACK_A;
	spec->complex = i / 2 % 2;
	return spec->kernel;
}

/* Real q of the panel's row i in complex column p: from re and im. */
static double
complex_real(enum pack_side side, size_t lane, size_t second, double re,
	     double im)
{
	if (side == PACK_B)
		return second ? im : re;
	if (second)
		return lane % 2 ? re : -im;
	return lane % 2 ? im : re;
}

/* The value that lane `lane` of real column q has. */
static double
wanted(const struct pack_spec *spec, size_t lane, size_t q)
{
	bool pairs = spec->complex && spec->side == PACK_A;
	size_t row = pairs ? lane / 2 : lane;
	size_t p = spec->complex ? q / 2 : q;

	if (row >= block.rows)
		return 0;
	if (!spec->complex)
		return block_sum(&block, row, p, 0);
	return complex_real(spec->side, lane, q % 2,
			    block_sum(&block, row, p, 0),
			    block_sum(&block, row, p, 1));
}

static void
check_panels(const struct pack_spec *spec, const void *dst, double factor)
{
	size_t lanes = pack_lanes(spec), width = pack_width(spec);
	size_t panels = (block.rows + width - 1) / width;
	size_t depth = block.cols * (spec->complex ? 2 : 1);
	size_t at = 0;

	ck_assert_uint_eq(pack_bytes(spec, block.rows, block.cols),
			  panels * lanes * depth * spec->kernel->bytes);
	for (size_t first = 0; first < panels * lanes; first += lanes)
		for (size_t q = 0; q < depth; q++)
			for (size_t i = 0; i < lanes; i++, at++) {
				double have = real_get(spec->kernel->bytes,
						       dst, at);

				if (have != factor * wanted(spec, first + i, q))
					ck_abort_msg("%s %zu: %zu x %zu: "
						     "row %zu, column %zu",
						     spec->kernel->name,
						     spec->kernel->bytes,
						     block.rows, block.cols,
						     first + i, q);
			}
}

static void
fill(const struct pack_spec *spec)
{
	block_fill(&block, spec->kernel->bytes, spec->complex ? 2 : 1);
}

/* Packs the block, without sums, and checks. */
static void
run(const struct pack_spec *spec)
{
	size_t bytes = pack_bytes(spec, block.rows, block.cols);
	void *dst = panels_make(bytes);

	/* One term, which is the element. */
	block.count = 1;
	block.sum[0] = 0;
	fill(spec);
	pack(spec, block.rows, block.cols, block.src, block.row, block.col,
	     block.period, dst);
	check_panels(spec, dst, 1);
	panels_free(dst, bytes);
	block_empty(&block);
}

START_TEST(every_edge)
{
	static const size_t cols[] = { 0, 1, 2, 5, 8, 19, 40, 130 };
	struct pack_spec spec;

	if (!spec_get(_i, &spec))
		return;
	for (size_t m = 0; m <= 2 * pack_width(&spec) + 1; m++)
		for (size_t c = 0; c < sizeof(cols) / sizeof(cols[0]); c++)
			for (int l = 0; l < BLOCK_LAYOUTS; l++) {
				block_size(&block, m, cols[c]);
				block_lay(&block, l);
				run(&spec);
			}
}
END_TEST

START_TEST(random_offsets)
{
	uint64_t random = (uint64_t)_i;
	struct pack_spec spec;

	if (!spec_get(_i, &spec))
		return;
	for (unsigned n = 0; n < scale(300); n++) {
		block_size(&block, random_below(&random, 200),
			   random_below(&random, 200));
		offsets_scramble(&random, block.rows, block.row);
		offsets_scramble(&random, block.cols, block.col);
		block.period = random_below(&random, 2) *
			       random_below(&random, 40);
		run(&spec);
	}
}
END_TEST

/* The first `count` terms in one call, the others in a second. */
static void
run_sum(const struct pack_spec *spec, size_t count)
{
	size_t bytes = pack_bytes(spec, block.rows, block.cols);
	void *dst = panels_make(bytes);

	fill(spec);
	pack_sum(spec, block.rows, block.cols, block.src, block.row,
		 block.col, count, block.sum, false, dst);
	if (count < block.count)
		pack_sum(spec, block.rows, block.cols, block.src, block.row,
			 block.col, block.count - count, block.sum + count,
			 true, dst);
	check_panels(spec, dst, 1);
	panels_free(dst, bytes);
	block_empty(&block);
}

START_TEST(sums)
{
	static const size_t counts[] = { 0, 1, 3, 4, 7, 30, 150 };
	uint64_t random = (uint64_t)_i;
	struct pack_spec spec;

	if (!spec_get(_i, &spec))
		return;
	for (unsigned n = 0; n < scale(210); n++) {
		block_size(&block, random_below(&random, 60),
			   random_below(&random, 60));
		block_lay(&block, n % BLOCK_LAYOUTS);
		block.count = counts[n % 7];
		if (n % 3 == 0)
			offsets_line(block.count, block.sum, 1);
		else if (n % 3 == 1)
			offsets_line(block.count, block.sum, -5000);
		else
			offsets_scramble(&random, block.count, block.sum);
		run_sum(&spec, block.count);
		run_sum(&spec, random_below(&random,
					    (unsigned)block.count + 1));
	}
}
END_TEST

START_TEST(scaled_by_a_real)
{
	struct pack_spec spec;
	size_t bytes;
	void *dst;

	if (!spec_get(_i, &spec) || spec.side == PACK_A)
		return;
	block_size(&block, 3 * pack_width(&spec) + 1, 37);
	block_lay(&block, 0);
	block.count = 1;
	block.sum[0] = 0;
	bytes = pack_bytes(&spec, block.rows, block.cols);
	dst = panels_make(bytes);
	fill(&spec);
	pack(&spec, block.rows, block.cols, block.src, block.row, block.col,
	     0, dst);
	pack_scale(&spec, block.rows, block.cols, -3, 0, dst);
	check_panels(&spec, dst, -3);
	panels_free(dst, bytes);
	block_empty(&block);
}
END_TEST

/* Products.  A is m x k, B is k x n, both of elements of `parts` reals. */

struct operand {
	struct pack_spec spec;
	struct block block;
	void *panels;
};

static struct operand a, b;

static void
operand_make(struct operand *operand, size_t rows, size_t cols, int layout)
{
	const struct pack_spec *spec = &operand->spec;
	struct block *from = &operand->block;

	block_size(from, rows, cols);
	block_lay(from, layout);
	block_fill(from, spec->kernel->bytes, spec->complex ? 2 : 1);
	operand->panels = panels_make(pack_bytes(spec, rows, cols));
	pack(spec, rows, cols, from->src, from->row, from->col, from->period,
	     operand->panels);
}

static void
operand_free(struct operand *operand)
{
	panels_free(operand->panels, pack_bytes(&operand->spec,
						operand->block.rows,
						operand->block.cols));
	block_empty(&operand->block);
}

struct complex_number {
	double re, im;
};

static struct complex_number
multiply(struct complex_number x, struct complex_number y)
{
	return (struct complex_number){ x.re * y.re - x.im * y.im,
					x.re * y.im + x.im * y.re };
}

static struct complex_number
value(const struct operand *operand, size_t i, size_t p)
{
	struct complex_number x = { block_element(&operand->block, i, p, 0),
				    0 };

	if (operand->spec.complex)
		x.im = block_element(&operand->block, i, p, 1);
	return x;
}

/* Element (i, j) of the tile against the sum, times alpha. */
static void
check_element(const void *tile, size_t i, size_t j,
	      struct complex_number alpha)
{
	const struct kernel *kernel = a.spec.kernel;
	struct complex_number sum = { 0, 0 }, term;
	size_t parts = a.spec.complex ? 2 : 1;

	for (size_t p = 0; p < a.block.cols; p++) {
		term = multiply(value(&a, i, p), value(&b, j, p));
		sum.re += term.re;
		sum.im += term.im;
	}
	sum = multiply(sum, alpha);
	for (size_t part = 0; part < parts; part++)
		ck_assert(real_get(kernel->bytes, tile,
				   j * kernel->mr + parts * i + part) ==
			  (part ? sum.im : sum.re));
}

START_TEST(kernel_multiplies)
{
	/* Products stay exact in a float's 24 bits. */
	const size_t k = 9;
	const struct complex_number alpha = { 2, _i / 2 % 2 ? -3 : 0 };
	const struct kernel *kernel;
	size_t bytes;
	void *tile;

	if (_i % 2 || !spec_get(_i, &a.spec))
		return;
	b.spec = a.spec;
	b.spec.side = PACK_B;
	kernel = a.spec.kernel;
	operand_make(&a, pack_width(&a.spec) - 1, k, 4);
	operand_make(&b, pack_width(&b.spec) - 1, k, 1);
	pack_scale(&b.spec, b.block.rows, k, alpha.re, alpha.im, b.panels);
	bytes = kernel->mr * kernel->nr * kernel->bytes;
	tile = panels_make(bytes);
	kernel->tile(k * pack_depth(&a.spec), a.panels, b.panels, tile, NULL);
	for (size_t i = 0; i < a.block.rows; i++)
		for (size_t j = 0; j < b.block.rows; j++)
			check_element(tile, i, j, alpha);
	panels_free(tile, bytes);
	operand_free(&a);
	operand_free(&b);
}
END_TEST

/* pack_complex.c has a faster way for these; it must not be lost unseen. */
START_TEST(pairs_of_floats_are_doubles)
{
	const struct kernel *f32, *f64;

	for (size_t i = 0; (f32 = kernel_at(i)); i++) {
		if (f32->bytes != sizeof(float))
			continue;
		f64 = kernel_find(f32->name, sizeof(double));
		ck_assert_ptr_nonnull(f64);
		ck_assert_uint_eq(f32->mr, 2 * f64->mr);
		ck_assert_uint_eq(f32->nr, f64->nr);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("pack_spec");
	TCase *tcase = suite_case(suite, "spec");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, every_edge, 0, SPECS);
	tcase_add_loop_test(tcase, random_offsets, 0, SPECS);
	tcase_add_loop_test(tcase, sums, 0, SPECS);
	tcase_add_loop_test(tcase, scaled_by_a_real, 0, SPECS);
	tcase_add_loop_test(tcase, kernel_multiplies, 0, SPECS);
	tcase_add_test(tcase, pairs_of_floats_are_doubles);
	return suite_run(suite);
}
