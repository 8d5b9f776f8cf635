/* SPDX-License-Identifier: MIT */
/*
 * What kernel.c chooses from: one table per instruction set, each in a file
 * of its own that is compiled for that instruction set.  Nothing but these
 * tables may have external linkage there: what is compiled for an instruction
 * set must not be reached on a processor without it.
 */
#ifndef LEND_CONTRACT_KERNEL_ISA_H
#define LEND_CONTRACT_KERNEL_ISA_H

#include "contract/kernel.h"

/* Of f64 and of f32. */
#define KERNELS_PER_ISA 2

#ifdef __x86_64__
extern const struct kernel kernels_avx512[KERNELS_PER_ISA];
extern const struct kernel kernels_avx2[KERNELS_PER_ISA];
#endif
extern const struct kernel kernels_portable[KERNELS_PER_ISA];

#define KERNEL_LOOPS(real)			\
	{					\
		.dot = loop_dot_##real,		\
		.add = loop_add_##real,		\
		.add4 = loop_add4_##real,	\
		.store = loop_store_##real	\
	}

/* A table's entry from what kernel_template.h has made for real type `real`. */
#define KERNEL_ENTRY(isa, real)			\
	{					\
		.name = isa,			\
		.bytes = bytes_##real,		\
		.mr = mr_##real,		\
		.nr = nr_##real,		\
		.direct = direct_##real,	\
		.tile = tile_##real,		\
		.scatter = scatter_##real,	\
		.pack_a = pack_a_##real,	\
		.pack_b = pack_b_##real,	\
		.lanes = lanes_##real,		\
		.line = line_##real,		\
		.rows_mr = rows_mr_##real,	\
		.rows_nr = rows_nr_##real,	\
		.sums_mr = sums_mr_##real,	\
		.sums_nr = sums_nr_##real,	\
		.narrow_rows = narrow_rows_##real, \
		.narrow_sums = narrow_sums_##real, \
		.narrow_turn = narrow_turn_##real, \
		.narrow_copy = narrow_copy_##real, \
		.pack_for_rows = pack_for_rows_##real,	\
		.pack_for_sums = pack_for_sums_##real,	\
		.loops = KERNEL_LOOPS(real),	\
		.complex_loops = KERNEL_LOOPS(complex_##real), \
		.product = loop_product_##real,	\
		.side_rows = side_rows_##real,	\
		.side_cols = side_cols_##real,	\
		.side = side_##real		\
	}

#endif
