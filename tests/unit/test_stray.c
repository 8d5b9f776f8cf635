/* SPDX-License-Identifier: MIT */
/*
 * The persistent trie of strays: src/warm/stray.c.  Old roots keep what they
 * had, until their nodes are given back.
 */
#include "warm/stray.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define IDS 64
#define NODES 4096

static struct stray node[NODES];
static struct stray *spare[NODES];
static unsigned spares;
static struct name name[IDS];
static struct name_key key[IDS];
static char text[IDS][16];
static uint32_t expected[IDS];

static struct stray *
take(void *ctx)
{
	(void)ctx;
	return spares ? spare[--spares] : NULL;
}

/* `hashes`: how many different hashes the ids have; 0: their own. */
static void
make(unsigned hashes)
{
	memset(node, 0, sizeof(node));
	memset(name, 0, sizeof(name));
	memset(expected, 0, sizeof(expected));
	spares = 0;
	for (unsigned i = 0; i < NODES; i++)
		spare[spares++] = &node[i];
	for (unsigned i = 0; i < IDS; i++) {
		snprintf(text[i], sizeof(text[i]), "id %u", i);
		name_key(&key[i], text[i]);
		if (hashes)
			key[i].hash = i % hashes;
		name[i].text = name[i].inline_text;
		(void)name_write(&name[i], &key[i]);
	}
}

static struct stray_leaf
leaf_of(unsigned id, uint32_t in_flight)
{
	return (struct stray_leaf) {
		.name = &name[id], .hash = key[id].hash, .mark = id,
		.claims = 7 * id, .in_flight = in_flight,
	};
}

static void
must_hold(struct stray *root)
{
	for (unsigned i = 0; i < IDS; i++) {
		struct stray *at = stray_find(root, &key[i]);
		struct stray_leaf leaf;

		ck_assert_int_eq(at != NULL, expected[i] > 0);
		if (!at)
			continue;
		leaf = stray_read(at);
		ck_assert_ptr_eq(leaf.name, &name[i]);
		ck_assert_uint_eq(leaf.in_flight, expected[i]);
		ck_assert_uint_eq(leaf.mark, i);
		ck_assert_uint_eq(leaf.claims, 7 * i);
	}
}

static void
give(struct stray *const *nodes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		spare[spares++] = nodes[i];
}

static struct stray *
put(struct stray *root, unsigned id, uint32_t in_flight)
{
	struct stray_leaf leaf = leaf_of(id, in_flight);
	static struct stray_change change;
	struct stray *old = root;

	ck_assert_int_eq(stray_put(&root, &leaf, &change, take, NULL), 0);
	/* The old one is as it was: readers may still walk it. */
	must_hold(old);
	expected[id] = in_flight;
	must_hold(root);
	give(change.old, change.dropped);
	return root;
}

/* With own hashes, with few, and with one alone. */
START_TEST(random_changes_do_as_they_should)
{
	static const unsigned hashes[] = { 0, 5, 1 };
	uint64_t random = (uint64_t)_i;
	struct stray *root = NULL;

	make(hashes[_i]);
	for (unsigned i = 0; i < scale(5000); i++)
		root = put(root, random_below(&random, IDS),
			   random_below(&random, 3));
	for (unsigned i = 0; i < IDS; i++)
		root = put(root, i, 0);
	ck_assert_ptr_null(root);
	/* Every node has come back. */
	ck_assert_uint_eq(spares, NODES);
}
END_TEST

/* A change that fails: its nodes go back, and the old root holds. */
START_TEST(no_memory_is_an_error)
{
	static struct stray_change change;
	struct stray *root = NULL, *new_root;
	struct stray_leaf leaf = leaf_of(1, 9);
	unsigned there, failures = 0;

	make(0);
	for (unsigned i = 0; i < IDS; i++)
		root = put(root, i, 1);
	there = spares;
	for (spares = 0;; spares++) {
		unsigned left = spares;
		int error;

		leaf = leaf_of(1, 9);
		new_root = root;
		error = stray_put(&new_root, &leaf, &change, take, NULL);
		give(change.fresh, change.made);
		ck_assert_uint_eq(spares, left);
		must_hold(root);
		if (!error)
			break;
		ck_assert_int_eq(error, -ENOMEM);
		failures++;
	}
	ck_assert_uint_gt(failures, 1);
	ck_assert_uint_lt(failures, there);
}
END_TEST

/* Nodes of a stale root, in a circle: a walk ends all the same. */
START_TEST(a_walk_in_a_circle_ends)
{
	static struct stray_change change;
	struct stray_leaf leaf = leaf_of(1, 1);
	struct stray *root = &node[0];

	make(0);
	atomic_store(&node[0].zero, &node[1]);
	atomic_store(&node[0].one, &node[1]);
	atomic_store(&node[1].zero, &node[0]);
	atomic_store(&node[1].one, &node[0]);
	ck_assert_ptr_null(stray_find(root, &key[1]));
	leaf = leaf_of(1, 1);
	ck_assert_int_eq(stray_put(&root, &leaf, &change, take, NULL),
			 -EAGAIN);
	/* And a chain of leaves. */
	atomic_store(&node[0].name, &name[2]);
	atomic_store(&node[0].hash, key[1].hash);
	atomic_store(&node[0].one, &node[0]);
	atomic_store(&node[0].bit, STRAY_LEAF);
	root = &node[0];
	ck_assert_ptr_null(stray_find(root, &key[1]));
	ck_assert_int_eq(stray_put(&root, &leaf, &change, take, NULL),
			 -EAGAIN);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("stray");
	TCase *tcase = suite_case(suite, "stray");

	tcase_add_loop_test(tcase, random_changes_do_as_they_should, 0, 3);
	tcase_add_test(tcase, no_memory_is_an_error);
	tcase_add_test(tcase, a_walk_in_a_circle_ends);
	return suite_run(suite);
}
