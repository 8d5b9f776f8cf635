/* SPDX-License-Identifier: MIT */
#include "fuzz/fuzz.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void
fuzz_broken(const char *what, const uint8_t *bytes, size_t size)
{
	fprintf(stderr, "does not hold: %s; the file:\n", what);
	for (size_t i = 0; i < size; i++)
		fprintf(stderr, isprint(bytes[i]) ? "%c" : "\\x%02x",
			bytes[i]);
	fputc('\n', stderr);
	abort();
}

const uint8_t *
fuzz_before_guard(const uint8_t *bytes, size_t size)
{
	static uint8_t *start;

	if (!start) {
		start = mmap(NULL, 2 * FUZZ_GUARDED, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (start == MAP_FAILED ||
		    mprotect(start + FUZZ_GUARDED, FUZZ_GUARDED, PROT_NONE))
			abort();
	}
	if (size > 0)
		memcpy(start + FUZZ_GUARDED - size, bytes, size);
	return start + FUZZ_GUARDED - size;
}

void
fuzz_check_reason(const char *why, const uint8_t *bytes, size_t size)
{
	MUST(why[0]);
	for (; *why; why++)
		MUST(isprint((unsigned char)*why));
}

#ifndef LEND_LIBFUZZER

/* Not 0. */
static uint64_t state;

uint64_t
fuzz_next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

size_t
fuzz_below(size_t n)
{
	return (size_t)(fuzz_next() % n);
}

size_t
fuzz_splice(uint8_t *file, size_t size, size_t at, size_t gone,
	    const void *bytes, size_t n)
{
	if (at > size || gone > size - at || size - gone + n > FUZZ_ROOM)
		return size;
	memmove(file + at + n, file + at + gone, size - at - gone);
	memcpy(file + at, bytes, n);
	return size - gone + n;
}

static uint64_t
from_environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

/* One file; counts those that nothing was done to, and what is accepted. */
static void
try_one(const struct fuzz_target *target, uint64_t *untouched,
	uint64_t *accepted)
{
	uint8_t file[FUZZ_ROOM];
	size_t size = target->make(file), mutations = fuzz_below(5);

	for (size_t i = 0; i < mutations; i++)
		size = target->mutate(file, size);
	if (mutations > 0 && target->mend)
		target->mend(file, size);
	*untouched += mutations == 0;
	if (target->check(file, size))
		++*accepted;
	else if (mutations == 0)
		fuzz_broken("a good file is accepted", file, size);
}

int
fuzz_main(const struct fuzz_target *target)
{
	uint64_t iterations = from_environment("FUZZ_ITERATIONS",
					       target->iterations);
	uint64_t seed = from_environment("FUZZ_SEED", 1);
	uint64_t untouched = 0, accepted = 0;

	state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	for (uint64_t i = 0; i < iterations; i++)
		try_one(target, &untouched, &accepted);
	printf("%llu files from seed %llu, %llu untouched, %llu accepted\n",
	       (unsigned long long)iterations, (unsigned long long)seed,
	       (unsigned long long)untouched, (unsigned long long)accepted);
	/* Some mutations leave a file good. */
	if (iterations >= 1000 &&
	    (accepted <= untouched ||
	     accepted >= iterations * target->most / 100))
		return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

#endif
