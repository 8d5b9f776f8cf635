/* SPDX-License-Identifier: MIT */
#include "bench/warm_pools.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <lend/warm.h>

#include "bench/sanitized.h"
#include "warm/policy.h"

/* As a service would name its plans. */
static const char *const ids[POOL_IDS] = {
	"abcd,aebf->dfce", "ab,bc->ac", "abc,bda->dc", "abcde,efbad->cf",
	"abcd,ebad->ce", "abc,acd->db", "abcd,ea->ebcd", "abcdef,dega->gfbc",
};

/* A slot of every pool: nothing is done with it. */
static char a_slot;

/* lend */

static void
ignore(void *slot, void *ctx)
{
	(void)slot;
	(void)ctx;
}

static void *
lend_make(size_t cap)
{
	lend_warm_pool *pool;

	if (lend_warm_pool_create(&pool, cap))
		bench_die("no pool");
	return pool;
}

static void
lend_free(void *pool)
{
	if (lend_warm_pool_drain_all(pool, ignore, NULL) ||
	    lend_warm_pool_destroy(pool))
		bench_die("the pool is not destroyed");
}

static bool
lend_claim(void *pool, unsigned id)
{
	void *slot;

	return lend_warm_pool_claim(pool, ids[id], &slot) == 0;
}

static void
lend_fill(void *pool, unsigned id, size_t target)
{
	size_t spawn;

	if (lend_warm_pool_begin_fill(pool, ids[id], target, &spawn, ignore,
				      NULL))
		bench_die("a fill was not begun");
	for (; spawn > 0; spawn--)
		(void)!lend_warm_pool_offer(pool, ids[id], &a_slot);
}

static void
lend_drain(void *pool, unsigned id)
{
	(void)!lend_warm_pool_drain(pool, ids[id], ignore, NULL);
}

static void
lend_round(void *pool, unsigned id)
{
	lend_fill(pool, id, 1);
	lend_claim(pool, id);
}

/*
 * mutex: few ids, which it has no need to copy; slots that are counted, not
 * kept.  So it does less than the others.
 */

struct mutex_pool {
	pthread_mutex_t lock;
	struct policy policy;	/* the last one: its length varies */
};

static void *
mutex_make(size_t cap)
{
	struct mutex_pool *pool = calloc(1, sizeof(*pool) + POLICY_ROOM(cap) *
					    sizeof(struct policy_entry));

	if (!pool)
		bench_die("no memory");
	pthread_mutex_init(&pool->lock, NULL);
	pool->policy.cap = (uint32_t)cap;
	return pool;
}

static uint32_t
mutex_find(struct mutex_pool *pool, const char *id)
{
	while (policy_sheds(&pool->policy))
		(void)policy_shed(&pool->policy);
	for (uint32_t i = 0; i < pool->policy.known; i++)
		if (strcmp(pool->policy.entry[i].id, id) == 0)
			return i;
	return POLICY_UNKNOWN;
}

static bool
mutex_claim(void *self, unsigned id)
{
	struct mutex_pool *pool = self;
	uint32_t at, ready;
	void *slot;

	pthread_mutex_lock(&pool->lock);
	at = mutex_find(pool, ids[id]);
	ready = at < pool->policy.listed ? pool->policy.entry[at].ready : 0;
	slot = policy_claim(&pool->policy, at, ready > 1 ? &a_slot : NULL);
	pthread_mutex_unlock(&pool->lock);
	return slot;
}

static void
mutex_fill(void *self, unsigned id, size_t target)
{
	struct mutex_pool *pool = self;
	struct policy_entry fresh = { .id = (void *)(uintptr_t)ids[id] };
	struct policy_fill fill;
	uint32_t off = 0;
	void *below;

	pthread_mutex_lock(&pool->lock);
	policy_begin(&pool->policy, mutex_find(pool, ids[id]), &fresh,
		     (uint32_t)target, &fill);
	pthread_mutex_unlock(&pool->lock);
	for (; fill.spawn > 0; fill.spawn--) {
		pthread_mutex_lock(&pool->lock);
		policy_offer(&pool->policy, mutex_find(pool, ids[id]),
			     &a_slot, &below, &off);
		pthread_mutex_unlock(&pool->lock);
	}
}

static void
mutex_drain(void *self, unsigned id)
{
	struct mutex_pool *pool = self;

	pthread_mutex_lock(&pool->lock);
	(void)policy_drain(&pool->policy, mutex_find(pool, ids[id]));
	pthread_mutex_unlock(&pool->lock);
}

static void
mutex_round(void *pool, unsigned id)
{
	mutex_fill(pool, id, 1);
	mutex_claim(pool, id);
}

/* peer */

static struct {
	void *(*pool_new)(void);
	void (*pool_free)(void *);
	uint64_t (*claim)(const void *, const char *);
	size_t (*begin_fill)(const void *, const char *, size_t, uint64_t *,
			     size_t, size_t *);
	uint64_t (*offer)(const void *, const char *, uint64_t);
	size_t (*drain)(const void *, const char *, uint64_t *, size_t);
} peer;

static void *
peer_make(size_t cap)
{
	(void)cap;
	return peer.pool_new();
}

static void
peer_free(void *pool)
{
	peer.pool_free(pool);
}

static bool
peer_claim(void *pool, unsigned id)
{
	return peer.claim(pool, ids[id]) != 0;
}

static void
peer_fill(void *pool, unsigned id, size_t target)
{
	uint64_t evicted[64];
	size_t n = 0, spawn = peer.begin_fill(pool, ids[id], target, evicted,
					      64, &n);

	for (; spawn > 0; spawn--)
		peer.offer(pool, ids[id], 1);
}

static void
peer_drain(void *pool, unsigned id)
{
	uint64_t drained[64];

	peer.drain(pool, ids[id], drained, 64);
}

static void
peer_round(void *pool, unsigned id)
{
	peer_fill(pool, id, 1);
	peer_claim(pool, id);
}

struct pool_ops pools[POOLS] = {
	[POOL_LEND] = { "lend", true, NULL, lend_make, lend_free, lend_round,
			lend_claim, lend_fill, lend_drain },
	[POOL_MUTEX] = { "mutex", true, NULL, mutex_make, free, mutex_round,
			 mutex_claim, mutex_fill, mutex_drain },
	[POOL_PEER] = { "peer", false, "no library given (--peer)", peer_make,
			peer_free, peer_round, peer_claim, peer_fill,
			peer_drain },
};

static bool
peer_find(void *library)
{
	/* POSIX has dlsym's pointer converted so. */
	*(void **)&peer.pool_new = dlsym(library, "peer_pool_new");
	*(void **)&peer.pool_free = dlsym(library, "peer_pool_free");
	*(void **)&peer.claim = dlsym(library, "peer_pool_claim");
	*(void **)&peer.begin_fill = dlsym(library, "peer_pool_begin_fill");
	*(void **)&peer.offer = dlsym(library, "peer_pool_offer");
	*(void **)&peer.drain = dlsym(library, "peer_pool_drain");
	return peer.pool_new && peer.pool_free && peer.claim &&
	       peer.begin_fill && peer.offer && peer.drain;
}

void
pools_open(const char *name)
{
	void *library = NULL;

	if (BENCH_SANITIZED)
		pools[POOL_PEER].absent = "a sanitizer is compiled in";
	else if (name && !(library = dlopen(name, RTLD_NOW | RTLD_LOCAL)))
		pools[POOL_PEER].absent = "it cannot be opened";
	else if (library && !peer_find(library))
		pools[POOL_PEER].absent = "it has no pool";
	else
		pools[POOL_PEER].present = library != NULL;
}
