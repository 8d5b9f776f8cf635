/* SPDX-License-Identifier: MIT */
/*
 * Networks and executions that are refused: with the error that was promised,
 * a message that names what was wrong and where, and nothing written.
 */
#include "lend/network.h"

#include <check.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/contract_site.h"
#include "support/suite.h"

#define OPERANDS 4
#define DIMS 3
#define STEPS 4
#define END SIZE_MAX

struct bad_network {
	const char *einsum;
	size_t count;
	size_t extent[OPERANDS][DIMS];	/* up to END */
	struct lend_network_pair path[STEPS];
	size_t steps;	/* END: no path */
	int error;
	const char *word[3];	/* what the message must name */
};

#define HUGE_EXTENT ((size_t)1 << 40)

static const struct bad_network bad[] = {
	/* The text. */
	{ "ab,bc", 3, { { 2, 3, END }, { 3, 4, END }, { 4, END } }, { { 0 } },
	  END, -EINVAL, { "2 operands", "3" } },
	{ "ab,bc,c", 2, { { 2, 3, END }, { 3, 4, END } }, { { 0 } }, END,
	  -EINVAL, { "more than the 2", "byte 5" } },
	{ "ab,bc->ad", 2, { { 2, 3, END }, { 3, 4, END } }, { { 0 } }, END,
	  -EINVAL, { "'d'", "output", "no operand" } },
	{ "ab,bc->aa", 2, { { 2, 3, END }, { 3, 4, END } }, { { 0 } }, END,
	  -EINVAL, { "'a'", "twice" } },
	{ "a...,b->ab", 2, { { 2, END }, { 3, END } }, { { 0 } }, END,
	  -EINVAL, { "ellipsis", "byte 1" } },
	{ "ab,\xff->a", 2, { { 2, 3, END }, { 3, END } }, { { 0 } }, END,
	  -EINVAL, { "UTF-8", "byte 3" } },
	{ "a,\xc2\x9b->a", 2, { { 2, END }, { 3, END } }, { { 0 } }, END,
	  -EINVAL, { "control", "byte 2" } },
	{ "a,b->a->b", 2, { { 2, END }, { 3, END } }, { { 0 } }, END,
	  -EINVAL, { "byte 6", "the end" } },
	/* Extents. */
	{ "ab,bc,ca->", 3, { { 2, 3, END }, { 3, 4, END }, { 5, 2, END } },
	  { { 0 } }, END, -EINVAL, { "'c'", "dimension 0 of operand 2",
				     "operand 1" } },
	{ "ab,b->a", 2, { { 2, END }, { 3, END } }, { { 0 } }, END, -EINVAL,
	  { "operand 0", "1 dimensions", "2 labels" } },
	{ "a,b,c->abc", 3, { { HUGE_EXTENT, END }, { HUGE_EXTENT, END },
			     { HUGE_EXTENT, END } },
	  { { 0, 1 }, { 0, 1 } }, 2, -EOVERFLOW,
	  { "step 0", "operand 0", "operand 1" } },
	/* The path. */
	{ "ab,bc,cd->ad", 3, { { 2, 3, END }, { 3, 4, END }, { 4, 2, END } },
	  { { 0, 1 } }, 1, -EINVAL, { "1 steps", "3 operands", "2" } },
	{ "ab,bc,cd->ad", 3, { { 2, 3, END }, { 3, 4, END }, { 4, 2, END } },
	  { { 0, 1 }, { 0, 2 } }, 2, -EINVAL,
	  { "step 1", "position 2", "2 tensors" } },
	{ "ab,bc,cd->ad", 3, { { 2, 3, END }, { 3, 4, END }, { 4, 2, END } },
	  { { 3, 1 }, { 0, 1 } }, 2, -EINVAL, { "step 0", "position 3" } },
	{ "ab,bc,cd->ad", 3, { { 2, 3, END }, { 3, 4, END }, { 4, 2, END } },
	  { { 1, 1 }, { 0, 1 } }, 2, -EINVAL,
	  { "step 0", "position 1", "twice" } },
	{ "ab->ba", 1, { { 2, 3, END } }, { { 0, 0 } }, 1, -EINVAL,
	  { "1 steps", "0" } },
};

#define BAD ((int)(sizeof(bad) / sizeof(bad[0])))

static struct lend_layout
layout_of(const size_t *extent)
{
	struct lend_layout layout = { .extent = extent };

	while (layout.rank < DIMS && extent[layout.rank] != END)
		layout.rank++;
	return layout;
}

START_TEST(test_refused)
{
	const struct bad_network *b = &bad[_i];
	struct lend_layout layout[OPERANDS];
	lend_network *network = NULL;
	struct lend_error why = { "" };
	int error;

	for (size_t i = 0; i < b->count; i++)
		layout[i] = layout_of(b->extent[i]);
	error = lend_network_create(&network, b->einsum, LEND_F64, b->count,
				    layout, b->steps == END ? NULL : b->path,
				    b->steps == END ? 0 : b->steps, NULL,
				    &why);
	ck_assert_msg(error == b->error, "%s: %d, %s", b->einsum, error,
		      why.text);
	ck_assert_ptr_null(network);
	for (int i = 0; i < 3 && b->word[i]; i++)
		ck_assert_msg(strstr(why.text, b->word[i]),
			      "%s: no '%s' in '%s'", b->einsum, b->word[i],
			      why.text);
	/* Nobody need want to know why. */
	ck_assert_int_eq(lend_network_create(&network, b->einsum, LEND_F64,
			 b->count, layout, b->steps == END ? NULL : b->path,
			 b->steps == END ? 0 : b->steps, NULL, NULL),
			 b->error);
}
END_TEST

/* Sixty-five labels in one step, none of whose tensors has too many. */
START_TEST(test_many_labels)
{
	size_t extent[40];
	struct lend_layout layout[2] = { { 33, extent, NULL },
					 { 32, extent, NULL } };
	struct lend_network_pair pair = { 0, 1 };
	lend_network *network;
	struct lend_error why;
	char text[400];
	int at = 0;

	for (int i = 0; i < 40; i++)
		extent[i] = 1;
	for (int i = 0; i < 65; i++)
		at += sprintf(text + at, "%s%c%c", i == 33 ? "," : "",
			      0xc4 + i / 64, 0x80 + i % 64);
	strcpy(text + at, "->");
	ck_assert_int_eq(lend_network_create(&network, text, LEND_F32, 2,
					     layout, &pair, 1, NULL, &why),
			 -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "step 0"));
	ck_assert_ptr_nonnull(strstr(why.text, "64 labels"));
	ck_assert_int_eq(lend_network_create(&network, text, LEND_F32, 2,
					     layout, NULL, 0, NULL, &why),
			 -EINVAL);
}
END_TEST

static const size_t sides[] = { 3, 3 };

/* "ab,bc,cd->ad", all of 3 by 3. */
static lend_network *
chain(void)
{
	const struct lend_layout side = { 2, sides, NULL };
	const struct lend_layout layout[] = { side, side, side };
	lend_network *network;

	ck_assert_int_eq(lend_network_create(&network, "ab,bc,cd->ad",
					     LEND_F64, 3, layout, NULL, 0,
					     NULL, NULL), 0);
	return network;
}

START_TEST(test_arguments)
{
	const struct lend_layout side = { 2, sides, NULL };
	const struct lend_layout layout[] = { side, side, side };
	struct lend_network_options options = { .size = 3 };
	lend_network *n;
	struct lend_error why;

	ck_assert_int_eq(lend_network_create(NULL, "ab->ab", LEND_F64, 1,
			 layout, NULL, 0, NULL, &why), -EINVAL);
	ck_assert_int_eq(lend_network_create(&n, NULL, LEND_F64, 1, layout,
			 NULL, 0, NULL, &why), -EINVAL);
	ck_assert_int_eq(lend_network_create(&n, "ab->ab", LEND_F64, 1, NULL,
			 NULL, 0, NULL, &why), -EINVAL);
	ck_assert_int_eq(lend_network_create(&n, "->", LEND_F64, 0, layout,
			 NULL, 0, NULL, &why), -EINVAL);
	ck_assert_int_eq(lend_network_create(&n, "ab->ab", (enum lend_type)9,
			 1, layout, NULL, 0, NULL, &why), -EINVAL);
	ck_assert_int_eq(lend_network_create(&n, "ab->ab", LEND_F64, 1,
			 layout, NULL, 0, &options, &why), -EINVAL);
	options.size = sizeof(options);
	options.kernel = "none such";
	ck_assert_int_eq(lend_network_create(&n, "ab->ab", LEND_F64, 1,
			 layout, NULL, 0, &options, &why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(why.text, "none such"));
	lend_network_destroy(NULL);
}
END_TEST

START_TEST(test_questions)
{
	lend_network *n = chain();
	struct lend_network_info info = { .size = sizeof(info) };
	struct lend_network_step step = { .size = sizeof(step) };
	struct lend_req req;
	char text[8] = "x";
	size_t bytes;

	ck_assert_int_eq(lend_network_req(NULL, 1, &req, &bytes), -EINVAL);
	ck_assert_int_eq(lend_network_req(n, 0, &req, &bytes), -EINVAL);
	ck_assert_int_eq(lend_network_req(n, 1, NULL, &bytes), -EINVAL);
	ck_assert_int_eq(lend_network_req(n, 1, &req, NULL), -EINVAL);
	ck_assert_int_eq(lend_network_describe(n, NULL), -EINVAL);
	ck_assert_int_eq(lend_network_step(n, 2, &step), -EINVAL);
	info.size--;
	step.size--;
	ck_assert_int_eq(lend_network_describe(n, &info), -EINVAL);
	ck_assert_int_eq(lend_network_step(n, 1, &step), -EINVAL);
	ck_assert_uint_eq(lend_network_einsum(n, 2, text, sizeof(text)), 0);
	ck_assert_str_eq(text, "");
	/* Cut at a whole label. */
	ck_assert_uint_eq(lend_network_einsum(n, 0, text, 4), 9);
	ck_assert_str_eq(text, "ab,");
	ck_assert_uint_eq(lend_network_einsum(n, 0, NULL, 0), 9);
	lend_network_destroy(n);
}
END_TEST

/* Executions. */

struct refusal {
	struct site site;
	lend_network *network;
	double t[3][9], r[9];
	const void *operands[3];
	struct lend_network_call call;
	struct lend_error why;
};

static void
refusal_open(struct refusal *f)
{
	f->site = site_open();
	f->network = chain();
	for (int i = 0; i < 3; i++)
		f->operands[i] = f->t[i];
	for (int i = 0; i < 9; i++)
		f->t[0][i] = f->t[1][i] = f->t[2][i] = f->r[i] = 7;
	f->call = (struct lend_network_call){ f->operands, f->r, NULL, NULL };
}

static void
refusal_close(struct refusal *f)
{
	for (int i = 0; i < 9; i++)
		ck_assert_double_eq(f->r[i], 7);
	lend_network_destroy(f->network);
	site_close(&f->site);
}

START_TEST(test_call)
{
	static struct refusal f;
	struct lend_exec *exec = &f.site.exec;
	lend_arena *arena;

	refusal_open(&f);
	arena = f.site.arena;
	ck_assert_int_eq(lend_network_execute(NULL, arena, exec, &f.call,
					      &f.why), -EINVAL);
	ck_assert_int_eq(lend_network_execute(f.network, NULL, exec, &f.call,
					      &f.why), -EINVAL);
	ck_assert_int_eq(lend_network_execute(f.network, arena, NULL, &f.call,
					      &f.why), -EINVAL);
	ck_assert_int_eq(lend_network_execute(f.network, arena, exec, NULL,
					      &f.why), -EINVAL);
	f.operands[1] = NULL;
	ck_assert_int_eq(lend_network_execute(f.network, arena, exec, &f.call,
					      &f.why), -EINVAL);
	ck_assert_ptr_nonnull(strstr(f.why.text, "operand 1"));
	/* Also one that only an early step reads. */
	for (int i = 0; i < 3; i++) {
		f.operands[1] = f.t[1];
		f.operands[i] = f.r;
		ck_assert_int_eq(lend_network_execute(f.network, arena, exec,
						      &f.call, &f.why),
				 -EINVAL);
		ck_assert_ptr_nonnull(strstr(f.why.text, "overlaps operand"));
		f.operands[i] = f.t[i];
	}
	refusal_close(&f);
}
END_TEST

/* With an alpha of 0 no operand is read. */
START_TEST(test_unread_overlap)
{
	static const double none = 0, one = 1;
	static struct refusal f;

	refusal_open(&f);
	f.operands[0] = f.operands[1] = f.operands[2] = f.r;
	f.call.alpha = &none;
	f.call.beta = &one;
	ck_assert_int_eq(lend_network_execute(f.network, f.site.arena,
					      &f.site.exec, &f.call, &f.why),
			 0);
	refusal_close(&f);
}
END_TEST

START_TEST(test_lender)
{
	static struct refusal f;
	struct lend_lender lender, part;

	refusal_open(&f);
	lender = site_lender(f.site.arena);
	ck_assert_int_eq(lend_network_execute_on(f.network, NULL,
			 &f.site.exec, &f.call, &f.why), -EINVAL);
	part = lender;
	part.size = offsetof(struct lend_lender, buffer_borrow);
	ck_assert_int_eq(lend_network_execute_on(f.network, &part,
			 &f.site.exec, &f.call, &f.why), -EINVAL);
	part = lender;
	part.buffer_borrow = NULL;
	ck_assert_int_eq(lend_network_execute_on(f.network, &part,
			 &f.site.exec, &f.call, &f.why), -EINVAL);
	part = lender;
	part.buffer_return = NULL;
	ck_assert_int_eq(lend_network_execute_on(f.network, &part,
			 &f.site.exec, &f.call, &f.why), -EINVAL);
	refusal_close(&f);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("network_refuse");
	TCase *tcase = suite_case(suite, "create");

	tcase_add_loop_test(tcase, test_refused, 0, BAD);
	tcase_add_test(tcase, test_many_labels);
	tcase_add_test(tcase, test_arguments);
	tcase_add_test(tcase, test_questions);
	tcase = suite_case(suite, "execute");
	tcase_add_test(tcase, test_call);
	tcase_add_test(tcase, test_unread_overlap);
	tcase_add_test(tcase, test_lender);
	return suite_run(suite);
}
