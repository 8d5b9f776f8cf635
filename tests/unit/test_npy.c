/* SPDX-License-Identifier: MIT */
/* The .npy header: what is read, what is refused and how that is said. */
#include "tools/npy.h"

#include <check.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/suite.h"

#define ROOM 8192

struct file {
	unsigned char bytes[ROOM];
	size_t size;
};

/* A file of the version with this dict and so many bytes of elements. */
static void
make(struct file *file, int version, const char *dict, size_t elements)
{
	size_t fixed = version == 1 ? 10 : 12, length = strlen(dict);

	memset(file->bytes, 0, sizeof file->bytes);
	memcpy(file->bytes, "\x93NUMPY", 6);
	file->bytes[6] = (unsigned char)version;
	file->bytes[8] = (unsigned char)length;
	file->bytes[9] = (unsigned char)(length >> 8);
	file->size = fixed + length + elements;
	ck_assert_uint_le(file->size, ROOM);
	memcpy(file->bytes + fixed, dict, length);
}

static void
must_read(const struct file *file, struct npy_header *header)
{
	struct message why = { "" };

	if (!npy_parse(header, file->bytes, file->size, &why))
		ck_abort_msg("refused: %s", why.text);
}

static void
must_refuse(const struct file *file, const char *what)
{
	struct npy_header header;
	struct message why = { "" };

	if (npy_parse(&header, file->bytes, file->size, &why))
		ck_abort_msg("accepted, in place of: %s", what);
	if (!strstr(why.text, what))
		ck_abort_msg("'%s' does not say '%s'", why.text, what);
}

static const struct {
	const char *dict;
	enum lend_type type;
	bool foreign, fortran;
	size_t rank, extent[3], bytes;
} good[] = {
	{ "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n",
	  LEND_F64, false, false, 2, { 2, 3 }, 48 },
	{ "{'descr': '>f4', 'fortran_order': True, 'shape': (5,), }  \n",
	  LEND_F32, true, true, 1, { 5 }, 20 },
	{ "{'shape':(),'descr':'|c8','fortran_order':False}",
	  LEND_CF32, false, false, 0, { 0 }, 8 },
	{ "\t{ \"fortran_order\" : True ,\n \"shape\" : ( 1 , 2 , 3 , ) ,"
	  " \"descr\" : \"=c16\" , }\r\n", LEND_CF64, false, true, 3,
	  { 1, 2, 3 }, 96 },
	{ "{'descr': 'f8', 'fortran_order': False, 'shape': (7L, 0L)}",
	  LEND_F64, false, false, 2, { 7, 0 }, 0 },
	{ "{'descr': '>c16', 'fortran_order': False, 'shape': (0,)}",
	  LEND_CF64, true, false, 1, { 0 }, 0 },
};

START_TEST(reads_all_versions)
{
	for (int version = 1; version <= 3; version++) {
		struct file file;
		struct npy_header header;
		bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
		bool marked = strchr(good[_i].dict, '<') ||
			      strchr(good[_i].dict, '>');

		make(&file, version, good[_i].dict, good[_i].bytes);
		must_read(&file, &header);
		ck_assert_int_eq(header.type, good[_i].type);
		ck_assert_int_eq(header.foreign,
				 little || !marked ? good[_i].foreign
						   : !good[_i].foreign);
		ck_assert_int_eq(header.fortran, good[_i].fortran);
		ck_assert_uint_eq(header.rank, good[_i].rank);
		for (size_t i = 0; i < header.rank; i++)
			ck_assert_uint_eq(header.extent[i],
					  good[_i].extent[i]);
		ck_assert_uint_eq(header.data, file.size - good[_i].bytes);
		ck_assert_uint_eq(header.count *
					lend_type_bytes(header.type),
				  good[_i].bytes);
		/* Neither cut anywhere nor longer. */
		file.size++;
		must_refuse(&file, "1 bytes too many");
		for (file.size -= 2; file.size + 1 > 0; file.size--)
			must_refuse(&file, file.size ? "truncated" : "empty");
	}
}
END_TEST

#define D "{'descr': '<f8', 'fortran_order': False, "
#define F "'fortran_order': False, 'shape': (2,)}"

static const struct {
	const char *dict, *what;
} bad[] = {
	{ "", "no '{'" },
	{ "[]", "no '{'" },
	{ "{", "no string" },
	{ "{}", "key 'descr' is missing" },
	{ "{'descr': '<f8'}", "key 'fortran_order' is missing" },
	{ "{'descr': '<f8', 'fortran_order': True}", "'shape' is missing" },
	{ D "'shape': (2,), 'more': 1}", "key 'more' is unknown" },
	{ D "'shape': (2,), 'shape': (2,)}", "key 'shape' stands twice" },
	{ D "'shape': (2,)} x", "something after its '}'" },
	{ D "'shape': (2,)", "no ',' or '}'" },
	{ D "'shape' (2,)}", "no ':' after a key" },
	{ D "'shape': 2}", "no '(' before the shape" },
	{ D "'shape': (2)}", "the shape is no tuple" },
	{ D "'shape': (2 3)}", "no ',' or ')'" },
	{ D "'shape': (,)}", "no extent" },
	{ D "'shape': (2,,3)}", "no extent" },
	{ D "'shape': (2, 0x3)}", "no ',' or ')'" },
	{ D "'shape': (2, 03)}", "begins with 0" },
	{ D "'shape': (2, 1.5)}", "no ',' or ')'" },
	{ D "'shape': (2, -3)}", "an extent is negative" },
	{ D "'shape': (2, None)}", "no extent" },
	{ D "'shape': (2, 3", "no ',' or ')'" },
	{ D "'shape': (2, 3,", "no extent" },
	{ D "'shape': (9223372036854775808,)}", "too large" },
	{ D "'shape': (99999999999999999999,)}", "too large" },
	{ D "'shape': (4294967296, 4294967296)}", "product overflows" },
	{ D "'shape': (9223372036854775807, 0)}", "product overflows" },
	{ D "'shape': (1152921504606846976,)}", "product overflows" },
	{ "{'descr': [('a', '<f8')], " F, "elements are structures" },
	{ "{'descr': '<i8', " F, "elements are of type '<i8'" },
	{ "{'descr': '<f2', " F, "elements are of type '<f2'" },
	{ "{'descr': '<f80', " F, "elements are of type '<f80'" },
	{ "{'descr': '', " F, "elements are of type ''" },
	{ "{'descr': '<', " F, "elements are of type '<'" },
	{ "{'descr': '<<f8', " F, "elements are of type '<<f8'" },
	{ "{'descr': f8, " F, "no string" },
	{ "{'descr': '<f8", "a string does not end" },
	{ "{'descr': '\\x3cf8', " F, "character 0x5c in a string" },
	{ "{'descr': '\xff', " F, "character 0xff in a string" },
	{ "{'descr': 'a string of more than thirty-two bytes', " F,
	  "too long" },
	{ "{'descr': '<f8', 'fortran_order': 0, 'shape': (2,)}",
	  "neither True nor False" },
	{ "{'descr': '<f8', 'fortran_order': true, 'shape': (2,)}",
	  "neither True nor False" },
	{ "{'descr': '<f8', 'fortran_order': Tru", "neither True nor" },
};

START_TEST(refuses_dicts)
{
	struct file file;

	make(&file, 1, bad[_i].dict, 16);
	must_refuse(&file, bad[_i].what);
}
END_TEST

START_TEST(refuses_beginnings)
{
	struct file file;

	make(&file, 1, good[0].dict, good[0].bytes);
	file.bytes[0] = 'P';
	must_refuse(&file, "not a .npy file");
	for (int i = 0; i < 256; i++) {
		make(&file, 1, good[0].dict, good[0].bytes);
		file.bytes[6] = (unsigned char)i;
		if (i < 1 || i > 3)
			must_refuse(&file, "version ");
		file.bytes[6] = 1;
		file.bytes[7] = (unsigned char)i;
		if (i > 0)
			must_refuse(&file, "version 1.");
	}
	make(&file, 2, good[0].dict, good[0].bytes);
	file.bytes[10] = 1;
	must_refuse(&file, "no array has more than 65535");
	file.bytes[11] = 0xff;
	must_refuse(&file, "no array has more than 65535");
}
END_TEST

START_TEST(counts_dimensions)
{
	struct npy_header header;
	struct file file;
	char dict[1024];
	size_t length;

	for (size_t rank = 63; rank < 67; rank++) {
		length = (size_t)sprintf(dict, D "'shape': (");
		for (size_t i = 0; i < rank; i++)
			length += (size_t)sprintf(dict + length, "1,");
		sprintf(dict + length, ")}");
		make(&file, 1, dict, 8);
		if (rank > LEND_MAX_RANK) {
			must_refuse(&file, "more than 64 dimensions");
			continue;
		}
		must_read(&file, &header);
		ck_assert_uint_eq(header.rank, rank);
	}
}
END_TEST

/* What it writes is what NumPy writes, but for the order of this machine. */
START_TEST(formats)
{
	static const char want[] =
		"{'descr': '<c8', 'fortran_order': True, 'shape': (3, 40), }";
	struct npy_header header = { .type = LEND_CF32, .fortran = true,
				     .rank = 2, .extent = { 3, 40 } };
	unsigned char bytes[NPY_FORMAT_MAX];
	size_t size = npy_format(&header, bytes);

	ck_assert_uint_eq(size, 128);
	ck_assert_int_eq(bytes[size - 1], '\n');
	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		ck_assert(!memcmp(bytes + 10, want, sizeof want - 1));
}
END_TEST

START_TEST(formats_the_largest)
{
	struct npy_header header = { .type = LEND_CF64,
				     .rank = LEND_MAX_RANK }, again;
	unsigned char bytes[NPY_FORMAT_MAX];
	size_t size;

	header.extent[0] = 0;
	for (size_t i = 1; i < LEND_MAX_RANK; i++)
		header.extent[i] = 1;
	header.extent[1] = PTRDIFF_MAX / 16;
	size = npy_format(&header, bytes);
	ck_assert_uint_le(size, sizeof bytes);
	ck_assert(npy_parse(&again, bytes, size, NULL));
	ck_assert_uint_eq(again.extent[1], header.extent[1]);
	/* No file has it, and it has room all the same. */
	for (size_t i = 0; i < LEND_MAX_RANK; i++)
		header.extent[i] = SIZE_MAX;
	ck_assert_uint_le(npy_format(&header, bytes), sizeof bytes);
}
END_TEST

START_TEST(lays_out)
{
	struct npy_header header = { .rank = 3, .extent = { 2, 3, 4 } };
	ptrdiff_t stride[LEND_MAX_RANK];
	struct lend_layout layout;

	npy_layout(&header, stride, &layout);
	ck_assert_uint_eq(layout.rank, 3);
	ck_assert_int_eq(layout.stride[0], 12);
	ck_assert_int_eq(layout.stride[1], 4);
	ck_assert_int_eq(layout.stride[2], 1);
	header.fortran = true;
	npy_layout(&header, stride, &layout);
	ck_assert_int_eq(layout.stride[0], 1);
	ck_assert_int_eq(layout.stride[1], 2);
	ck_assert_int_eq(layout.stride[2], 6);
}
END_TEST

/* A server knows what is to come as soon as it may. */
START_TEST(announces_its_size)
{
	struct file file;

	make(&file, 1, "{'descr': '<f8', 'fortran_order': False, "
		       "'shape': (3, 5)}", 120);
	for (size_t size = 0; size <= file.size; size++)
		ck_assert_uint_eq(npy_announced(file.bytes, size),
				  size < file.size - 120 ? 0 : file.size);
	/* Only the header can tell, and this one is wrong. */
	file.bytes[0] = 'x';
	ck_assert_uint_eq(npy_announced(file.bytes, file.size), 0);
}
END_TEST

/* Within one block, towards its beginning, by less than an element. */
START_TEST(moves_to_this_machine)
{
	static const enum lend_type types[] = { LEND_F32, LEND_CF64 };
	struct npy_header header = { .type = types[_i % 2],
				     .foreign = _i / 2 % 2, .count = 3 };
	size_t real = types[_i % 2] == LEND_F32 ? 4 : 8;
	size_t bytes = 3 * lend_type_bytes(header.type);
	size_t shift = (size_t)_i / 4;
	unsigned char block[3 * 16 + 8], want[3 * 16];

	for (size_t i = 0; i < bytes; i++) {
		block[shift + i] = (unsigned char)i;
		want[header.foreign ? i / real * real + real - 1 - i % real
				    : i] = (unsigned char)i;
	}
	npy_native(&header, block, block + shift);
	ck_assert_mem_eq(block, want, bytes);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("npy");
	TCase *reading = suite_case(suite, "reading");
	TCase *writing = suite_case(suite, "writing");

	tcase_add_loop_test(reading, reads_all_versions, 0,
			    sizeof good / sizeof good[0]);
	tcase_add_loop_test(reading, refuses_dicts, 0,
			    sizeof bad / sizeof bad[0]);
	tcase_add_test(reading, refuses_beginnings);
	tcase_add_test(reading, counts_dimensions);
	tcase_add_test(reading, announces_its_size);
	tcase_add_loop_test(reading, moves_to_this_machine, 0, 4 * 8);
	tcase_add_test(writing, formats);
	tcase_add_test(writing, formats_the_largest);
	tcase_add_test(writing, lays_out);
	return suite_run(suite);
}
