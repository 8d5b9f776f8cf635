/* SPDX-License-Identifier: MIT */
/*
 * usage: stress_litmus [ROUNDS]
 *
 * The store-buffer litmus of support/litmus.h at length: with membarrier no
 * round may be violated; without it, and with a fence on one side alone,
 * some must be, or the litmus is blind and says nothing.  On one processor
 * there is no store buffer to be seen, and the mutants are not judged.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/os.h"
#include "support/litmus.h"

static const struct {
	enum litmus barrier;
	const char *name;
	bool mutant;
} variants[] = {
	{ LITMUS_MEMBARRIER, "membarrier", false },
	{ LITMUS_FENCE, "mutant: a fence on one side", true },
	{ LITMUS_NOTHING, "mutant: no barrier", true },
};

static bool
right(bool mutant, long violated)
{
	if (violated < 0)
		return false;
	if (!mutant)
		return violated == 0;
	return violated > 0 || litmus_processors() < 2;
}

int
main(int argc, char **argv)
{
	unsigned rounds = 30000;
	bool fine = true;

	if (argc > 1)
		rounds = (unsigned)strtoul(argv[1], NULL, 10);
	if (!os_membarrier_register()) {
		printf("skipped: this system has no membarrier\n");
		return EXIT_SUCCESS;
	}
	for (size_t i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		long violated = litmus_run(variants[i].barrier, rounds);
		bool good = right(variants[i].mutant, violated);

		printf("%s: %ld of %u rounds violated%s\n", variants[i].name,
		       violated, rounds, good ? "" : ": WRONG");
		fflush(stdout);
		fine &= good;
	}
	return fine ? EXIT_SUCCESS : EXIT_FAILURE;
}
