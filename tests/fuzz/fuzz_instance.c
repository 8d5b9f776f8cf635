/* SPDX-License-Identifier: MIT */
/*
 * Networks' files that were made wrong: the reader, and what the library makes
 * of what it lets through.
 *
 * As a test it mutates good texts, FUZZ_ITERATIONS times from FUZZ_SEED on,
 * the same ones at every run.  With -DLEND_LIBFUZZER it has no main() and is a
 * target of libFuzzer:
 *
 *   clang -fsanitize=fuzzer,address,undefined -DLEND_LIBFUZZER
 *	-Iinclude -Isrc tests/fuzz/fuzz_instance.c src/tools/instance.c
 *	src/tools/message.c -llend-contract -ljansson
 *
 * What must hold: nothing beyond the bytes is read (they end where the memory
 * does), a refusal says why in printable characters, what is accepted is whole,
 * and a network is made of it or refused with a reason.
 */
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tools/instance.h"

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
check_network(const struct instance *in, const struct instance_path *path,
	      const uint8_t *bytes, size_t size)
{
	lend_network *network = NULL;
	struct lend_error why = { "" };
	struct lend_network_info info = { .size = sizeof info };
	int error = lend_network_create(&network, in->einsum, in->type,
					in->count, in->layout,
					path ? path->pair : NULL,
					path ? path->steps : 0, NULL, &why);

	MUST(error <= 0);
	MUST(!error == !!network);
	MUST(!error == !why.text[0]);
	if (error)
		return;
	MUST(lend_network_describe(network, &info) == 0);
	MUST(info.operands == in->count);
	MUST(info.plans <= info.steps);
	for (size_t s = 0; s < info.steps; s++) {
		char text[1024];

		MUST(lend_network_einsum(network, s, text, sizeof text) > 0);
		MUST(strstr(text, "->"));
	}
	lend_network_destroy(network);
}

static void
check_accepted(const struct instance *in, const uint8_t *bytes, size_t size)
{
	size_t total = 0;

	MUST(in->einsum && in->count > 0 && in->layout);
	MUST(lend_type_bytes(in->type) > 0);
	for (size_t i = 0; i < in->count; i++) {
		MUST(in->layout[i].extent == in->extents + total);
		MUST(!in->layout[i].stride);
		total += in->layout[i].rank;
	}
	for (size_t i = 0; i < in->paths; i++) {
		MUST(in->path[i].name && in->path[i].pair);
		MUST(instance_path(in, in->path[i].name) == &in->path[i]);
		check_network(in, &in->path[i], bytes, size);
	}
	check_network(in, NULL, bytes, size);
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
	struct instance instance;
	struct message why = { "" };

	if (size > GUARDED)
		return false;
	if (instance_parse(&instance, (const char *)before_guard(bytes, size),
			   size, &why)) {
		check_accepted(&instance, bytes, size);
		instance_free(&instance);
		return true;
	}
	MUST(why.text[0]);
	for (const char *c = why.text; *c; c++)
		MUST(isprint((unsigned char)*c));
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
#define ITERATIONS 40000

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

static const char *const good[] = {
	/* In brackets: so clang believes that commas are not missing. */
	("{\"format_string\": \"ab,bc,cd->ad\", \"shapes\": [[2, 3], [3, 4], "
	"[4, 2]], \"dtype\": \"float64\", \"paths\": {\"opt_flops\": "
	"{\"path\": [[0, 1], [0, 1]]}, \"opt_size\": {\"path\": [[2, 1], "
	"[0, 1]]}}, \"name\": \"x\"}"),
	("{\"format_string\": \"ab,ac,ad,\u00e9a->\", \"shapes\": [[2, 3], "
	"[2, 4], [2, 5], [1, 2]], \"paths\": {}}"),
	"{\"format_string\": \"aab->b\", \"shapes\": [[3, 3, 0]]}",
};
#define GOOD (sizeof good / sizeof good[0])

/* What hurts readers. */
static const char *const tokens[] = {
	"\"format_string\"", "\"shapes\"", "\"paths\"", "\"path\"",
	"\"dtype\"", "[", "]", "[[", "]]", "{", "}", "{}", "[]", ",", ":",
	"null", "true", "-1", "0", "1.5", "1e99", "1e999", "4294967296",
	"9223372036854775807", "99999999999999999999", "\"", "\\", "\\u0000",
	"\\ud800", "\xff", "\xc3", "a", "->", "...", "abc", "[0, 1]",
	"[1, 1]", "[[[[[[[[[[[[[[[[", "{\"a\":{\"a\":{\"a\":",
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

static size_t
mutate(uint8_t *file, size_t size)
{
	const char *token = tokens[below(TOKENS)];
	size_t at = below(size + 1);
	uint8_t byte = (uint8_t)next();

	switch (below(6)) {
	case 0:
		return splice(file, size, at, 1, &byte, 1);
	case 1:
		byte = (uint8_t)('0' + below(10));
		return splice(file, size, at, 1, &byte, 1);
	case 2:
		return splice(file, size, at, 1 + below(8), "", 0);
	case 3:
		return splice(file, size, at, below(4), token, strlen(token));
	case 4:
		return below(8) ? size : at;
	default:
		byte = (uint8_t)('a' + below(6));
		return splice(file, size, at, 1, &byte, 1);
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
		const char *text = good[below(GOOD)];
		size_t size = strlen(text), mutations = below(5);

		memcpy(file, text, size);
		for (size_t j = 0; j < mutations; j++)
			size = mutate(file, size);
		untouched += mutations == 0;
		if (check(file, size))
			accepted++;
		else if (mutations == 0)
			broken("a good file is accepted", file, size);
	}
	printf("%llu files from seed %llu, %llu untouched, %llu accepted\n",
	       (unsigned long long)iterations, (unsigned long long)seed,
	       (unsigned long long)untouched, (unsigned long long)accepted);
	/* Some mutations leave a file good, many do not. */
	if (iterations >= 1000 &&
	    (accepted <= untouched || accepted >= iterations * 9 / 10))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

#endif
