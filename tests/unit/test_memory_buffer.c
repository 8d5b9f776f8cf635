/* SPDX-License-Identifier: MIT */
/*
 * Plain buffers without memory.  What is demanded after each failure is in
 * support/trial.h.
 */
#include <check.h>
#include <errno.h>

#include "arena/buffer_map.h"
#include "lend/lend.h"
#include "mem/backend.h"
#include "support/buffers.h"
#include "support/fault.h"
#include "support/trial.h"

#define BYTES ((size_t)100000)

/* The trial's handle of a worker loan stands for nothing but an address. */
#define THE_BUFFER(trial) ((trial)->loan.a)

static int
borrow(struct trial *trial)
{
	void *buffer = NULL;
	int error = lend_buffer_borrow(trial->arena, BYTES, &buffer);

	expect(trial, (error == 0) == (buffer != NULL));
	if (error == 0)
		THE_BUFFER(trial) = buffer;
	return error;
}

static void
give_it_back(struct trial *trial)
{
	char *buffer = THE_BUFFER(trial);

	expect(trial, capacity_of(buffer) >= BYTES);
	buffer[0] = buffer[BYTES - 1] = 1;
	expect(trial, lend_buffer_return(buffer) == 0);
}

static void
is_untouched(struct trial *trial)
{
	expect(trial, untouched(&trial->loan, sizeof(trial->loan)));
}

/* As in a process that has not borrowed yet: no buffer is there. */
static void
forget_map(struct trial *trial)
{
	(void)trial;
	for (size_t i = 0; i < (size_t)1 << MAP_ROOT_BITS; i++) {
		map_word *leaf = load_relaxed(&buffer_map__root[i]);

		if (!leaf)
			continue;
		store_relaxed(&buffer_map__root[i], NULL);
		pages_free((char *)leaf - MAP_LEAF_LEAD, MAP_LEAF_BYTES);
	}
}

/* The first of a process: a descriptor, an extent, a leaf of the map. */
START_TEST(a_first_borrow)
{
	static const struct operation operation = {
		.name = "borrow", .least = 3, .before = forget_map,
		.run = borrow, .kept = is_untouched, .after = give_it_back,
	};

	starve(&operation);
}
END_TEST

START_TEST(a_traced_borrow)
{
	static const struct operation operation = {
		.name = "borrow, traced", .least = 3, .trace = true,
		.run = borrow, .kept = is_untouched, .after = give_it_back,
	};

	starve(&operation);
}
END_TEST

static void
one_is_idle(struct trial *trial)
{
	void *buffer;

	expect(trial, lend_buffer_borrow(trial->arena, BYTES / 2,
					 &buffer) == 0);
	expect(trial, lend_buffer_return(buffer) == 0);
}

/* Under a limit that has no room beside what is idle. */
START_TEST(a_limited_borrow)
{
	static const struct operation operation = {
		.name = "borrow, limited", .least = 1, .limit = 120000,
		.may = MAY_TRIM, .before = one_is_idle, .run = borrow,
		.kept = is_untouched, .after = give_it_back,
	};

	starve(&operation);
}
END_TEST

static void
it_is_out(struct trial *trial)
{
	expect(trial, borrow(trial) == 0);
}

/*
 * A return never fails: a cache, a magazine and the thread's slot are made
 * where there is memory for them.
 */
static int
return_first(struct trial *trial)
{
	size_t failed = fault_counts().failed;

	expect(trial, lend_buffer_return(THE_BUFFER(trial)) == 0);
	expect(trial, lend_buffer_return(THE_BUFFER(trial)) == -EALREADY);
	expect(trial, capacity_of(THE_BUFFER(trial)) == 0);
	/* For the harness, which wants an error where memory failed. */
	if (fault_counts().failed == failed)
		return 0;
	it_is_out(trial);
	return -ENOMEM;
}

START_TEST(a_first_return)
{
	static const struct operation operation = {
		.name = "return", .least = 3, .may = MAY_SLOT,
		.before = it_is_out, .run = return_first,
	};

	starve(&operation);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("memory of buffers");
	TCase *tcase = starved_case(suite, "buffer");

	tcase_add_test(tcase, a_first_borrow);
	tcase_add_test(tcase, a_traced_borrow);
	tcase_add_test(tcase, a_limited_borrow);
	tcase_add_test(tcase, a_first_return);
	return starved_run(suite);
}
