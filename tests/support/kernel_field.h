/* SPDX-License-Identifier: MIT */
/*
 * What tests of micro-kernels stand on: products by plain loops, and a field
 * of NaNs in which C lies.  The whole field is compared: what is not the
 * tile's must be untouched, and what is set must not have been read.
 */
#ifndef TESTS_SUPPORT_KERNEL_FIELD_H
#define TESTS_SUPPORT_KERNEL_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "contract/kernel.h"

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

/* The one under test. */
extern const struct kernel *kernel;
extern uint64_t tile_seed;

/* Panels of depth k, and their product by plain loops. */
struct product {
	size_t k;
	void *a, *b;
	void *b_memory;
	double tile[MOST_NR][MOST_MR];
	double magnitude[MOST_NR][MOST_MR];	/* the same of |a| and |b| */
};

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

/* How offsets along a line go. */
enum along { UNIT, RUNS, STRIDED, BACKWARD, ALONGS };

void tile_begin(int i);
double tile_get(const void *elements, size_t i);
void tile_put(void *elements, size_t i, double value);
double whole_number(void);
/* In -1 .. 1, with all the digits that a double has. */
double real_number(void);
/* Exactly as many bytes as asked for, so that tools see what is beyond. */
void *tile_elements(size_t count, double (*value)(void));
void product_start(struct product *product, size_t k, double (*value)(void));
void product_end(struct product *product);
void field_start(struct field *field);
void field_end(struct field *field);
/*
 * NaN all over the field, but for numbers where C is read; and what an update
 * with tile[j * stride + i] makes of that.
 */
void expect_update(struct field *field, const struct place *place, size_t m,
		size_t n, const double *tile, size_t stride,
		enum kernel_update update);
bool as_expected(const struct field *field, const struct place *place);
/* `shift` moves it by elements; some of the offsets are negative. */
void place_tile(struct place *place, size_t m, size_t n, bool rows_inside,
		enum along along, size_t shift);

#endif
