/* SPDX-License-Identifier: MIT */
/* Requests: src/arena/request.c. */
#include "lend/request.h"

#include <check.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>

#include "support/suite.h"

/* Where each component is, and how many bytes one of it takes. */
static const struct component {
	size_t offset;
	size_t each;
} components[] = {
	{ offsetof(struct lend_req, a_bytes), 1 },
	{ offsetof(struct lend_req, tile_bytes), 1 },
	{ offsetof(struct lend_req, worker_scatter), sizeof(int64_t) },
	{ offsetof(struct lend_req, b_bytes), 1 },
	{ offsetof(struct lend_req, team_scatter), sizeof(int64_t) },
	{ offsetof(struct lend_req, barriers), LEND_BARRIER_BYTES },
};

#define COMPONENTS 6
_Static_assert(sizeof(components) / sizeof(components[0]) == COMPONENTS, "");
_Static_assert(sizeof(struct lend_req) == COMPONENTS * sizeof(size_t), "");

/* What the functions leave where they write nothing. */
#define UNTOUCHED ((size_t)0x5eed)

static size_t *
component(struct lend_req *req, int i)
{
	return (size_t *)((char *)req + components[i].offset);
}

static struct lend_req
all(size_t value)
{
	struct lend_req req;

	for (int i = 0; i < COMPONENTS; i++)
		*component(&req, i) = value;
	return req;
}

static size_t
bytes_of(const struct lend_req *req)
{
	size_t bytes = UNTOUCHED;

	ck_assert_int_eq(lend_req_bytes(req, &bytes), 0);
	return bytes;
}

static void
assert_overflow(const struct lend_req *req)
{
	size_t bytes = UNTOUCHED;

	ck_assert_int_eq(lend_req_bytes(req, &bytes), -EOVERFLOW);
	ck_assert_uint_eq(bytes, UNTOUCHED);
}

/* Nothing asked for: nothing to pay. */
START_TEST(nothing_is_zero_bytes)
{
	struct lend_req req = all(0);

	ck_assert_uint_eq(bytes_of(&req), 0);
}
END_TEST

/* Bytes count once, a scatter element 8, a barrier its object's size. */
START_TEST(each_component_counts_in_its_unit)
{
	for (int i = 0; i < COMPONENTS; i++) {
		struct lend_req req = all(0);

		*component(&req, i) = 1;
		ck_assert_uint_eq(bytes_of(&req), components[i].each);
		*component(&req, i) = 12345;
		ck_assert_uint_eq(bytes_of(&req), 12345 * components[i].each);
	}
}
END_TEST

/* The payload is the sum over all components. */
START_TEST(bytes_is_the_sum)
{
	struct lend_req req = {
		.a_bytes = 100000, .tile_bytes = 20000,
		.worker_scatter = 3000, .b_bytes = 400000000,
		.team_scatter = 50, .barriers = 6,
	};

	ck_assert_uint_eq(bytes_of(&req), 100000 + 20000 + 8 * 3000 +
			  400000000 + 8 * 50 + 6 * LEND_BARRIER_BYTES);
}
END_TEST

/* The largest component that can be told is told; one more overflows. */
START_TEST(a_component_overflows_and_never_wraps)
{
	struct lend_req req = all(0);
	size_t each = components[_i].each, most = SIZE_MAX / each;

	*component(&req, _i) = most;
	ck_assert_uint_eq(bytes_of(&req), most * each);
	if (each == 1)
		return;
	*component(&req, _i) = most + 1;
	assert_overflow(&req);
	/* Times 8 or 64, this wraps to a small number. */
	*component(&req, _i) = SIZE_MAX / each + 2;
	assert_overflow(&req);
	*component(&req, _i) = SIZE_MAX;
	assert_overflow(&req);
}
END_TEST

/* Each may fit where the sum does not: every pair, up to the last byte. */
START_TEST(a_sum_overflows_and_never_wraps)
{
	for (int i = 0; i < COMPONENTS; i++) {
		for (int j = 0; j < COMPONENTS; j++) {
			struct lend_req req = all(0);
			size_t most = SIZE_MAX / components[i].each, left;

			if (i == j)
				continue;
			left = SIZE_MAX - most * components[i].each;
			left /= components[j].each;
			*component(&req, i) = most;
			*component(&req, j) = left;
			ck_assert_uint_eq(bytes_of(&req),
					  most * components[i].each +
					  left * components[j].each);
			*component(&req, j) = left + 1;
			assert_overflow(&req);
		}
	}
}
END_TEST

START_TEST(a_sum_of_all_overflows)
{
	struct lend_req req = all(SIZE_MAX / 83);

	/* 1 + 1 + 8 + 1 + 8 + 64 = 83 times the component. */
	ck_assert_uint_eq(bytes_of(&req), SIZE_MAX / 83 * 83);
	req = all(SIZE_MAX / 83 + 1);
	assert_overflow(&req);
	req = all(SIZE_MAX);
	assert_overflow(&req);
}
END_TEST

START_TEST(null_is_invalid)
{
	struct lend_req req = all(1);
	size_t bytes = UNTOUCHED;

	ck_assert_int_eq(lend_req_bytes(NULL, &bytes), -EINVAL);
	ck_assert_uint_eq(bytes, UNTOUCHED);
	ck_assert_int_eq(lend_req_bytes(&req, NULL), -EINVAL);
	ck_assert_int_eq(lend_req_bytes(NULL, NULL), -EINVAL);
}
END_TEST

/* A request covers itself, and whatever is larger does. */
START_TEST(covered_by_the_same_and_by_more)
{
	struct lend_req req = all(7), have = all(7);

	ck_assert(lend_req_covered_by(&req, &have));
	for (int i = 0; i < COMPONENTS; i++) {
		*component(&have, i) = 8;
		ck_assert(lend_req_covered_by(&req, &have));
	}
	req = all(0);
	have = all(0);
	ck_assert(lend_req_covered_by(&req, &have));
	req = have = all(SIZE_MAX);
	ck_assert(lend_req_covered_by(&req, &have));
}
END_TEST

/* Component by component: one that lacks is not made up for by the others. */
START_TEST(covered_by_never_compares_totals)
{
	struct lend_req req = all(7), have = all(SIZE_MAX / 100);

	ck_assert(lend_req_covered_by(&req, &have));
	*component(&have, _i) = 6;
	ck_assert_uint_gt(bytes_of(&have), bytes_of(&req));
	ck_assert(!lend_req_covered_by(&req, &have));
	*component(&have, _i) = 0;
	ck_assert(!lend_req_covered_by(&req, &have));
	/* Not even totals that cannot be told. */
	have = all(SIZE_MAX);
	*component(&have, _i) = 6;
	ck_assert(!lend_req_covered_by(&req, &have));
}
END_TEST

/* Each component becomes the larger one, whatever the others do. */
START_TEST(raise_takes_the_maximum_of_each)
{
	for (int i = 0; i < COMPONENTS; i++) {
		struct lend_req into = all(5), req = all(3);

		*component(&req, i) = 9;
		lend_req_raise(&into, &req);
		for (int j = 0; j < COMPONENTS; j++)
			ck_assert_uint_eq(*component(&into, j),
					  i == j ? 9 : 5);
		/* Again: nothing more to raise.  `req` was only read. */
		lend_req_raise(&into, &req);
		for (int j = 0; j < COMPONENTS; j++) {
			ck_assert_uint_eq(*component(&into, j),
					  i == j ? 9 : 5);
			ck_assert_uint_eq(*component(&req, j),
					  i == j ? 9 : 3);
		}
	}
}
END_TEST

START_TEST(raise_covers_both)
{
	struct lend_req one = { 1, SIZE_MAX, 3, 0, 5, 60 };
	struct lend_req two = { 10, 2, 30, 4, 0, 6 };
	struct lend_req into = one;

	lend_req_raise(&into, &two);
	ck_assert(lend_req_covered_by(&one, &into));
	ck_assert(lend_req_covered_by(&two, &into));
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("request");
	TCase *bytes = suite_case(suite, "bytes");
	TCase *cover = suite_case(suite, "cover");

	tcase_add_test(bytes, nothing_is_zero_bytes);
	tcase_add_test(bytes, each_component_counts_in_its_unit);
	tcase_add_test(bytes, bytes_is_the_sum);
	tcase_add_loop_test(bytes, a_component_overflows_and_never_wraps, 0,
			    COMPONENTS);
	tcase_add_test(bytes, a_sum_overflows_and_never_wraps);
	tcase_add_test(bytes, a_sum_of_all_overflows);
	tcase_add_test(bytes, null_is_invalid);
	tcase_add_test(cover, covered_by_the_same_and_by_more);
	tcase_add_loop_test(cover, covered_by_never_compares_totals, 0,
			    COMPONENTS);
	tcase_add_test(cover, raise_takes_the_maximum_of_each);
	tcase_add_test(cover, raise_covers_both);
	return suite_run(suite);
}
