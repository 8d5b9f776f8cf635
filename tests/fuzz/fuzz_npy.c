/* SPDX-License-Identifier: MIT */
/*
 * The .npy parser against files that were made wrong.
 *
 * As a test it mutates good headers, FUZZ_ITERATIONS times from FUZZ_SEED on,
 * the same ones at every run.  With -DLEND_LIBFUZZER it has no main() and is a
 * target of libFuzzer:
 *
 *   clang -fsanitize=fuzzer,address,undefined -DLEND_LIBFUZZER
 *	-Iinclude -Isrc tests/fuzz/fuzz_npy.c src/tools/npy_header.c
 *	src/tools/types.c src/tools/message.c -llend-contract
 *
 * What must hold: nothing beyond the bytes is read (they end where the memory
 * does), a refusal says why in printable
 * characters, and what is accepted agrees with the file's size and comes back
 * the same from the header that npy_format() makes of it.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The longest file, and what follows it: a multiple of pages. */
#define GUARDED ((size_t)1 << 18)

#define MUST(x) \
	((x) ? (void)0 : broken(#x, bytes, size))

static _Noreturn void
broken(const char *what, const uint8_t *bytes, size_t size)
{
	fprintf(stderr, "does not hold: %s; the file:\n", what);
	for (size_t i = 0; i < size; i++)
		fprintf(stderr, isprint(bytes[i]) ? "%c" : "\\x%02x",
			bytes[i]);
	fputc('\n', stderr);
	abort();
}

static void
check_reason(const struct message *why, const uint8_t *bytes, size_t size)
{
	MUST(why->text[0]);
	MUST(strlen(why->text) < sizeof why->text);
	for (const char *c = why->text; *c; c++)
		MUST(isprint((unsigned char)*c));
}

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

/* A copy behind which there is no memory. */
static const uint8_t *
before_guard(const uint8_t *bytes, size_t size)
{
	static uint8_t *start;

	if (!start) {
		start = mmap(NULL, 2 * GUARDED, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (start == MAP_FAILED ||
		    mprotect(start + GUARDED, GUARDED, PROT_NONE))
			abort();
	}
	if (size > 0)
		memcpy(start + GUARDED - size, bytes, size);
	return start + GUARDED - size;
}

/* Whether it was accepted. */
static bool
check(const uint8_t *bytes, size_t size)
{
	struct npy_header header;
	struct message why = { "" };

	if (size > GUARDED)
		return false;
	if (npy_parse(&header, before_guard(bytes, size), size, &why)) {
		check_accepted(&header, bytes, size);
		return true;
	}
	check_reason(&why, bytes, size);
	return false;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	check(bytes, size);
	return 0;
}

#ifndef LEND_LIBFUZZER

#define ROOM ((size_t)4096)
#define ITERATIONS 300000

static uint64_t state;

static uint64_t
next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static size_t
below(size_t n)
{
	return (size_t)(next() % n);
}

/* What hurts parsers. */
static const char *const tokens[] = {
	"'descr'", "'shape'", "'fortran_order'", "\"shape\"", "True", "False",
	"'<f8'", "'>c16'", "'|f4'", "'=c8'", "'<i4'", "[('a', '<f8')]", "(",
	")", "()", "(1,)", "(2, 3)", ",", ":", "{", "}", "'", "\\", "\n", "#",
	"0", "-1", "00", "1L", "1e9", "4294967296", "9223372036854775807",
	"18446744073709551616", "99999999999999999999999999", "\xff", " ",
};
#define TOKENS (sizeof tokens / sizeof tokens[0])

/* Puts n bytes in place of `gone` ones at `at`. */
static size_t
splice(uint8_t *file, size_t size, size_t at, size_t gone, const void *bytes,
       size_t n)
{
	if (at > size || gone > size - at || size - gone + n > ROOM)
		return size;
	memmove(file + at + n, file + at + gone, size - at - gone);
	memcpy(file + at, bytes, n);
	return size - gone + n;
}

/* A good file, as one of the versions. */
static size_t
make_good(uint8_t *file)
{
	struct npy_header header = {
		.type = (enum lend_type)below(4), .fortran = below(2),
		.rank = below(5),
	};
	size_t size, bytes;

	for (size_t i = 0; i < header.rank; i++)
		header.extent[i] = below(4);
	size = npy_format(&header, file);
	if (!npy_measure(&header, &bytes, NULL) || size + bytes + 2 > ROOM)
		return size;
	memset(file + size, 0, bytes);
	size += bytes;
	file[6] = (uint8_t)(1 + below(3));
	if (file[6] > 1)
		size = splice(file, size, 10, 0, "\0\0", 2);
	return size;
}

/* The header's length as it is, so that the parser goes on to the dict. */
static void
mend_length(uint8_t *file, size_t size)
{
	uint8_t *end = size > 12 ? memchr(file + 12, '\n', size - 12) : NULL;
	size_t fixed = file[6] == 1 ? 10 : 12, length;

	if (!end)
		return;
	length = (size_t)(end + 1 - file) - fixed;
	file[8] = (uint8_t)length;
	file[9] = (uint8_t)(length >> 8);
}

static size_t
mutate(uint8_t *file, size_t size)
{
	const char *token = tokens[below(TOKENS)];
	size_t at = below(size + 1), n;
	uint8_t byte = (uint8_t)next();

	switch (below(7)) {
	case 0:
		return splice(file, size, at, 1, &byte, 1);
	case 1:
		return splice(file, size, at, 0, &byte, 1);
	case 2:
		return splice(file, size, at, 1 + below(8), "", 0);
	case 3:
		return splice(file, size, at, below(4), token, strlen(token));
	case 4:
		return at;
	case 5:
		n = below(16);
		if (at + n > size)
			return size;
		{
			uint8_t copy[16];

			memcpy(copy, file + at, n);
			return splice(file, size, below(size + 1), 0, copy, n);
		}
	default:
		/* Often enough within the dict. */
		at = 10 + below(60);
		return splice(file, size, at, below(3), token, strlen(token));
	}
}

static uint64_t
from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

int
main(void)
{
	uint64_t iterations = from_environment("FUZZ_ITERATIONS", ITERATIONS);
	uint64_t seed = from_environment("FUZZ_SEED", 1), accepted = 0;
	uint64_t untouched = 0;
	uint8_t file[ROOM];

	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (uint64_t i = 0; i < iterations; i++) {
		size_t size = make_good(file);
		size_t mutations = below(5);

		for (size_t j = 0; j < mutations; j++)
			size = mutate(file, size);
		if (mutations > 0 && size >= 12 && below(2))
			mend_length(file, size);
		untouched += mutations == 0;
		if (check(file, size))
			accepted++;
		else if (mutations == 0)
			broken("a good file is accepted", file, size);
	}
	printf("%llu files from seed %llu, %llu untouched, %llu accepted\n",
	       (unsigned long long)iterations, (unsigned long long)seed,
	       (unsigned long long)untouched, (unsigned long long)accepted);
	/* Some mutations leave a file good, most do not. */
	if (iterations >= 1000 &&
	    (accepted <= untouched || accepted >= iterations / 2))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

#endif
