/* SPDX-License-Identifier: MIT */
/* What a warmer has to do for an id, and its back-off: src/warm/task.c. */
#include "warm/task.h"

#include <string.h>

#include "support/fault.h"
#include "support/loans.h"
#include "support/suite.h"

#define BACKOFF 1000
#define MOST 8000

static struct task_list tasks = TAILQ_HEAD_INITIALIZER(tasks);

static struct task *
added(const char *id)
{
	struct task *task = task_add(&tasks, id);

	ck_assert_ptr_nonnull(task);
	return task;
}

START_TEST(tasks_are_found_by_id)
{
	struct task *a = added("a"), *empty = added("");
	char id[10000];

	memset(id, 'x', sizeof(id));
	id[sizeof(id) - 1] = '\0';
	ck_assert_ptr_eq(task_find(&tasks, id), NULL);
	ck_assert_ptr_eq(added(id), task_find(&tasks, id));
	ck_assert_ptr_eq(task_find(&tasks, "a"), a);
	ck_assert_ptr_eq(task_find(&tasks, ""), empty);
	ck_assert_ptr_eq(task_find(&tasks, "b"), NULL);
	task_clear(&tasks);
	ck_assert_ptr_eq(task_find(&tasks, "a"), NULL);
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}
END_TEST

START_TEST(without_memory_there_is_no_task)
{
	fault_fail_all(FAULT_PAGES);
	ck_assert_ptr_null(task_add(&tasks, "a"));
	fault_fail_all(0);
	ck_assert_ptr_null(task_find(&tasks, "a"));
}
END_TEST

/* Twice as long each time, up to the most, and shortened by a half at most. */
START_TEST(the_back_off_doubles_up_to_the_most)
{
	static const uint64_t whole[] = { 1000, 2000, 4000, 8000, 8000, 8000 };
	struct task_policy policy = { BACKOFF, MOST, (uint64_t)_i };
	struct task *task = added("a");
	uint64_t now = 5;

	for (int i = 0; i < 6; i++) {
		task_failed(task, &policy, now);
		ck_assert_uint_ge(task->not_before, now + whole[i] / 2);
		ck_assert_uint_le(task->not_before, now + whole[i]);
		ck_assert_uint_eq(task->forget_at, task->not_before + MOST);
		now = task->not_before;
	}
	task_succeeded(task);
	ck_assert_uint_eq(task->not_before, 0);
	task_failed(task, &policy, now);
	ck_assert_uint_le(task->not_before, now + BACKOFF);
	task_clear(&tasks);
}
END_TEST

/* The pauses of ids that fail together differ. */
START_TEST(the_back_off_is_spread)
{
	struct task_policy policy = { 1000000, 1000000, 1 };
	struct task *a = added("a"), *b = added("b");

	task_failed(a, &policy, 0);
	task_failed(b, &policy, 0);
	ck_assert_uint_ne(a->not_before, b->not_before);
	task_clear(&tasks);
}
END_TEST

/* Fills of one plan that fail at the same time. */
START_TEST(failures_within_a_pause_are_one)
{
	struct task_policy policy = { BACKOFF, MOST, 1 };
	struct task *task = added("a");

	for (int i = 0; i < 10; i++)
		task_failed(task, &policy, 100);
	ck_assert_uint_eq(task->failures, 1);
	ck_assert_uint_le(task->not_before, 100 + 2 * BACKOFF);
	task_clear(&tasks);
}
END_TEST

START_TEST(a_pause_of_none_is_none)
{
	struct task_policy policy = { 0, 0, 1 };
	struct task *task = added("a");

	task_failed(task, &policy, 7);
	task_failed(task, &policy, 7);
	ck_assert_uint_eq(task->not_before, 7);
	task_clear(&tasks);
}
END_TEST

/* Only what nothing is left of. */
START_TEST(idle_tasks_expire)
{
	struct task_policy policy = { BACKOFF, MOST, 1 };

	(void)added("idle");
	added("wanted")->wanted = true;
	added("pending")->pending = 1;
	added("used")->users = 1;
	task_failed(added("failed"), &policy, 0);
	task_expire(&tasks, MOST);
	ck_assert_ptr_null(task_find(&tasks, "idle"));
	ck_assert_ptr_nonnull(task_find(&tasks, "wanted"));
	ck_assert_ptr_nonnull(task_find(&tasks, "pending"));
	ck_assert_ptr_nonnull(task_find(&tasks, "used"));
	/* Its failure is remembered for as long as the longest pause. */
	ck_assert_ptr_nonnull(task_find(&tasks, "failed"));
	task_expire(&tasks, 2 * MOST);
	ck_assert_ptr_null(task_find(&tasks, "failed"));
	task_clear(&tasks);
	ck_assert_uint_eq(fault_counts().pages_bytes, 0);
}
END_TEST

int
main(void)
{
	Suite *suite = suite_create("task");
	TCase *tcase = watched_case(suite, "task");

	tcase_add_test(tcase, tasks_are_found_by_id);
	tcase_add_test(tcase, without_memory_there_is_no_task);
	tcase_add_loop_test(tcase, the_back_off_doubles_up_to_the_most, 0, 20);
	tcase_add_test(tcase, the_back_off_is_spread);
	tcase_add_test(tcase, failures_within_a_pause_are_one);
	tcase_add_test(tcase, a_pause_of_none_is_none);
	tcase_add_test(tcase, idle_tasks_expire);
	return suite_run(suite);
}
