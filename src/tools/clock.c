/* SPDX-License-Identifier: MIT */
#include "tools/clock.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

double
now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void
series_destroy(struct series *series)
{
	free(series->value);
	*series = (struct series){ 0 };
}

void
series_add(struct series *series, double seconds)
{
	if (series->n == series->room) {
		size_t room = series->room ? 2 * series->room : 16;
		double *value = realloc(series->value, room * sizeof *value);

		if (!value)
			return;
		series->value = value;
		series->room = room;
	}
	series->value[series->n++] = seconds;
	series->sorted = false;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
sort(struct series *series)
{
	if (!series->sorted && series->n > 0)
		qsort(series->value, series->n, sizeof series->value[0],
		      compare);
	series->sorted = true;
}

double
series_best(struct series *series)
{
	sort(series);
	return series->n ? series->value[0] : NAN;
}

double
series_median(struct series *series)
{
	size_t half = series->n / 2;

	if (series->n == 0)
		return NAN;
	sort(series);
	if (series->n % 2)
		return series->value[half];
	return (series->value[half - 1] + series->value[half]) / 2;
}
