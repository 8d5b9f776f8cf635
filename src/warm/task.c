/* SPDX-License-Identifier: MIT */
#include "warm/task.h"

#include <string.h>

#include "mem/backend.h"

struct task *
task_find(const struct task_list *tasks, const char *id)
{
	struct task *task;

	TAILQ_FOREACH(task, tasks, link)
		if (strcmp(task->id, id) == 0)
			return task;
	return NULL;
}

struct task *
task_add(struct task_list *tasks, const char *id)
{
	size_t length = strlen(id) + 1, bytes = sizeof(struct task) + length;
	struct task *task = pages_alloc(bytes);

	if (!task)
		return NULL;
	task->bytes = bytes;
	memcpy(task->id, id, length);
	TAILQ_INSERT_TAIL(tasks, task, link);
	return task;
}

bool
task_waits(const struct task *task)
{
	return task->wanted || task->pending > 0;
}

void
task_succeeded(struct task *task)
{
	task->failures = 0;
	task->not_before = 0;
	task->forget_at = 0;
}

/* Weyl's sequence, its bits mixed: only to spread the load. */
static uint64_t
next_random(struct task_policy *policy)
{
	uint64_t x = policy->random += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return x ^ x >> 32;
}

void
task_failed(struct task *task, struct task_policy *policy, uint64_t now)
{
	uint64_t pause = policy->backoff;

	for (unsigned i = 0; i < task->failures && pause < policy->most; i++)
		pause *= 2;
	if (pause > policy->most)
		pause = policy->most;
	/* Fills of one plan fail together: that is one failure. */
	if (now >= task->not_before)
		task->failures++;
	pause -= next_random(policy) % (pause / 2 + 1);
	task->not_before = now + pause;
	task->forget_at = task->not_before + policy->most;
}

void
task_expire(struct task_list *tasks, uint64_t now)
{
	struct task *task = TAILQ_FIRST(tasks), *next;

	for (; task; task = next) {
		next = TAILQ_NEXT(task, link);
		if (task_waits(task) || task->users > 0 ||
		    now < task->forget_at)
			continue;
		TAILQ_REMOVE(tasks, task, link);
		pages_free(task, task->bytes);
	}
}

void
task_clear(struct task_list *tasks)
{
	struct task *task;

	while ((task = TAILQ_FIRST(tasks))) {
		TAILQ_REMOVE(tasks, task, link);
		pages_free(task, task->bytes);
	}
}
