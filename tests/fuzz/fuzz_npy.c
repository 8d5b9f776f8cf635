/* SPDX-License-Identifier: MIT */
/*
 * The .npy parser against files that were made wrong.
 *
 * For libFuzzer (fuzz.h):
 *
 *   clang -fsanitize=fuzzer,address,undefined -DLEND_LIBFUZZER
 *	-Iinclude -Isrc -Itests tests/fuzz/fuzz.c tests/fuzz/fuzz_npy.c
 *	src/tools/npy_header.c src/tools/types.c src/tools/message.c
 *	-llend-contract
 *
 * What must hold: nothing beyond the bytes is read (they end where the memory
 * does), a refusal says why in printable characters, and what is accepted
 * agrees with the file's size and comes back the same from the header that
 * npy_format() makes of it.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "tools/npy.h"

static void
check_accepted(const struct npy_header *header, const uint8_t *bytes,
	       size_t size)
{
	size_t element = lend_type_bytes(header->type);
	ptrdiff_t stride[LEND_MAX_RANK];
	unsigned char text[NPY_FORMAT_MAX];
	struct lend_layout layout;
	struct npy_header again;
	struct message why;
	size_t count = 1, total;

	MUST(element > 0);
	MUST(header->rank <= LEND_MAX_RANK);
	for (size_t i = 0; i < header->rank; i++)
		MUST(!__builtin_mul_overflow(count, header->extent[i],
					     &count));
	MUST(count == header->count);
	MUST(header->data <= size);
	MUST((size - header->data) / element == count);
	MUST((size - header->data) % element == 0);
	npy_layout(header, stride, &layout);
	for (size_t i = 0; i < layout.rank; i++)
		MUST(stride[i] > 0);
	total = npy_format(header, text);
	MUST(total <= sizeof text && total % 64 == 0);
	/* Without the elements it is complete only if there are none. */
	MUST(npy_parse(&again, text, total, &why) == (count == 0));
	MUST(count == 0 || strstr(why.text, "truncated"));
	MUST(again.type == header->type && again.rank == header->rank);
	MUST(again.fortran == header->fortran && again.data == total);
	MUST(!memcmp(again.extent, header->extent, sizeof again.extent));
}

/* Whether it was accepted. */
static bool
check(const uint8_t *bytes, size_t size)
{
	struct npy_header header;
	struct message why = { "" };

	if (size > FUZZ_GUARDED)
		return false;
	if (npy_parse(&header, fuzz_before_guard(bytes, size), size, &why)) {
		check_accepted(&header, bytes, size);
		return true;
	}
	MUST(strlen(why.text) < sizeof why.text);
	fuzz_check_reason(why.text, bytes, size);
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	check(bytes, size);
	return 0;
}

#ifndef LEND_LIBFUZZER

/* What hurts parsers. */
static const char *const tokens[] = {
	"'descr'", "'shape'", "'fortran_order'", "\"shape\"", "True", "False",
	"'<f8'", "'>c16'", "'|f4'", "'=c8'", "'<i4'", "[('a', '<f8')]", "(",
	")", "()", "(1,)", "(2, 3)", ",", ":", "{", "}", "'", "\\", "\n", "#",
	"0", "-1", "00", "1L", "1e9", "4294967296", "9223372036854775807",
	"18446744073709551616", "99999999999999999999999999", "\xff", " ",
};
#define TOKENS (sizeof tokens / sizeof tokens[0])

/* A good file, as one of the versions. */
static size_t
make_good(uint8_t *file)
{
	struct npy_header header = {
		.type = (enum lend_type)fuzz_below(4), .fortran = fuzz_below(2),
		.rank = fuzz_below(5),
	};
	size_t size, bytes;

	for (size_t i = 0; i < header.rank; i++)
		header.extent[i] = fuzz_below(4);
	size = npy_format(&header, file);
	if (!npy_measure(&header, &bytes, NULL) ||
	    size + bytes + 2 > FUZZ_ROOM)
		return size;
	memset(file + size, 0, bytes);
	size += bytes;
	file[6] = (uint8_t)(1 + fuzz_below(3));
	if (file[6] > 1)
		size = fuzz_splice(file, size, 10, 0, "\0\0", 2);
	return size;
}

/* Often the header's length as it is: so the parser goes on to the dict. */
static void
mend_length(uint8_t *file, size_t size)
{
	uint8_t *end;
	size_t fixed, length;

	if (size < 12 || fuzz_below(2) == 0)
		return;
	end = memchr(file + 12, '\n', size - 12);
	if (!end)
		return;
	fixed = file[6] == 1 ? 10 : 12;
	length = (size_t)(end + 1 - file) - fixed;
	file[8] = (uint8_t)length;
	file[9] = (uint8_t)(length >> 8);
}

static size_t
mutate(uint8_t *file, size_t size)
{
	const char *token = tokens[fuzz_below(TOKENS)];
	size_t at = fuzz_below(size + 1), n;
	uint8_t byte = (uint8_t)fuzz_next(), copy[16];

	switch (fuzz_below(7)) {
	case 0:
		return fuzz_splice(file, size, at, 1, &byte, 1);
	case 1:
		return fuzz_splice(file, size, at, 0, &byte, 1);
	case 2:
		return fuzz_splice(file, size, at, 1 + fuzz_below(8), "", 0);
	case 3:
		return fuzz_splice(file, size, at, fuzz_below(4), token,
				   strlen(token));
	case 4:
		return at;
	case 5:
		n = fuzz_below(sizeof copy);
		if (at + n > size)
			return size;
		memcpy(copy, file + at, n);
		return fuzz_splice(file, size, fuzz_below(size + 1), 0, copy,
				   n);
	default:
		/* Often enough within the dict. */
		at = 10 + fuzz_below(60);
		return fuzz_splice(file, size, at, fuzz_below(3), token,
				   strlen(token));
	}
}

int
main(void)
{
	/* Most mutations leave no good file. */
	static const struct fuzz_target target = {
		.iterations = 300000, .make = make_good, .mutate = mutate,
		.mend = mend_length, .check = check, .most = 50,
	};

	return fuzz_main(&target);
}

#endif
