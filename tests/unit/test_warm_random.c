/* SPDX-License-Identifier: MIT */
/*
 * The pool by one thread, return by return against what it should do, and
 * against another pool of the same behaviour where the environment's
 * LEND_BENCH_PEER names a library that has one (bench/peer.h).
 *
 * It is built twice: in test_warm_collide all ids have one of four hashes.
 */
#include <lend/warm.h>

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/loans.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"
#include "support/warm_model.h"

struct setting {
	unsigned cap, ids, operations;
};

static const struct setting settings[] = {
	{ 2, 5, 1000000 }, { 1, 3, 200000 }, { 2, WARM_IDS, 200000 },
	{ 8, 8, 200000 }, { 64, WARM_IDS, 200000 },
};

/* What still lies in the pool. */
static void
empty(lend_warm_pool *pool, struct warm_model *model)
{
	struct warm_op op = { .kind = WARM_DRAIN_ALL };

	ck_assert(warm_both(pool, model, &op));
	ck_assert_int_eq(lend_warm_pool_destroy(pool), 0);
}

START_TEST(random_operations_do_as_they_should)
{
	const struct setting *setting = &settings[_i];
	static struct warm_model model;
	uint64_t random = 100 + (uint64_t)_i;
	lend_warm_pool *pool;
	unsigned slots = 0;

	ck_assert_int_eq(lend_warm_pool_create(&pool, setting->cap), 0);
	warm_model_init(&model, setting->cap, setting->ids);
	for (unsigned i = 0; i < scale(setting->operations); i++) {
		struct warm_op op;

		warm_op_random(&op, &model, &random, &slots);
		if (!warm_both(pool, &model, &op))
			ck_abort_msg("%u: %s", i, warm_op_text(&op));
		if (i % 64 == 0)
			ck_assert(warm_stats_same(pool, &model));
	}
	empty(pool, &model);
}
END_TEST

/* The peer: its slots are numbers that are not 0. */
static struct {
	void *(*make)(void);
	void (*free)(void *);
	uint64_t (*claim)(const void *, const char *);
	size_t (*begin_fill)(const void *, const char *, size_t, uint64_t *,
			     size_t, size_t *);
	uint64_t (*offer)(const void *, const char *, uint64_t);
	void (*abandon_fill)(const void *, const char *);
	size_t (*drain)(const void *, const char *, uint64_t *, size_t);
} peer;

static bool
peer_open(const char *library)
{
	void *handle = dlopen(library, RTLD_NOW);

	if (!handle)
		return false;
	/* POSIX has dlsym's pointer converted so. */
	*(void **)&peer.make = dlsym(handle, "peer_pool_new");
	*(void **)&peer.free = dlsym(handle, "peer_pool_free");
	*(void **)&peer.claim = dlsym(handle, "peer_pool_claim");
	*(void **)&peer.begin_fill = dlsym(handle, "peer_pool_begin_fill");
	*(void **)&peer.offer = dlsym(handle, "peer_pool_offer");
	*(void **)&peer.abandon_fill = dlsym(handle, "peer_pool_abandon_fill");
	*(void **)&peer.drain = dlsym(handle, "peer_pool_drain");
	return peer.make && peer.free && peer.claim && peer.begin_fill &&
	       peer.offer && peer.abandon_fill && peer.drain;
}

static void
peer_do(void *pool, struct warm_op *op)
{
	uint64_t slots[WARM_BACK];
	size_t back = 0;
	char id[16];

	snprintf(id, sizeof(id), "id%u", op->id);
	op->result = 0;
	op->slot = 0;
	op->spawn = 0;
	if (op->kind == WARM_CLAIM) {
		op->slot = (unsigned)peer.claim(pool, id);
		op->result = op->slot ? 0 : -ENOENT;
	} else if (op->kind == WARM_BEGIN) {
		op->spawn = peer.begin_fill(pool, id, op->arg, slots,
					    WARM_BACK, &back);
	} else if (op->kind == WARM_OFFER) {
		op->result = peer.offer(pool, id, op->arg) ? -ECANCELED : 0;
	} else if (op->kind == WARM_ABANDON) {
		peer.abandon_fill(pool, id);
	} else {
		back = peer.drain(pool, op->kind == WARM_DRAIN ? id : NULL,
				  slots, WARM_BACK);
	}
	op->back = (unsigned)back;
	for (size_t i = 0; i < back && i < WARM_BACK; i++)
		op->slots[i] = (unsigned)slots[i];
}

static int
compare(const void *a, const void *b)
{
	const unsigned *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* Of all ids: the peer's order is any. */
static void
sort_back(struct warm_op *op)
{
	if (op->kind == WARM_DRAIN_ALL)
		qsort(op->slots, op->back, sizeof(op->slots[0]), compare);
}

START_TEST(random_operations_do_as_the_peers_do)
{
	const char *library = getenv("LEND_BENCH_PEER");
	static struct warm_model model;
	uint64_t random = 7;
	lend_warm_pool *pool;
	unsigned slots = 0;
	void *other;

	if (!library || !peer_open(library))
		return;
	other = peer.make();
	ck_assert_ptr_nonnull(other);
	ck_assert_int_eq(lend_warm_pool_create(&pool, 2), 0);
	warm_model_init(&model, 2, 5);
	for (unsigned i = 0; i < scale(1000000); i++) {
		struct warm_op op, theirs;

		warm_op_random(&op, &model, &random, &slots);
		theirs = op;
		peer_do(other, &theirs);
		if (!warm_both(pool, &model, &op))
			ck_abort_msg("%u: %s", i, warm_op_text(&op));
		sort_back(&op);
		sort_back(&theirs);
		if (!warm_op_same(&op, &theirs))
			ck_abort_msg("%u: theirs %s", i, warm_op_text(&theirs));
	}
	peer.free(other);
	empty(pool, &model);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("warm_random");
	TCase *tcase = watched_case(suite, "one thread");

	tcase_add_loop_test(tcase, random_operations_do_as_they_should, 0,
			    sizeof(settings) / sizeof(settings[0]));
	tcase_add_test(tcase, random_operations_do_as_the_peers_do);
	return suite_run(suite);
}
