/* SPDX-License-Identifier: MIT */
/*
 * The warmer: things that take a while to make are there when they are asked
 * for, as its threads have made them before.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <lend/lend.h>

static void
doze(void)
{
	static const struct timespec moment = { 0, 1000000 };

	nanosleep(&moment, NULL);
}

static int
prepare(const char *id, void **slot, void *ctx)
{
	char *thing = malloc(64);

	(void)ctx;
	if (!thing)
		return -ENOMEM;
	doze();
	snprintf(thing, 64, "a thing for %.40s", id);
	*slot = thing;
	return 0;
}

static void
destroy(void *slot, void *ctx)
{
	(void)ctx;
	free(slot);
}

/* A request: claims what is ready, else makes one. */
static int
serve(lend_warmer *warmer, const char *id)
{
	void *slot;
	int error = lend_warmer_claim(warmer, id, &slot);

	printf("%s: %s\n", id, error ? "cold" : "warm");
	if (error == -ENOENT)
		error = prepare(id, &slot, NULL);
	if (error)
		return error;
	/* ... it is used ... */
	destroy(slot, NULL);
	return lend_warmer_refill(warmer, id);
}

static int
run(lend_warmer *warmer)
{
	struct lend_warmer_stats stats;

	if (serve(warmer, "plan"))
		return 1;
	do {
		doze();
		if (lend_warmer_stats(warmer, &stats))
			return 1;
	} while (stats.pool.ready == 0);
	if (serve(warmer, "plan") || lend_warmer_drain(warmer, NULL) ||
	    lend_warmer_stats(warmer, &stats))
		return 1;
	return stats.pool.claims != 1;
}

int
main(void)
{
	struct lend_warmer_options options = LEND_WARMER_OPTIONS_INIT;
	lend_warmer *warmer;
	int failed;

	options.prepare = prepare;
	options.destroy = destroy;
	if (lend_warmer_create(&warmer, &options))
		return 1;
	failed = run(warmer);
	return failed | (lend_warmer_destroy(warmer, 10000) != 0);
}
