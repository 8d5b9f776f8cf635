/* SPDX-License-Identifier: MIT */
/* Type-stable objects: src/sync/registry.c. */
#include "sync/registry.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "support/crew.h"
#include "support/fault.h"
#include "support/loans.h"
#include "support/scale.h"
#include "support/suite.h"

#define SMALLEST 16
#define LARGEST 256
/* 16, 32, 64, 128, 256. */
#define SIZES 5

static struct node *
added(struct registry *registry)
{
	struct node *node = NULL;

	ck_assert_int_eq(registry_add(registry, &node), 0);
	ck_assert_ptr_nonnull(node);
	return node;
}

/* Frees the objects, after which no page may be left. */
static void
fini(struct registry *registry)
{
	registry_fini(registry);
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}

static bool
is_zero_but_for_index(const struct node *node, size_t bytes)
{
	const unsigned char *byte = (const unsigned char *)node;
	size_t first = offsetof(struct node, index);

	for (size_t i = 0; i < bytes; i++)
		if (byte[i] && (i < first || i >= first + sizeof(uint32_t)))
			return false;
	return true;
}

/* The bytes of an object after its node, all of them `value`. */
static void
mark(struct node *node, size_t bytes, unsigned char value)
{
	memset(node + 1, value, bytes - sizeof(*node));
}

static bool
is_marked(const struct node *node, size_t bytes, unsigned char value)
{
	const unsigned char *byte = (const unsigned char *)(node + 1);

	for (size_t i = 0; i < bytes - sizeof(*node); i++)
		if (byte[i] != value)
			return false;
	return true;
}

START_TEST(an_empty_registry_has_no_storage)
{
	struct registry registry;

	registry_init(&registry, SMALLEST, 0);
	ck_assert_uint_eq(registry_count(&registry), 0);
	ck_assert_uint_eq(fault_counts().pages_allocs, 0);
	fini(&registry);
	ck_assert_uint_eq(registry_count(&registry), 0);
}
END_TEST

/*
 * Objects get the indices 0, 1, 2 ... over many chunks; each begins as
 * zeroes, is aligned to its size and found by its index for ever: nothing
 * moves, nothing overlaps.
 */
START_TEST(objects_are_found_by_index_across_chunks)
{
	enum { OBJECTS = 2000 };
	static struct node *at[OBJECTS];
	size_t bytes = (size_t)SMALLEST << _i % SIZES;
	/* Where in a page the first object is. */
	size_t lead = _i < SIZES ? 0 : 3 * bytes;
	struct registry registry;

	registry_init(&registry, bytes, lead);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		at[i] = added(&registry);
		ck_assert_uint_eq(registry_count(&registry), i + 1);
		ck_assert_uint_eq(at[i]->index, i);
		ck_assert_uint_eq((uintptr_t)at[i] % bytes, 0);
		if (i == 0)
			ck_assert_uint_eq((uintptr_t)at[i] % 4096, lead);
		ck_assert(is_zero_but_for_index(at[i], bytes));
		mark(at[i], bytes, (unsigned char)(i % 251 + 1));
	}
	/* More than one chunk, and not one for each object. */
	ck_assert_uint_gt(fault_counts().pages_allocs, 1);
	ck_assert_uint_lt(fault_counts().pages_allocs, 10);
	for (uint32_t i = 0; i < OBJECTS; i++) {
		ck_assert_ptr_eq(registry_at(&registry, i), at[i]);
		ck_assert_uint_eq(at[i]->index, i);
		ck_assert(is_marked(at[i], bytes,
				    (unsigned char)(i % 251 + 1)));
	}
	fini(&registry);
}
END_TEST

/* Without memory for a chunk: the error, and nothing has changed. */
START_TEST(no_memory_is_an_error_that_changes_nothing)
{
	struct registry registry;
	size_t failed = 0;

	registry_init(&registry, LARGEST, 0);
	for (uint32_t i = 0; i < 200; i++) {
		size_t pages = fault_counts().pages_bytes;
		struct node *node = NULL;
		int error;

		fault_fail_all(FAULT_PAGES);
		error = registry_add(&registry, &node);
		fault_fail_all(0);
		if (error) {
			ck_assert_int_eq(error, -ENOMEM);
			ck_assert_ptr_null(node);
			ck_assert_uint_eq(registry_count(&registry), i);
			ck_assert_uint_eq(fault_counts().pages_bytes, pages);
			failed++;
			/* The same one, now that there is memory. */
			node = added(&registry);
		}
		ck_assert_uint_eq(node->index, i);
	}
	/* Once for each chunk. */
	ck_assert_uint_gt(failed, 1);
	ck_assert_uint_eq(failed, fault_counts().pages_allocs);
	fini(&registry);
}
END_TEST

/* At the maximum: an error, again and again, and what is there stays. */
START_TEST(a_full_registry_says_so)
{
	struct registry registry;
	struct node *node = NULL;

	registry_init(&registry, SMALLEST, 0);
	for (uint32_t i = 0; i < REGISTRY_MAX; i++)
		if (registry_add(&registry, &node) || node->index != i)
			ck_abort_msg("object %u", (unsigned)i);
	node = NULL;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(registry_add(&registry, &node), -EAGAIN);
		ck_assert_ptr_null(node);
		ck_assert_uint_eq(registry_count(&registry), REGISTRY_MAX);
	}
	for (uint32_t i = 0; i < REGISTRY_MAX; i++) {
		node = registry_at(&registry, i);
		if (node->index != i)
			ck_abort_msg("object %u", (unsigned)i);
	}
	fini(&registry);
}
END_TEST

/* There is a chunk for the last index of the largest objects, too. */
START_TEST(the_largest_objects_reach_the_last_index)
{
	struct registry registry;
	struct node *node;

	registry_init(&registry, LARGEST, 0);
	/* All but two are left out: they would take 256 MiB. */
	atomic_store(&registry.count, REGISTRY_MAX - 2);
	for (uint32_t i = REGISTRY_MAX - 2; i < REGISTRY_MAX; i++) {
		node = added(&registry);
		ck_assert_uint_eq(node->index, i);
		ck_assert_ptr_eq(registry_at(&registry, i), node);
		mark(node, LARGEST, 1);
	}
	ck_assert_int_eq(registry_add(&registry, &node), -EAGAIN);
	fini(&registry);
}
END_TEST

#define ADDERS 4
/* So many each that none is done before all have begun. */
#define MOST 200000

struct adding {
	struct registry registry;
	unsigned each;
	atomic_uint adders;	/* that are not done */
	int errors[ADDERS + 1];
	unsigned twice[ADDERS];	/* places that had an owner already */
	/* Who has got an index: 0, or one more than the thread. */
	unsigned char owner[ADDERS * MOST];
};

static struct adding adding;

static void
add_many(size_t self)
{
	for (unsigned i = 0; i < adding.each; i++) {
		struct node *node;

		if (registry_add(&adding.registry, &node)) {
			adding.errors[self]++;
			continue;
		}
		/* Ours alone, so is its place in `owner`. */
		adding.twice[self] += adding.owner[node->index] != 0;
		adding.owner[node->index] = (unsigned char)(self + 1);
		mark(node, SMALLEST, (unsigned char)(self + 1));
	}
	atomic_fetch_sub(&adding.adders, 1);
}

/* Whatever the count says is there: its chunk can be read. */
static void
walk(void)
{
	while (atomic_load(&adding.adders) > 0) {
		uint32_t all = registry_count(&adding.registry);

		for (uint32_t i = all > 64 ? all - 64 : 0; i < all; i++) {
			struct node *node = registry_at(&adding.registry, i);

			/* Nobody has pushed it anywhere. */
			adding.errors[ADDERS] += load_relaxed(&node->next) != 0;
		}
	}
}

static void
add_or_walk(size_t index, void *ctx)
{
	(void)ctx;
	if (index < ADDERS)
		add_many(index);
	else
		walk();
}

static void
adding_begin(unsigned each)
{
	memset(&adding, 0, sizeof(adding));
	registry_init(&adding.registry, SMALLEST, 0);
	adding.each = each;
	atomic_init(&adding.adders, ADDERS);
}

/* Each has got as many objects as it asked for, and nobody else has them. */
static void
adding_end(void)
{
	uint32_t all = ADDERS * adding.each;
	unsigned count[ADDERS + 1] = { 0 };

	ck_assert_uint_eq(registry_count(&adding.registry), all);
	for (uint32_t i = 0; i < all; i++) {
		struct node *node = registry_at(&adding.registry, i);

		if (node->index != i ||
		    !is_marked(node, SMALLEST, adding.owner[i]))
			ck_abort_msg("object %u", (unsigned)i);
		count[adding.owner[i]]++;
	}
	ck_assert_int_eq(adding.errors[ADDERS], 0);
	for (int i = 0; i < ADDERS; i++) {
		ck_assert_int_eq(adding.errors[i], 0);
		ck_assert_uint_eq(adding.twice[i], 0);
		ck_assert_uint_eq(count[i + 1], adding.each);
	}
	fini(&adding.registry);
}

/* Threads that add at once get an object each, while another one walks. */
START_TEST(threads_add_and_walk_at_once)
{
	adding_begin(scale(MOST));
	crew_run(ADDERS + 1, add_or_walk, NULL);
	adding_end();
}
END_TEST

/* Of several that make the same chunk one's is kept, the others' are freed. */
START_TEST(threads_make_the_first_chunk_at_once)
{
	for (unsigned i = 0; i < scale(1000); i++) {
		adding_begin(2);
		crew_run(ADDERS, add_or_walk, NULL);
		adding_end();
	}
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("registry");
	TCase *one = watched_case(suite, "one thread");
	TCase *many = watched_case(suite, "threads");

	tcase_add_test(one, an_empty_registry_has_no_storage);
	tcase_add_loop_test(one, objects_are_found_by_index_across_chunks, 0,
			    2 * SIZES);
	tcase_add_test(one, no_memory_is_an_error_that_changes_nothing);
	tcase_add_test(one, a_full_registry_says_so);
	tcase_add_test(one, the_largest_objects_reach_the_last_index);
	tcase_add_test(many, threads_add_and_walk_at_once);
	tcase_add_test(many, threads_make_the_first_chunk_at_once);
	return suite_run(suite);
}
