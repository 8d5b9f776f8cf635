/* SPDX-License-Identifier: MIT */
/*
 * Every kernel that the processor has, on panels in the second cache: a block
 * of A of some 240 rows, 256 deep, against one panel of B, tile after tile.
 */
#include "bench/contract_kernels.h"

#include <stdbool.h>
#include <stdio.h>

#include "bench/report.h"
#include "contract/kernel.h"

#define ROWS 240
#define DEPTH 256

static _Alignas(64) double block[(ROWS + KERNEL_MOST_LANES) * DEPTH];
static _Alignas(64) double panel[KERNEL_MOST_LANES * DEPTH];
static _Alignas(64) double tile[KERNEL_MOST_LANES * KERNEL_MOST_LANES];

/* Rows keep the pointer. */
static char keys[8][40];

/* Flops per ns. */
static double
rate(const struct kernel *kernel, uint64_t slice_ns)
{
	size_t panels = ROWS / kernel->mr, step = DEPTH * kernel->mr;
	uint64_t start = bench_now(), end;
	double flops = 0;

	do {
		for (size_t i = 0; i < panels; i++)
			kernel->tile(DEPTH, (const char *)block +
				     i * step * kernel->bytes, panel, tile,
				     NULL);
		flops += 2.0 * (double)(panels * step * kernel->nr);
		end = bench_now();
	} while (end - start < slice_ns);
	return flops / (double)(end - start);
}

static void
one_kernel(const struct kernel *kernel, char key[static 40], double peak,
	   int rounds, uint64_t slice_ns)
{
	bool single = kernel->bytes == sizeof(float);
	struct bench_series ours = { .n = 0 };
	struct report_row *row;

	snprintf(key, sizeof(keys[0]), "kernel %s %s", kernel->name,
		 single ? "f32" : "f64");
	row = report_add(key, 1, "GFLOP/s", "wall");
	for (int r = 0; r < rounds; r++)
		bench_series_add(&ours, rate(kernel, slice_ns));
	report_ours(row, &ours);
	report_peer(row, "peak", peak);
	report_note(row, "%zu x %zu, panels in L2: %.1f %% of the peak",
		    kernel->mr, kernel->nr, 100 * row->ours / peak);
	printf("%-21s %.1f GFLOP/s, %s\n", key, row->ours, row->note);
}

void
contract_kernels(const double peak[2], int rounds, uint64_t slice_ns)
{
	/* Also as floats no denormal numbers. */
	for (size_t i = 0; i < sizeof(block) / sizeof(block[0]); i++)
		block[i] = 1;
	for (size_t i = 0; i < sizeof(panel) / sizeof(panel[0]); i++)
		panel[i] = 1;
	for (size_t i = 0; kernel_at(i) && i < sizeof(keys) / sizeof(keys[0]);
	     i++) {
		const struct kernel *kernel = kernel_at(i);

		one_kernel(kernel, keys[i], peak[kernel->bytes == sizeof(float)],
			   rounds, slice_ns);
	}
}
