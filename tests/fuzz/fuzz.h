/* SPDX-License-Identifier: MIT */
/*
 * Readers against files that were made wrong: what a target shares with the
 * others.
 *
 * As a test a target mutates good files, FUZZ_ITERATIONS times from FUZZ_SEED
 * on, the same ones at every run.  With -DLEND_LIBFUZZER it has no main(), and
 * libFuzzer makes the files.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The longest file that is looked at; a multiple of pages. */
#define FUZZ_GUARDED ((size_t)1 << 18)

/* Where `bytes` and `size` are the file. */
#define MUST(x) \
	((x) ? (void)0 : fuzz_broken(#x, bytes, size))

_Noreturn void fuzz_broken(const char *what, const uint8_t *bytes,
			   size_t size);

/* A copy behind which there is no memory, until the next call. */
const uint8_t *fuzz_before_guard(const uint8_t *bytes, size_t size);

/* A refusal says something, in printable characters. */
void fuzz_check_reason(const char *why, const uint8_t *bytes, size_t size);

#ifndef LEND_LIBFUZZER

/* The longest file that is made here. */
#define FUZZ_ROOM ((size_t)4096)

struct fuzz_target {
	uint64_t iterations;	/* without FUZZ_ITERATIONS */
	/* Makes a good file; returns its size. */
	size_t (*make)(uint8_t file[FUZZ_ROOM]);
	/* Mutates it once; returns its size. */
	size_t (*mutate)(uint8_t file[FUZZ_ROOM], size_t size);
	/* Null, or what is mended when all is mutated. */
	void (*mend)(uint8_t *file, size_t size);
	/* Whether the file is accepted. */
	bool (*check)(const uint8_t *bytes, size_t size);
	/* Fewer in a hundred are accepted, or mutations do too little. */
	unsigned most;
};

/* An exit status. */
int fuzz_main(const struct fuzz_target *target);

/* Random numbers, from FUZZ_SEED on; 0 .. n - 1. */
uint64_t fuzz_next(void);
size_t fuzz_below(size_t n);

/* Puts n bytes in place of `gone` ones at `at`; returns the new size. */
size_t fuzz_splice(uint8_t *file, size_t size, size_t at, size_t gone,
		   const void *bytes, size_t n);

#endif

#endif
