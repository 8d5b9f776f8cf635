/* SPDX-License-Identifier: MIT */
/*
 * Networks' files that were made wrong: the reader, and what the library makes
 * of what it lets through.
 *
 * For libFuzzer (fuzz.h):
 *
 *   clang -fsanitize=fuzzer,address,undefined -DLEND_LIBFUZZER
 *	-Iinclude -Isrc -Itests tests/fuzz/fuzz.c tests/fuzz/fuzz_instance.c
 *	src/tools/instance.c src/tools/message.c -llend-contract -ljansson
 *
 * What must hold: nothing beyond the bytes is read (they end where the memory
 * does), a refusal says why in printable characters, what is accepted is whole,
 * and a network is made of it or refused with a reason.
 */
#include <stdint.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "tools/instance.h"

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

/* Whether it was accepted. */
static bool
check(const uint8_t *bytes, size_t size)
{
	struct instance instance;
	struct message why = { "" };

	if (size > FUZZ_GUARDED)
		return false;
	bytes = fuzz_before_guard(bytes, size);
	if (instance_parse(&instance, (const char *)bytes, size, &why)) {
		check_accepted(&instance, bytes, size);
		instance_free(&instance);
		return true;
	}
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

static size_t
make_good(uint8_t *file)
{
	const char *text = good[fuzz_below(GOOD)];

	memcpy(file, text, strlen(text));
	return strlen(text);
}

static size_t
mutate(uint8_t *file, size_t size)
{
	const char *token = tokens[fuzz_below(TOKENS)];
	size_t at = fuzz_below(size + 1);
	uint8_t byte = (uint8_t)fuzz_next();

	switch (fuzz_below(6)) {
	case 0:
		return fuzz_splice(file, size, at, 1, &byte, 1);
	case 1:
		byte = (uint8_t)('0' + fuzz_below(10));
		return fuzz_splice(file, size, at, 1, &byte, 1);
	case 2:
		return fuzz_splice(file, size, at, 1 + fuzz_below(8), "", 0);
	case 3:
		return fuzz_splice(file, size, at, fuzz_below(4), token,
				   strlen(token));
	case 4:
		return fuzz_below(8) ? size : at;
	default:
		byte = (uint8_t)('a' + fuzz_below(6));
		return fuzz_splice(file, size, at, 1, &byte, 1);
	}
}

int
main(void)
{
	/* Many mutations leave no good file. */
	static const struct fuzz_target target = {
		.iterations = 40000, .make = make_good, .mutate = mutate,
		.check = check, .most = 90,
	};

	return fuzz_main(&target);
}

#endif
