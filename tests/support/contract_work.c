/* SPDX-License-Identifier: MIT */
#include "support/contract_work.h"

#include <check.h>
#include <string.h>

struct work work;

void
work_open(void)
{
	size_t extent[] = { ROWS, ROWS };
	struct lend_layout layout = { 2, extent, NULL };
	/* What takes all kinds of loans. */
	struct lend_plan_options options = {
		.size = sizeof(options), .pack = true
	};

	memset(&work, 0, sizeof(work));
	for (size_t i = 0; i < ROWS * ROWS; i++) {
		work.a[i] = (double)(i % 7);
		work.b[i] = (double)(i % 5);
		work.c[i] = work.was[i] = -1 - (double)i;
	}
	ck_assert_int_eq(lend_plan_create(&work.plan, "ab,bc->ac", LEND_F64,
					  &layout, &layout, NULL, &options,
					  NULL), 0);
	work.call = (struct lend_call){
		.a = work.a, .b = work.b, .c = work.c,
	};
	lend_exec_serial(&work.serial);
}

void
work_close(void)
{
	lend_plan_destroy(work.plan);
}

void
work_refused(int error, int expected, const char *word)
{
	ck_assert_int_eq(error, expected);
	ck_assert_msg(strstr(work.why.text, word), "no %s in \"%s\"", word,
		      work.why.text);
	ck_assert_mem_eq(work.c, work.was, sizeof(work.c));
	work.why.text[0] = '\0';
}

void
work_done(int error)
{
	ck_assert_int_eq(error, 0);
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t j = 0; j < ROWS; j++) {
			double sum = 0;

			for (size_t k = 0; k < ROWS; k++)
				sum += work.a[i * ROWS + k] *
				       work.b[k * ROWS + j];
			ck_assert_double_eq(work.c[i * ROWS + j], sum);
		}
	}
	memcpy(work.c, work.was, sizeof(work.c));
}

int
work_execute(lend_arena *arena, const struct lend_exec *exec)
{
	return lend_plan_execute(work.plan, arena, exec, &work.call,
				 &work.why);
}
