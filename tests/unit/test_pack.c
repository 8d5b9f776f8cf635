/* SPDX-License-Identifier: MIT */
/*
 * Real packing against a plain loop: its body at each width of vector, on any
 * processor, with counts of the elements that take each path.  What kernels
 * and other types make of it: test_pack_spec.c.
 */
#include <check.h>
#include <stdint.h>
#include <string.h>

#include "support/block.h"
#include "support/random.h"
#include "support/suite.h"

/* By path: elements that took it. */
static size_t counts[5];

#define PACK_COUNT(path, elements)	(counts[path] += (elements))

#define REAL		double
#define VECTOR_BYTES	16
#define SUFFIX		f64_16
#include "contract/pack_template.h"
#undef NAME
#undef VECTOR_BYTES
#undef SUFFIX
#define VECTOR_BYTES	32
#define SUFFIX		f64_32
#include "contract/pack_template.h"
#undef NAME
#undef VECTOR_BYTES
#undef SUFFIX
#define VECTOR_BYTES	64
#define SUFFIX		f64_64
#include "contract/pack_template.h"
#undef NAME
#undef REAL
#undef VECTOR_BYTES
#undef SUFFIX
#define REAL		float
#define VECTOR_BYTES	16
#define SUFFIX		f32_16
#include "contract/pack_template.h"
#undef NAME
#undef VECTOR_BYTES
#undef SUFFIX
#define VECTOR_BYTES	32
#define SUFFIX		f32_32
#include "contract/pack_template.h"
#undef NAME
#undef VECTOR_BYTES
#undef SUFFIX
#define VECTOR_BYTES	64
#define SUFFIX		f32_64
#include "contract/pack_template.h"

typedef void pack_fn(size_t width, size_t rows, size_t cols, const void *src,
		     const int64_t *row, const int64_t *col, size_t period,
		     void *dst);

static const struct body {
	size_t bytes, lanes;
	pack_fn *pack;
} bodies[] = {
	{ 8, 2, pack_f64_16 }, { 8, 4, pack_f64_32 }, { 8, 8, pack_f64_64 },
	{ 4, 4, pack_f32_16 }, { 4, 8, pack_f32_32 }, { 4, 16, pack_f32_64 }
};

#define BODIES	(int)(sizeof(bodies) / sizeof(bodies[0]))

/* Panels of any width, also of none of the vectors'. */
static const size_t widths[] = { 1, 3, 4, 6, 8, 12, 24, 48, 64 };

#define WIDTHS	(sizeof(widths) / sizeof(widths[0]))

static struct block block;

/* That dst is what a plain loop makes of the block. */
static void
check_panels(size_t bytes, size_t width, const char *dst)
{
	size_t last = (block.rows + width - 1) / width * width;
	size_t at = 0;

	for (size_t panel = 0; panel < last; panel += width)
		for (size_t p = 0; p < block.cols; p++)
			for (size_t i = panel; i < panel + width; i++, at++) {
				double want = 0;

				if (i < block.rows)
					want = block_element(&block, i, p, 0);
				if (real_get(bytes, dst, at) != want)
					ck_abort_msg("%zu x %zu by %zu: "
						     "row %zu, column %zu",
						     block.rows, block.cols,
						     width, i, p);
			}
}

/* Packs the block and checks it; leaves the counts. */
static void
run(const struct body *body, size_t width)
{
	size_t panels = (block.rows + width - 1) / width;
	size_t bytes = panels * width * block.cols * body->bytes;
	char *dst = panels_make(bytes);

	block_fill(&block, body->bytes, 1);
	memset(counts, 0, sizeof(counts));
	body->pack(width, block.rows, block.cols, block.src, block.row,
		   block.col, block.period, dst);
	check_panels(body->bytes, width, dst);
	panels_free(dst, bytes);
	block_empty(&block);
}

START_TEST(every_edge)
{
	static const size_t cols[] = { 0, 1, 2, 3, 7, 8, 17, 31, 130 };

	for (size_t w = 0; w < WIDTHS; w++)
		for (size_t m = 0; m <= 2 * widths[w] + 1; m++)
			for (size_t c = 0; c < sizeof(cols) / 8; c++)
				for (int l = 0; l < BLOCK_LAYOUTS; l++) {
					block_size(&block, m, cols[c]);
					block_lay(&block, l);
					run(&bodies[_i], widths[w]);
				}
}
END_TEST

START_TEST(random_offsets)
{
	uint64_t random = (uint64_t)_i;

	for (int n = 0; n < 400; n++) {
		block_size(&block, random_below(&random, 200),
			   random_below(&random, 200));
		offsets_scramble(&random, block.rows, block.row);
		offsets_scramble(&random, block.cols, block.col);
		block.period = random_below(&random, 2) *
			       random_below(&random, 40);
		run(&bodies[_i], widths[random_below(&random, WIDTHS)]);
	}
}
END_TEST

/* As without gaps at both ends, or on the whole, but not within. */
static const int64_t traps[][4] = {
	{ 0, 3, 0, 3 }, { 0, 1, 10, 3 }, { 0, 2, 1, 3 }, { 0, 0, 0, 3 },
	{ 3, 2, 1, 0 }, { 0, 1, 1, 2 }, { 0, 1, 2, 4 }, { 0, 2, 3, 4 }
};

#define TRAPS	(sizeof(traps) / sizeof(traps[0]))

/* n offsets that follow one another but for the four in the middle. */
static void
trap(size_t n, int64_t *offset, size_t which)
{
	offsets_line(n, offset, 1);
	for (size_t i = 0; i < 4; i++)
		offset[n / 2 - 2 + i] = (int64_t)(n / 2 - 2) + traps[which][i];
}

START_TEST(almost_without_gaps)
{
	for (size_t w = 0; w < WIDTHS; w++)
		for (size_t t = 0; t < TRAPS; t++)
			for (size_t n = 4; n <= 64; n += n < 20 ? 1 : 11) {
				block_size(&block, n, 33);
				trap(n, block.row, t);
				offsets_line(33, block.col, 80);
				run(&bodies[_i], widths[w]);
				block_size(&block, 33, n);
				offsets_line(33, block.row, 80);
				trap(n, block.col, t);
				run(&bodies[_i], widths[w]);
			}
}
END_TEST

/* A hint that one offset belies, in each place of the block. */
START_TEST(period_almost_holds)
{
	const struct body *body = &bodies[_i];
	size_t period = 2 * body->lanes, rows = period * 2 * body->lanes;

	for (size_t i = 0; i < rows; i += 3) {
		block_size(&block, rows, 5);
		block.period = period;
		offsets_fuse(rows, block.row, period, 100, 1);
		offsets_line(5, block.col, 100 * (int64_t)period);
		block.row[i] += 50;
		run(body, period);
		/* Half of the bands are as they should be. */
		ck_assert_uint_eq(counts[PACK_PATH_STEPS], rows / 2 * 5);
	}
}
END_TEST

START_TEST(period_does_not_hold)
{
	const struct body *body = &bodies[_i];

	for (size_t period = 1; period < 200; period++) {
		block_size(&block, 192, 7);
		block.period = period;
		/* It is 48; where lanes are few, divisors will not do. */
		offsets_fuse(192, block.row, 48, 100, 1);
		offsets_line(7, block.col, 4800);
		run(body, 24);
		if (period != 48)
			ck_assert_uint_eq(counts[PACK_PATH_STEPS] +
					  counts[PACK_PATH_SPLIT], 0);
	}
	block.period = SIZE_MAX;
	run(body, 24);
	/* Nor does it stand in the way of rows without gaps. */
	block_lay(&block, 0);
	block.period = 24;
	run(body, 24);
	ck_assert_uint_ge(counts[PACK_PATH_COPY], 192 * 7);
	ck_assert_uint_eq(counts[PACK_PATH_PLAIN], 0);
}
END_TEST

/* That all elements took the path, each of them once. */
static void
check_path(const struct body *body, size_t width, int path)
{
	run(body, width);
	for (int other = 0; other < 5; other++)
		ck_assert_uint_eq(counts[other], other == path ?
				  block.rows * block.cols : 0);
}

START_TEST(paths_are_taken)
{
	const struct body *body = &bodies[_i];
	size_t lanes = body->lanes;
	size_t width = 3 * lanes, rows = 4 * width, cols = 160;

	block_size(&block, rows, cols);
	block_lay(&block, 0);
	check_path(body, width, PACK_PATH_COPY);
	block_lay(&block, 1);
	check_path(body, width, PACK_PATH_TURN);
	block_lay(&block, 2);
	check_path(body, width, PACK_PATH_PLAIN);
	block_size(&block, 2 * width * lanes, 11);
	block.period = 2 * width;
	offsets_fuse(block.rows, block.row, 2 * width, 100, 1);
	offsets_line(11, block.col, 200 * (int64_t)width);
	check_path(body, width, PACK_PATH_STEPS);
}
END_TEST

/* Runs that fit neither panels nor vectors still go in vectors. */
START_TEST(ragged_runs_go_in_vectors)
{
	const struct body *body = &bodies[_i];
	size_t run_length = 2 * body->lanes + body->lanes / 2 + 1;
	size_t width = 3 * body->lanes;

	block_size(&block, 4 * run_length, 4 * run_length);
	offsets_fuse(block.rows, block.row, run_length, 1, 1000);
	offsets_line(block.cols, block.col, 70);
	run(body, width);
	ck_assert_uint_le(counts[PACK_PATH_PLAIN] + counts[PACK_PATH_TURN],
			  4 * 2 * 3 * block.cols);
	offsets_line(block.rows, block.row, 70);
	offsets_fuse(block.cols, block.col, run_length, 1, 70 * 300);
	run(body, width);
	ck_assert_uint_eq(counts[PACK_PATH_COPY], 0);
	ck_assert_uint_ge(counts[PACK_PATH_TURN],
			  block.rows / width * width * block.cols);
}
END_TEST

/*
 * Periods that panels do not divide: the vectors astride are split.  Panels
 * may be narrower than vectors.
 */
START_TEST(panels_end_amid_vectors)
{
	const struct body *body = &bodies[_i];
	size_t lanes = body->lanes;

	for (size_t w = 0; w < WIDTHS; w++) {
		size_t period = 2 * widths[w] + lanes + 1;
		size_t periods = 2048 / period;

		block_size(&block, period * periods, 9);
		block.period = period;
		offsets_fuse(block.rows, block.row, period, 400, 1);
		offsets_line(9, block.col, 400 * (int64_t)period);
		run(body, widths[w]);
		if (widths[w] < 4)
			continue;
		ck_assert_uint_gt(counts[PACK_PATH_SPLIT], 0);
		ck_assert_uint_eq(counts[PACK_PATH_PLAIN], 0);
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("pack");
	TCase *tcase = suite_case(suite, "body");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, every_edge, 0, BODIES);
	tcase_add_loop_test(tcase, random_offsets, 0, BODIES);
	tcase_add_loop_test(tcase, almost_without_gaps, 0, BODIES);
	tcase_add_loop_test(tcase, period_almost_holds, 0, BODIES);
	tcase_add_loop_test(tcase, period_does_not_hold, 0, BODIES);
	tcase_add_loop_test(tcase, paths_are_taken, 0, BODIES);
	tcase_add_loop_test(tcase, ragged_runs_go_in_vectors, 0, BODIES);
	tcase_add_loop_test(tcase, panels_end_amid_vectors, 0, BODIES);
	return suite_run(suite);
}
