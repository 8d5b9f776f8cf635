/* SPDX-License-Identifier: MIT */
/* Options' values. */
#include "tools/args.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/message.h"
#include "tools/npy.h"

static bool
wrong(const struct args *args, const char *what)
{
	complain("%s: --%s: '%s' is not %s", args->command->name, args->name,
		 args->value, what);
	return false;
}

/* Digits alone; false: there are none, or too many. */
static bool
read_size(const char **text, size_t *size)
{
	const char *p = *text;
	size_t value = 0;

	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *p - '0', &value))
			return false;
	if (p == *text)
		return false;
	*text = p;
	*size = value;
	return true;
}

bool
args_count(const struct args *args, size_t *count)
{
	const char *p = args->value;

	if (!read_size(&p, count) || *p || *count == 0)
		return wrong(args, "a number from 1 on");
	return true;
}

bool
args_bytes(const struct args *args, size_t *bytes)
{
	static const char units[] = "KMGT";
	const char *p = args->value, *unit;

	if (!read_size(&p, bytes))
		return wrong(args, "a number of bytes");
	if (*p) {
		unit = strchr(units, *p);
		if (!unit || p[1] ||
		    __builtin_mul_overflow(*bytes,
					   (size_t)1 << 10 *
						(unit - units + 1), bytes))
			return wrong(args, "a number of bytes");
	}
	if (*bytes == 0)
		return wrong(args, "a number of bytes above 0");
	return true;
}

bool
args_positive(const struct args *args, double *number)
{
	char *end;

	*number = strtod(args->value, &end);
	if (end == args->value || *end || !isfinite(*number) || *number <= 0)
		return wrong(args, "a number above 0");
	return true;
}

bool
args_team(const struct args *args, size_t *pm, size_t *pn)
{
	const char *p = args->value;

	if (!read_size(&p, pm) || *p++ != 'x' || !read_size(&p, pn) || *p ||
	    *pm == 0 || *pn == 0 || *pm > UINT16_MAX || *pn > UINT16_MAX)
		return wrong(args, "a team as 2x1");
	return true;
}

bool
args_type(const struct args *args, enum lend_type *type)
{
	if (!type_parse(type, args->value))
		return wrong(args, "one of f32, f64, cf32 and cf64");
	return true;
}

bool
args_lender(const struct args *args, enum lender_kind *kind)
{
	if (!lender_parse(kind, args->value))
		return wrong(args, "one of lend, mutex and malloc");
	return true;
}

int
args_check_limit(const char *command, enum lender_kind kind, size_t limit)
{
	if (limit == 0 || kind == LENDER_LEND)
		return 0;
	return complain("%s: --limit with --arena=%s: only lend's arena has a "
			"limit", command, lender_name(kind));
}

static bool
is_unit(const char *p)
{
	return (*p == 'i' || *p == 'j') && !p[1];
}

bool
complex_parse(double number[2], const char *text)
{
	const char *p;
	double value;
	char *end;

	number[0] = number[1] = 0;
	value = strtod(text, &end);
	if (end == text)
		return false;
	if (is_unit(end)) {
		number[1] = value;
		return true;
	}
	number[0] = value;
	if (!*end)
		return true;
	/* "1.5,-2" or "1.5-2i": a sign is then part of the second. */
	p = *end == ',' ? end + 1 : end;
	if (*end != ',' && *end != '+' && *end != '-')
		return false;
	number[1] = strtod(p, (char **)&p);
	return *end == ',' ? !*p && p != end + 1 : p != end && is_unit(p);
}

bool
args_complex(const struct args *args, double number[2])
{
	if (!complex_parse(number, args->value))
		return wrong(args, "a number as 1.5, 1.5,-2 or 1.5-2i");
	return true;
}
