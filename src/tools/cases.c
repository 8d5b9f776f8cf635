/* SPDX-License-Identifier: MIT */
#include "tools/cases.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tools/npy.h"
#include "tools/tccg.h"

size_t
cases_listed(void)
{
	return TCCGS;
}

/* Appends text[0..n) backwards: the last index of ours is the fastest. */
static char *
reverse(char *to, const char *text, size_t n)
{
	while (n > 0)
		*to++ = text[--n];
	return to;
}

void
cases_from_list(struct bench_case *c, size_t i)
{
	const char *name = tccg[i].name;
	size_t n_c = strcspn(name, "-");
	const char *a = name + n_c + 1;
	size_t n_a = strcspn(a, "-");
	const char *b = a + n_a + 1;
	char *to = c->einsum;

	*c = (struct bench_case){ .name = name };
	c->list[0] = tccg[i].sizes[0];
	c->list[1] = tccg[i].sizes[1];
	to = reverse(to, a, n_a);
	*to++ = ',';
	to = reverse(to, b, strlen(b));
	*to++ = '-';
	*to++ = '>';
	to = reverse(to, name, n_c);
	*to = '\0';
}

bool
cases_named(struct bench_case *c, const char *name)
{
	for (size_t i = 0; i < TCCGS; i++) {
		if (strcmp(name, tccg[i].name))
			continue;
		cases_from_list(c, i);
		return true;
	}
	return false;
}

bool
cases_custom(struct bench_case *c, const char *einsum, const char *sizes,
	     struct message *why)
{
	*c = (struct bench_case){ .name = einsum, .sizes = sizes };
	if (strlen(einsum) >= sizeof c->einsum)
		return refuse(why, "too long");
	strcpy(c->einsum, einsum);
	return true;
}

/* Bytes of the code point at p, which may be cut. */
static size_t
code_bytes(const char *p)
{
	size_t n = 1;

	while (((unsigned char)p[n] & 0xc0) == 0x80)
		n++;
	return n;
}

/* "a:72,b:24": the number of a label of n bytes; 0: it is not there. */
static size_t
look_up(const char *sizes, const char *label, size_t n)
{
	while (*sizes) {
		size_t bytes = code_bytes(sizes), value = 0;
		const char *p = sizes + bytes;
		bool here = bytes == n && !memcmp(sizes, label, n);

		if (*p++ != ':')
			return 0;
		for (; *p >= '0' && *p <= '9'; p++)
			if (__builtin_mul_overflow(value, 10, &value) ||
			    __builtin_add_overflow(value, *p - '0', &value))
				return 0;
		if (*p && *p != ',')
			return 0;
		if (here)
			return value;
		sizes = *p ? p + 1 : p;
	}
	return 0;
}

bool
cases_shapes(const struct bench_case *c, enum lend_type type, size_t scale,
	     struct case_shapes *shapes, struct message *why)
{
	const char *sizes = c->sizes;
	const char *p = c->einsum;
	size_t rank[2] = { 0, 0 }, operand = 0;

	if (!sizes)
		sizes = c->list[type_real_bytes(type) == 4];
	for (; *p && *p != '-'; p += code_bytes(p)) {
		size_t n = code_bytes(p), size;

		if (*p == ' ')
			continue;
		if (*p == ',' && operand++ == 0)
			continue;
		if (operand > 1 || rank[operand] == LEND_MAX_RANK)
			return refuse(why, "not an einsum of two operands");
		size = look_up(sizes, p, n);
		if (size == 0 || size > PTRDIFF_MAX)
			return refuse(why, "'%s' gives no size of label "
				      "'%.*s'", sizes, (int)n, p);
		shapes->extent[operand][rank[operand]++] =
			(size - 1) / scale + 1;
	}
	shapes->a = (struct lend_layout){ rank[0], shapes->extent[0], NULL };
	shapes->b = (struct lend_layout){ rank[1], shapes->extent[1], NULL };
	return true;
}
