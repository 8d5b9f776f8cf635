/* SPDX-License-Identifier: MIT */
/*
 * The warm pool by hand, one operation after the other: begin_fill, offer,
 * abandon_fill, claim, drain.  The things that it keeps are strings here.
 */
#include <errno.h>
#include <stdio.h>

#include <lend/lend.h>

static void
tear_down(void *slot, void *ctx)
{
	(void)ctx;
	printf("  torn down: %s\n", (const char *)slot);
}

/* Plans two slots of the plan; makes one of them, and fails at the other. */
static int
fill(lend_warm_pool *pool, const char *plan, char *thing)
{
	size_t spawn;
	int error = lend_warm_pool_begin_fill(pool, plan, 2, &spawn,
					      tear_down, NULL);

	if (error)
		return error;
	printf("%s: %zu to be made\n", plan, spawn);
	if (spawn > 0) {
		error = lend_warm_pool_offer(pool, plan, thing);
		/* Evicted meanwhile: it is ours to tear down. */
		if (error == -ECANCELED)
			tear_down(thing, NULL);
		else if (error)
			return error;
	}
	if (spawn > 1)
		return lend_warm_pool_abandon_fill(pool, plan);
	return 0;
}

static int
claim(lend_warm_pool *pool, const char *plan)
{
	void *slot;
	int error = lend_warm_pool_claim(pool, plan, &slot);

	if (error && error != -ENOENT)
		return error;
	printf("claim of %s: %s\n", plan,
	       error ? "none" : (const char *)slot);
	return 0;
}

static int
run(lend_warm_pool *pool)
{
	static char thing[3][16] = { "for a", "for b", "for c" };
	struct lend_warm_stats stats;

	if (claim(pool, "a") || fill(pool, "a", thing[0]) ||
	    fill(pool, "b", thing[1]) || claim(pool, "a"))
		return 1;
	/* Two plans are pooled at once: c evicts none, a has left. */
	if (fill(pool, "c", thing[2]) || fill(pool, "a", thing[0]) ||
	    claim(pool, "b"))
		return 1;
	if (lend_warm_pool_drain(pool, "c", tear_down, NULL) ||
	    lend_warm_pool_drain_all(pool, tear_down, NULL) ||
	    lend_warm_pool_stats(pool, &stats))
		return 1;
	printf("%llu claims, %llu misses, %llu evictions\n",
	       (unsigned long long)stats.claims,
	       (unsigned long long)stats.misses,
	       (unsigned long long)stats.evictions);
	return stats.ready != 0;
}

int
main(void)
{
	lend_warm_pool *pool;
	int failed;

	if (lend_warm_pool_create(&pool, 2))
		return 1;
	failed = run(pool);
	return failed | (lend_warm_pool_destroy(pool) != 0);
}
