/* SPDX-License-Identifier: MIT */
#include "support/block.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"

#define CANARY 64	/* bytes on each side of panels */
#define CANARY_BYTE 0xa5

double
real_get(size_t bytes, const void *p, size_t i)
{
	return bytes == 8 ? ((const double *)p)[i]
			  : (double)((const float *)p)[i];
}

void
real_put(size_t bytes, void *p, size_t i, double value)
{
	if (bytes == 8)
		((double *)p)[i] = value;
	else
		((float *)p)[i] = (float)value;
}

void
block_size(struct block *block, size_t rows, size_t cols)
{
	block->rows = rows;
	block->cols = cols;
	block->count = 0;
	block->period = 0;
}

void
offsets_fuse(size_t n, int64_t *offset, size_t extent, int64_t step,
	     int64_t step2)
{
	for (size_t i = 0; i < n; i++)
		offset[i] = (int64_t)(i % extent) * step +
			    (int64_t)(i / extent) * step2;
}

void
offsets_line(size_t n, int64_t *offset, int64_t step)
{
	offsets_fuse(n, offset, SIZE_MAX, step, 0);
}

void
offsets_scramble(uint64_t *random, size_t n, int64_t *offset)
{
	static const int64_t steps[] = { 1, 1, 1, 0, -1, 3, -400, 900 };
	int64_t at = 0, step = 1;

	for (size_t i = 0; i < n; i++) {
		if (random_below(random, 6) == 0)
			step = steps[random_below(random, 8)];
		offset[i] = at;
		at += step;
		/* Most jumps are single ones. */
		if (random_below(random, 2))
			step = 1;
	}
}

void
block_lay(struct block *block, int layout)
{
	size_t rows = block->rows, cols = block->cols;
	int64_t m = (int64_t)rows, k = (int64_t)cols;

	block->period = 0;
	switch (layout) {
	case 0:			/* rows without gaps */
		offsets_line(rows, block->row, 1);
		offsets_line(cols, block->col, m + 3);
		break;
	case 1:			/* columns without gaps */
		offsets_line(rows, block->row, k + 5);
		offsets_line(cols, block->col, 1);
		break;
	case 2:			/* neither */
		offsets_line(rows, block->row, 2);
		offsets_line(cols, block->col, -2 * m);
		break;
	case 3:			/* the second of two fused rows */
		block->period = rows / 7 + 1;
		offsets_fuse(rows, block->row, block->period, 40, 1);
		offsets_line(cols, block->col, 40 * (int64_t)block->period);
		break;
	case 4:			/* rows in runs of five */
		offsets_fuse(rows, block->row, 5, 1, 5 * k + 2);
		offsets_line(cols, block->col, 5);
		break;
	case 5:			/* columns in runs of 36, rows backwards */
		offsets_line(rows, block->row, -36);
		offsets_fuse(cols, block->col, 36, 1, 36 * m);
		break;
	}
}

/* Widens [low, high] by the least and the most of the offsets. */
static void
widen(size_t n, const int64_t *offset, int64_t *low, int64_t *high)
{
	int64_t least = INT64_MAX, most = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		least = offset[i] < least ? offset[i] : least;
		most = offset[i] > most ? offset[i] : most;
	}
	*low += n ? least : 0;
	*high += n ? most : 0;
}

void
block_fill(struct block *block, size_t bytes, size_t parts)
{
	int64_t low = 0, high = 0;
	size_t n;

	block->bytes = bytes;
	block->parts = parts;
	widen(block->rows, block->row, &low, &high);
	widen(block->cols, block->col, &low, &high);
	widen(block->count, block->sum, &low, &high);
	/* The base is within: another could not be had from a pointer. */
	low = low < 0 ? low : 0;
	high = high > 0 ? high : 0;
	n = (size_t)(high - low + 1) * parts;
	block->memory = malloc(n * bytes);
	ck_assert_ptr_nonnull(block->memory);
	block->src = block->memory + (size_t)-low * parts * bytes;
	for (size_t i = 0; i < n; i++)
		real_put(bytes, block->memory, i,
			 (double)(i * 7919 % 251) + 1);
}

void
block_empty(struct block *block)
{
	free(block->memory);
	block->memory = block->src = NULL;
}

static double
value_at(const struct block *block, int64_t at, size_t part)
{
	at *= (int64_t)(block->parts * block->bytes);
	return real_get(block->bytes, block->src + at, part);
}

double
block_element(const struct block *block, size_t i, size_t p, size_t part)
{
	return value_at(block, block->row[i] + block->col[p], part);
}

double
block_sum(const struct block *block, size_t i, size_t p, size_t part)
{
	int64_t at = block->row[i] + block->col[p];
	double sum = 0;

	for (size_t s = 0; s < block->count; s++)
		sum += value_at(block, at + block->sum[s], part);
	return sum;
}

void *
panels_make(size_t bytes)
{
	unsigned char *memory;

	memory = aligned_alloc(64, (bytes + 2 * CANARY + 63) / 64 * 64);
	ck_assert_ptr_nonnull(memory);
	memset(memory, CANARY_BYTE, bytes + 2 * CANARY);
	return memory + CANARY;
}

void
panels_free(void *panels, size_t bytes)
{
	unsigned char *memory = (unsigned char *)panels - CANARY;

	for (size_t i = 0; i < CANARY; i++)
		if (memory[i] != CANARY_BYTE ||
		    memory[CANARY + bytes + i] != CANARY_BYTE)
			ck_abort_msg("written beyond the panels: %zu", i);
	free(memory);
}
