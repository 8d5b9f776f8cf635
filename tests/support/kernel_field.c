/* SPDX-License-Identifier: MIT */
#include "support/kernel_field.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/random.h"

const struct kernel *kernel;
uint64_t tile_seed;

void
tile_begin(int i)
{
	kernel = kernel_at((size_t)i);
	ck_assert_ptr_nonnull(kernel);
	tile_seed = (uint64_t)i;
}

double
tile_get(const void *elements, size_t i)
{
	if (kernel->bytes == sizeof(float))
		return ((const float *)elements)[i];
	return ((const double *)elements)[i];
}

void
tile_put(void *elements, size_t i, double value)
{
	if (kernel->bytes == sizeof(float))
		((float *)elements)[i] = (float)value;
	else
		((double *)elements)[i] = value;
}

double
whole_number(void)
{
	return (double)random_below(&tile_seed, 15) - 7;
}

double
real_number(void)
{
	return (double)(int64_t)random_next(&tile_seed) / 0x1p63;
}

void *
tile_elements(size_t count, double (*value)(void))
{
	void *p;

	ck_assert_int_eq(posix_memalign(&p, 64, count * kernel->bytes + !count),
			 0);
	for (size_t i = 0; i < count; i++)
		tile_put(p, i, value ? value() : NAN);
	return p;
}

static void
multiply(struct product *product)
{
	memset(product->tile, 0, sizeof(product->tile));
	memset(product->magnitude, 0, sizeof(product->magnitude));
	for (size_t p = 0; p < product->k; p++)
		for (size_t j = 0; j < kernel->nr; j++)
			for (size_t i = 0; i < kernel->mr; i++) {
				double term =
					tile_get(product->a, p * kernel->mr + i) *
					tile_get(product->b, p * kernel->nr + j);

				product->tile[j][i] += term;
				product->magnitude[j][i] += fabs(term);
			}
}

void
product_start(struct product *product, size_t k, double (*value)(void))
{
	size_t skip = 16 / kernel->bytes;	/* B is aligned to 16 only */

	product->k = k;
	product->a = tile_elements(k * kernel->mr, value);
	product->b_memory = tile_elements(k * kernel->nr + skip, value);
	product->b = (char *)product->b_memory + 16;
	multiply(product);
}

void
product_end(struct product *product)
{
	free(product->a);
	free(product->b_memory);
}

void
field_start(struct field *field)
{
	field->c = tile_elements(FIELD, NULL);
	field->expected = tile_elements(FIELD, NULL);
}

void
field_end(struct field *field)
{
	free(field->c);
	free(field->expected);
}

static double
updated(double c, double tile, enum kernel_update update)
{
	if (update == KERNEL_ADD)
		return c + tile;
	if (update == KERNEL_SCALE)
		return BETA * c + tile;
	return tile;
}

void
expect_update(struct field *field, const struct place *place, size_t m,
	      size_t n, const double *tile, size_t stride,
	      enum kernel_update update)
{
	ck_assert_uint_le(place->size, FIELD);
	for (size_t i = 0; i < place->size; i++)
		tile_put(field->c, i, NAN);
	memcpy(field->expected, field->c, place->size * kernel->bytes);
	for (size_t j = 0; j < n; j++)
		for (size_t i = 0; i < m; i++) {
			size_t at = place->base +
				    (size_t)(place->row[i] + place->col[j]);
			double c = update == KERNEL_ADD ||
				   update == KERNEL_SCALE ? whole_number()
							  : (double)NAN;

			/* An assertion costs too much to be made each time. */
			if (at >= place->size)
				ck_abort_msg("a place beyond the field");
			tile_put(field->c, at, c);
			tile_put(field->expected, at,
			    updated(c, tile[j * stride + i], update));
		}
}

bool
as_expected(const struct field *field, const struct place *place)
{
	return !memcmp(field->c, field->expected,
		       place->size * kernel->bytes);
}

/* A random order of 0 .. n - 1. */
static void
shuffle(size_t *order, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t other = random_below(&tile_seed, (unsigned)i + 1);

		order[i] = order[other];
		order[other] = i;
	}
}

static void
inner_offsets(int64_t *offset, size_t n, enum along along)
{
	int64_t next = random_below(&tile_seed, 4);

	for (size_t i = 0; i < n; i++) {
		offset[along == BACKWARD ? n - 1 - i : i] = next;
		next++;
		if (along == STRIDED)
			next++;
		else if (along == RUNS && random_below(&tile_seed, 5) == 0)
			next += random_below(&tile_seed, 3);
	}
	/* The last run before the first: a step back, and into the middle. */
	if (along == RUNS && n > 4)
		for (size_t i = 0; i < n; i++)
			offset[i] += i < n / 2 ? SPAN / 2 : 0;
}

static void
outer_offsets(int64_t *offset, size_t n)
{
	size_t order[MOST_MR];

	shuffle(order, n);
	for (size_t i = 0; i < n; i++)
		offset[i] = (int64_t)order[i] * SPAN;
}

void
place_tile(struct place *place, size_t m, size_t n, bool rows_inside,
	   enum along along, size_t shift)
{
	int64_t by = SPAN / 3;

	if (rows_inside) {
		inner_offsets(place->row, m, along);
		outer_offsets(place->col, n);
	} else {
		inner_offsets(place->col, n, along);
		outer_offsets(place->row, m);
	}
	for (size_t i = 0; i < m; i++)
		place->row[i] -= by;
	place->base = MARGIN / 2 + shift + (size_t)by;
	place->size = (rows_inside ? n : m) * SPAN + 2 * MARGIN;
}
