/* SPDX-License-Identifier: MIT */
#include "tools/npy.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES ((size_t)6)
/* What version 1 can express; more takes a structured type, no array has it. */
#define DICT_MAX ((size_t)65535)
#define ALIGNMENT ((size_t)64)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define NATIVE '<'
#else
#define NATIVE '>'
#endif

struct cursor {
	const unsigned char *start, *p, *end;
	struct message *why;
};

enum { HAVE_DESCR = 1, HAVE_ORDER = 2, HAVE_SHAPE = 4, HAVE_ALL = 7 };

/* Where in the file, for messages: `start` is the file's first byte. */
static size_t
position(const struct cursor *at)
{
	return (size_t)(at->p - at->start);
}

static void
skip_space(struct cursor *at)
{
	while (at->p < at->end && memchr(" \t\n\r\f", *at->p, 5))
		at->p++;
}

/* Skips space, then the character if it is the next one. */
static bool
accept(struct cursor *at, char c)
{
	skip_space(at);
	if (at->p == at->end || *at->p != (unsigned char)c)
		return false;
	at->p++;
	return true;
}

static bool
expect(struct cursor *at, char c, const char *where)
{
	if (accept(at, c))
		return true;
	return refuse(at->why, "header: no '%c' %s, at byte %zu", c, where,
		      position(at));
}

/* A string without escapes, as none is needed here; into text[0..size). */
static bool
read_string(struct cursor *at, char *text, size_t size)
{
	size_t length = 0;
	char quote;

	skip_space(at);
	if (at->p == at->end || (*at->p != '\'' && *at->p != '"'))
		return refuse(at->why, "header: no string, at byte %zu",
			      position(at));
	quote = (char)*at->p++;
	for (; at->p < at->end && *at->p != (unsigned char)quote; at->p++) {
		if (*at->p < ' ' || *at->p > '~' || *at->p == '\\')
			return refuse(at->why, "header: character %#x in a "
				      "string, at byte %zu",
				      (unsigned)*at->p, position(at));
		if (length + 1 == size)
			return refuse(at->why, "header: a string that is too "
				      "long, at byte %zu", position(at));
		text[length++] = (char)*at->p;
	}
	text[length] = '\0';
	if (at->p == at->end)
		return refuse(at->why, "header: a string does not end");
	at->p++;
	return true;
}

static bool
read_descr(struct cursor *at, struct npy_header *header)
{
	static const struct {
		const char *name;
		enum lend_type type;
	} known[] = {
		{ "f4", LEND_F32 }, { "f8", LEND_F64 },
		{ "c8", LEND_CF32 }, { "c16", LEND_CF64 },
	};
	char text[32];
	const char *name = text;

	skip_space(at);
	if (at->p < at->end && *at->p == '[')
		return refuse(at->why, "elements are structures; f4, f8, c8 "
			      "and c16 can be contracted");
	if (!read_string(at, text, sizeof text))
		return false;
	header->foreign = (*name == '<' || *name == '>') && *name != NATIVE;
	if (*name && strchr("<>=|", *name))
		name++;
	for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
		if (strcmp(name, known[i].name))
			continue;
		header->type = known[i].type;
		return true;
	}
	return refuse(at->why, "elements are of type '%s'; f4, f8, c8 and c16 "
		      "can be contracted", text);
}

static bool
read_order(struct cursor *at, struct npy_header *header)
{
	size_t left;

	skip_space(at);
	left = (size_t)(at->end - at->p);
	header->fortran = left >= 4 && !memcmp(at->p, "True", 4);
	if (!header->fortran && !(left >= 5 && !memcmp(at->p, "False", 5)))
		return refuse(at->why, "header: fortran_order is neither True "
			      "nor False, at byte %zu", position(at));
	at->p += header->fortran ? 4 : 5;
	return true;
}

static bool
is_digit(const struct cursor *at)
{
	return at->p < at->end && *at->p >= '0' && *at->p <= '9';
}

static bool
read_extent(struct cursor *at, size_t *extent)
{
	const unsigned char *first;
	size_t value = 0;

	skip_space(at);
	if (at->p < at->end && *at->p == '-')
		return refuse(at->why, "an extent is negative, at byte %zu",
			      position(at));
	if (!is_digit(at))
		return refuse(at->why, "header: no extent where one should "
			      "be, at byte %zu", position(at));
	for (first = at->p; is_digit(at); at->p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *at->p - '0', &value) ||
		    value > PTRDIFF_MAX)
			return refuse(at->why, "an extent is too large for "
				      "any machine, at byte %zu",
				      position(at));
	}
	if (*first == '0' && at->p - first > 1)
		return refuse(at->why, "header: an extent begins with 0, at "
			      "byte %zu", position(at));
	/* Python 2 wrote long integers so. */
	if (at->p < at->end && *at->p == 'L')
		at->p++;
	*extent = value;
	return true;
}

static bool
read_shape(struct cursor *at, struct npy_header *header)
{
	bool comma = true;

	if (!expect(at, '(', "before the shape"))
		return false;
	header->rank = 0;
	while (!accept(at, ')')) {
		if (!comma)
			return refuse(at->why, "header: no ',' or ')' after "
				      "an extent, at byte %zu", position(at));
		if (header->rank == LEND_MAX_RANK)
			return refuse(at->why, "more than %d dimensions",
				      LEND_MAX_RANK);
		if (!read_extent(at, &header->extent[header->rank]))
			return false;
		header->rank++;
		comma = accept(at, ',');
	}
	/* (3) is a number to Python. */
	if (header->rank == 1 && !comma)
		return refuse(at->why, "header: the shape is no tuple, at byte "
			      "%zu", position(at));
	return true;
}

static bool
read_member(struct cursor *at, struct npy_header *header, unsigned *have)
{
	char key[32];
	unsigned which;

	if (!read_string(at, key, sizeof key) ||
	    !expect(at, ':', "after a key"))
		return false;
	which = !strcmp(key, "descr") ? HAVE_DESCR :
		!strcmp(key, "fortran_order") ? HAVE_ORDER :
		!strcmp(key, "shape") ? HAVE_SHAPE : 0;
	if (which == 0)
		return refuse(at->why, "header: key '%s' is unknown", key);
	if (*have & which)
		return refuse(at->why, "header: key '%s' stands twice", key);
	*have |= which;
	return which == HAVE_DESCR ? read_descr(at, header) :
	       which == HAVE_ORDER ? read_order(at, header) :
				     read_shape(at, header);
}

static bool
read_dict(struct cursor *at, struct npy_header *header)
{
	unsigned have = 0;
	bool comma = true;

	if (!expect(at, '{', "at its beginning"))
		return false;
	while (!accept(at, '}')) {
		if (!comma)
			return refuse(at->why, "header: no ',' or '}' after a "
				      "value, at byte %zu", position(at));
		if (!read_member(at, header, &have))
			return false;
		comma = accept(at, ',');
	}
	skip_space(at);
	if (at->p != at->end)
		return refuse(at->why, "header: something after its '}', at "
			      "byte %zu", position(at));
	if (have != HAVE_ALL)
		return refuse(at->why, "header: key '%s' is missing",
			      !(have & HAVE_DESCR) ? "descr" :
			      !(have & HAVE_ORDER) ? "fortran_order" :
						     "shape");
	return true;
}

bool
npy_measure(struct npy_header *header, size_t *bytes, struct message *why)
{
	/* Without the zeroes: strides are products of the others as well. */
	size_t product = lend_type_bytes(header->type);

	header->count = 1;
	for (size_t i = 0; i < header->rank; i++) {
		size_t extent = header->extent[i];

		if (extent > 0 &&
		    (__builtin_mul_overflow(product, extent, &product) ||
		     product > PTRDIFF_MAX))
			return refuse(why, "the shape's product overflows");
		header->count *= extent;
	}
	*bytes = header->count * lend_type_bytes(header->type);
	return true;
}

/* Where the dict is: after magic, version and length, all checked. */
static bool
find_dict(struct cursor *at, const unsigned char *bytes, size_t size,
	  struct message *why)
{
	size_t fixed, length;

	if (size == 0)
		return refuse(why, "the file is empty");
	if (memcmp(bytes, MAGIC, size < MAGIC_BYTES ? size : MAGIC_BYTES))
		return refuse(why, "not a .npy file: it does not begin with "
			      "\\x93NUMPY");
	if (size < 10)
		return refuse(why, "truncated: ends within its first bytes");
	if (bytes[6] < 1 || bytes[6] > 3 || bytes[7] != 0)
		return refuse(why, "version %d.%d of the format, not 1.0, 2.0 "
			      "or 3.0", bytes[6], bytes[7]);
	fixed = bytes[6] == 1 ? 10 : 12;
	if (size < fixed)
		return refuse(why, "truncated: ends within its first bytes");
	length = bytes[8] | (size_t)bytes[9] << 8;
	if (fixed == 12)
		length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
	if (length > DICT_MAX)
		return refuse(why, "a header of %zu bytes: no array has more "
			      "than %zu", length, DICT_MAX);
	if (length > size - fixed)
		return refuse(why, "truncated: a header of %zu bytes, and %zu "
			      "bytes are left", length, size - fixed);
	*at = (struct cursor){ bytes, bytes + fixed, bytes + fixed + length,
			       why };
	return true;
}

/* All of the header; *elements are the bytes of the elements. */
static bool
read_header(struct npy_header *header, const void *bytes, size_t size,
	    size_t *elements, struct message *why)
{
	struct cursor at;

	memset(header, 0, sizeof *header);
	if (!find_dict(&at, bytes, size, why) || !read_dict(&at, header) ||
	    !npy_measure(header, elements, why))
		return false;
	header->data = position(&at);
	return true;
}

bool
npy_parse(struct npy_header *header, const void *bytes, size_t size,
	  struct message *why)
{
	size_t want, have;

	if (!read_header(header, bytes, size, &want, why))
		return false;
	have = size - header->data;
	if (have < want)
		return refuse(why, "truncated: its shape takes %zu bytes, and "
			      "%zu are there", want, have);
	if (have > want)
		return refuse(why, "%zu bytes too many: its shape takes %zu",
			      have - want, want);
	return true;
}

size_t
npy_announced(const void *bytes, size_t size)
{
	struct npy_header header;
	size_t elements;

	/* Of two sizes that are below PTRDIFF_MAX each. */
	return read_header(&header, bytes, size, &elements, NULL)
		? header.data + elements : 0;
}

size_t
npy_format(const struct npy_header *header,
	   unsigned char bytes[NPY_FORMAT_MAX])
{
	static const char *const code[] = {
		[LEND_F32] = "f4", [LEND_F64] = "f8",
		[LEND_CF32] = "c8", [LEND_CF64] = "c16",
	};
	char *text = (char *)bytes;
	size_t length = 10, total;

	length += (size_t)snprintf(text + length, NPY_FORMAT_MAX - length,
				   "{'descr': '%c%s', 'fortran_order': %s, "
				   "'shape': (", NATIVE, code[header->type],
				   header->fortran ? "True" : "False");
	for (size_t i = 0; i < header->rank; i++)
		length += (size_t)snprintf(text + length,
					   NPY_FORMAT_MAX - length, "%s%zu",
					   i ? ", " : "", header->extent[i]);
	length += (size_t)snprintf(text + length, NPY_FORMAT_MAX - length,
				   "%s), }", header->rank == 1 ? "," : "");
	total = (length + 1 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	memset(text + length, ' ', total - length);
	text[total - 1] = '\n';
	memcpy(text, MAGIC "\x01", MAGIC_BYTES + 2);
	bytes[8] = (unsigned char)((total - 10) & 0xff);
	bytes[9] = (unsigned char)((total - 10) >> 8);
	return total;
}

void
npy_layout(const struct npy_header *header, ptrdiff_t stride[LEND_MAX_RANK],
	   struct lend_layout *layout)
{
	/* An empty extent must not make the others' strides 0. */
	ptrdiff_t next = 1;

	for (size_t i = 0; i < header->rank; i++) {
		size_t d = header->fortran ? i : header->rank - 1 - i;

		stride[d] = next;
		if (header->extent[d] > 0)
			next *= (ptrdiff_t)header->extent[d];
	}
	*layout = (struct lend_layout){ header->rank, header->extent, stride };
}
