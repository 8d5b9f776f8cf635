/* SPDX-License-Identifier: MIT */
/* What made-up operands are scaled by: see network_data.h. */
#include "tools/instance.h"

#include <stdint.h>
#include <string.h>

/* Code points of a text that the library has read before; 0 at its end. */
static uint32_t
next_point(const char **text)
{
	const unsigned char *p = (const unsigned char *)*text;
	uint32_t point = *p;
	int more = point >= 0xf0 ? 3 : point >= 0xe0 ? 2 : point >= 0xc0;

	if (!point)
		return 0;
	point = more ? point & (0x3fu >> more) : point;
	for (p++; more > 0 && *p; more--)
		point = point << 6 | (*p++ & 0x3fu);
	*text = (const char *)p;
	return point;
}

static bool
has_point(const char *text, const char *end, uint32_t point)
{
	while (text < end)
		if (next_point(&text) == point)
			return true;
	return false;
}

/* Where the output's labels begin; null: the text has no arrow. */
static const char *
output_of(const char *einsum)
{
	const char *arrow = strstr(einsum, "->");

	return arrow ? arrow + 2 : NULL;
}

/* Without an arrow the output has what stands once. */
static bool
is_kept(const char *einsum, uint32_t point)
{
	const char *out = output_of(einsum);
	size_t places = 0;

	if (out)
		return has_point(out, out + strlen(out), point);
	while (*einsum)
		places += next_point(&einsum) == point;
	return places == 1;
}

/* The divisor of the operand whose labels begin at `text`. */
static double
divisor(const char *einsum, const char *text, const size_t *extent)
{
	const char *begin = text;
	double product = 1;

	for (size_t i = 0; *text && *text != ',' && *text != '-';) {
		const char *at = text;
		uint32_t point = next_point(&text);

		if (point == ' ' || point == '\t')
			continue;
		if (!is_kept(einsum, point) &&
		    !has_point(einsum, begin, point) &&
		    !has_point(begin, at, point))
			product *= (double)extent[i];
		i++;
	}
	return product > 0 ? product : 1;
}

double
instance_scale(const struct instance *instance, size_t t, const char **text)
{
	double scale = 1 / divisor(instance->einsum, *text,
				   instance->layout[t].extent);

	*text += strcspn(*text, ",-");
	*text += **text == ',';
	return scale;
}
