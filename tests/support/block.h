/* SPDX-License-Identifier: MIT */
/* Blocks to be packed, for the tests of packing. */
#ifndef TESTS_SUPPORT_BLOCK_H
#define TESTS_SUPPORT_BLOCK_H

#include <stddef.h>
#include <stdint.h>

enum {
	BLOCK_ROWS = 2048,
	BLOCK_COLS = 300,
	BLOCK_LAYOUTS = 6
};

/* Where the elements lie, and the memory in which they do. */
struct block {
	size_t bytes;		/* of a real */
	size_t parts;		/* reals of an element: 1 or 2 */
	size_t rows, cols, count;
	size_t period;
	int64_t row[BLOCK_ROWS], col[BLOCK_COLS], sum[BLOCK_COLS];
	char *memory, *src;
};

/* The i-th real of an array. */
double real_get(size_t bytes, const void *p, size_t i);
void real_put(size_t bytes, void *p, size_t i, double value);

/* Sets the extents; no sum, no period. */
void block_size(struct block *block, size_t rows, size_t cols);

/* offset[i + extent * j] = i * step + j * step2, for n offsets. */
void offsets_fuse(size_t n, int64_t *offset, size_t extent, int64_t step,
		  int64_t step2);

/* offset[i] = i * step */
void offsets_line(size_t n, int64_t *offset, int64_t step);

/* Runs, repeats, jumps and steps back, of random lengths. */
void offsets_scramble(uint64_t *random, size_t n, int64_t *offset);

/* Sets offsets and period to one of BLOCK_LAYOUTS layouts. */
void block_lay(struct block *block, int layout);

/*
 * Makes and fills memory for the elements from the first to the last that the
 * offsets reach and no more, so that sanitizers see what reads beyond.  The
 * values are small integers: sums and products are exact in any order.
 */
void block_fill(struct block *block, size_t bytes, size_t parts);
void block_empty(struct block *block);

/* A real of an element, or of the sum of the elements that sum[] adds up. */
double block_element(const struct block *block, size_t i, size_t p,
		     size_t part);
double block_sum(const struct block *block, size_t i, size_t p, size_t part);

/* Memory for packed panels, aligned for kernels, with canaries about it. */
void *panels_make(size_t bytes);
/* Checks the canaries. */
void panels_free(void *panels, size_t bytes);

#endif
