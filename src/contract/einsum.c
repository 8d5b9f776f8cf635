/* SPDX-License-Identifier: MIT */
#include "contract/einsum.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "contract/error.h"

const char *
operand_name(enum operand which)
{
	static const char *const name[OPERANDS] = {
		"the first operand", "the second operand", "the output"
	};

	return name[which];
}

struct label_text
label_text(uint32_t point)
{
	struct label_text text = { { 0 } };
	size_t more = point < 0x80 ? 0 : point < 0x800 ? 1 :
		      point < 0x10000 ? 2 : 3;
	static const unsigned char lead[] = { 0, 0xc0, 0xe0, 0xf0 };

	for (size_t i = more; i > 0; i--, point >>= 6)
		text.utf8[i] = (char)(0x80 | (point & 0x3f));
	text.utf8[0] = (char)(lead[more] | point);
	return text;
}

/*
 * Reads one code point and returns its bytes, 0 where the text is no UTF-8:
 * a stray byte, a form longer than need be, a surrogate, beyond 0x10ffff.
 */
static size_t
read_point(const char *text, uint32_t *point)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned char first = (unsigned char)text[0];
	size_t more = first < 0x80 ? 0 : first >= 0xf0 ? 3 :
		      first >= 0xe0 ? 2 : 1;

	if ((first >= 0x80 && first < 0xc0) || first >= 0xf8)
		return 0;
	*point = more ? first & (0x3fu >> more) : first;
	for (size_t i = 1; i <= more; i++) {
		/* Stops at the end of the text as well: 0 is no such byte. */
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		*point = *point << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (*point < least[more] || *point > 0x10ffff ||
	    (*point >= 0xd800 && *point < 0xe000))
		return 0;
	return more + 1;
}

/* What is being read. */
struct reader {
	const char *text;
	size_t at;
	struct einsum *einsum;
	struct lend_error *why;
};

/* The label's number; a new one where it is new. */
static int
number(struct reader *reader, uint32_t point, uint8_t *label)
{
	struct einsum *einsum = reader->einsum;

	for (size_t i = 0; i < einsum->labels; i++)
		if (einsum->point[i] == point) {
			*label = (uint8_t)i;
			return 0;
		}
	if (einsum->labels == LEND_MAX_RANK)
		return lend__fail(reader->why, -EINVAL,
				  "einsum, byte %zu: more than %d labels",
				  reader->at, LEND_MAX_RANK);
	*label = (uint8_t)einsum->labels;
	einsum->point[einsum->labels++] = point;
	return 0;
}

static int
add_label(struct reader *reader, enum operand which, uint32_t point)
{
	struct einsum *einsum = reader->einsum;
	uint8_t label = 0;
	int error;

	if (einsum->of[which].rank == LEND_MAX_RANK)
		return lend__fail(reader->why, -EINVAL,
				  "einsum, byte %zu: %s has more than %d labels",
				  reader->at, operand_name(which),
				  LEND_MAX_RANK);
	error = number(reader, point, &label);
	if (!error)
		einsum->of[which].label[einsum->of[which].rank++] = label;
	return error;
}

/* Whether a point ends an operand's labels, or is nothing at all there. */
static bool
is_special(uint32_t point)
{
	return point == ',' || point == '-' || point == '>' || point == '.';
}

int
einsum_next(const char *text, size_t *at, uint32_t *point, size_t *bytes,
	    struct lend_error *why)
{
	*at += strspn(text + *at, " \t");
	*bytes = 0;
	if (!text[*at])
		return 0;
	*bytes = read_point(text + *at, point);
	if (!*bytes)
		return lend__fail(why, -EINVAL, "einsum, byte %zu: not UTF-8",
				  *at);
	if (is_special(*point))
		*bytes = 0;
	else if (*point < 0x20 || (*point >= 0x7f && *point < 0xa0))
		return lend__fail(why, -EINVAL,
			"einsum, byte %zu: a control character is no label",
			*at);
	return 0;
}

/* Reads labels up to the end of the text or something special. */
static int
read_operand(struct reader *reader, enum operand which)
{
	for (;;) {
		uint32_t point = 0;
		size_t bytes;
		int error = einsum_next(reader->text, &reader->at, &point,
					&bytes, reader->why);

		if (!error && bytes)
			error = add_label(reader, which, point);
		if (error || !bytes)
			return error;
		reader->at += bytes;
	}
}

int
einsum_expect(const char *text, size_t *at, const char *what,
	      const char *where, struct lend_error *why)
{
	const char *found = text + *at;
	size_t length = strlen(what);

	if (strncmp(found, what, length) == 0) {
		*at += length;
		return 0;
	}
	if (*found == '.')
		return lend__fail(why, -EINVAL,
			"einsum, byte %zu: an ellipsis is not supported: name "
			"every label", *at);
	return lend__fail(why, -EINVAL,
			  "einsum, byte %zu: '%s' expected %s, found %s%.1s%s",
			  *at, what, where, *found ? "'" : "the end", found,
			  *found ? "'" : "");
}

static int
expect(struct reader *reader, const char *what, const char *where)
{
	return einsum_expect(reader->text, &reader->at, what, where,
			     reader->why);
}

static size_t
count_label(const struct einsum *einsum, enum operand which, size_t label)
{
	size_t count = 0;

	for (size_t i = 0; i < einsum->of[which].rank; i++)
		count += einsum->of[which].label[i] == label;
	return count;
}

/* Without "->": what stands once, in the order of the code points. */
static void
imply_output(struct einsum *einsum)
{
	size_t rank = 0;
	uint8_t *out = einsum->of[OPERAND_C].label;

	for (size_t label = 0; label < einsum->labels; label++) {
		size_t at = rank;

		if (count_label(einsum, OPERAND_A, label) +
		    count_label(einsum, OPERAND_B, label) != 1)
			continue;
		while (at > 0 && einsum->point[out[at - 1]] >
				 einsum->point[label]) {
			out[at] = out[at - 1];
			at--;
		}
		out[at] = (uint8_t)label;
		rank++;
	}
	einsum->of[OPERAND_C].rank = rank;
}

static int
check_output(const struct einsum *einsum, struct lend_error *why)
{
	for (size_t label = 0; label < einsum->labels; label++) {
		struct label_text text = label_text(einsum->point[label]);
		size_t count = count_label(einsum, OPERAND_C, label);

		if (count > 1)
			return lend__fail(why, -EINVAL,
				"einsum: label '%s' stands twice in the "
				"output", text.utf8);
		if (count && !count_label(einsum, OPERAND_A, label) &&
		    !count_label(einsum, OPERAND_B, label))
			return lend__fail(why, -EINVAL,
				"einsum: label '%s' of the output is in no "
				"operand", text.utf8);
	}
	return 0;
}

int
einsum_parse(struct einsum *einsum, const char *text, struct lend_error *why)
{
	struct reader reader = { text, 0, einsum, why };
	int error;

	memset(einsum, 0, sizeof(*einsum));
	error = read_operand(&reader, OPERAND_A);
	if (!error)
		error = expect(&reader, ",", "after the first operand");
	if (!error)
		error = read_operand(&reader, OPERAND_B);
	if (error)
		return error;
	if (!text[reader.at]) {
		imply_output(einsum);
		return 0;
	}
	if (text[reader.at] == ',')
		return lend__fail(why, -EINVAL,
			"einsum, byte %zu: more than two operands", reader.at);
	error = expect(&reader, "->", "after the second operand");
	if (!error)
		error = read_operand(&reader, OPERAND_C);
	if (!error && text[reader.at])
		error = expect(&reader, "the end", "after the output");
	return error ? error : check_output(einsum, why);
}
