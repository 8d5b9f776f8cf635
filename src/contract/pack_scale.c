/* SPDX-License-Identifier: MIT */
/* Packed blocks of B times a number. */
#include "contract/pack.h"

static void
scale_f64(size_t n, double alpha, double *x)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= alpha;
}

static void
scale_f32(size_t n, float alpha, float *x)
{
	for (size_t i = 0; i < n; i++)
		x[i] *= alpha;
}

/* n pairs of columns, of real and of imaginary parts. */
static void
scale_cf64(size_t n, size_t lanes, double re, double im, double *x)
{
	for (; n; n--, x += 2 * lanes)
		for (size_t i = 0; i < lanes; i++) {
			double x_re = x[i], x_im = x[lanes + i];

			x[i] = re * x_re - im * x_im;
			x[lanes + i] = re * x_im + im * x_re;
		}
}

static void
scale_cf32(size_t n, size_t lanes, float re, float im, float *x)
{
	for (; n; n--, x += 2 * lanes)
		for (size_t i = 0; i < lanes; i++) {
			float x_re = x[i], x_im = x[lanes + i];

			x[i] = re * x_re - im * x_im;
			x[lanes + i] = re * x_im + im * x_re;
		}
}

void
pack_scale(const struct pack_spec *spec, size_t rows, size_t cols,
	   double re, double im, void *dst)
{
	size_t lanes = pack_lanes(spec);
	size_t n = (rows + lanes - 1) / lanes * cols;

	if (spec->kernel->bytes == sizeof(double)) {
		if (spec->complex)
			scale_cf64(n, lanes, re, im, dst);
		else
			scale_f64(n * lanes, re, dst);
	} else {
		if (spec->complex)
			scale_cf32(n, lanes, (float)re, (float)im, dst);
		else
			scale_f32(n * lanes, (float)re, dst);
	}
}
