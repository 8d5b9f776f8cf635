/* SPDX-License-Identifier: MIT */
/*
 * What a warmer has to do for an id: policy without threads or clocks, all
 * under the warmer's lock.
 *
 *	            wanted             begun: `spawn` more
 *	(no task) ---------> wanted ----------------------> pending > 0
 *	                                                      | taken
 *	    expired  <---- idle, left alone <--- ended ---- running > 0
 *
 * After a failure the id is left alone until `not_before`; refills meanwhile
 * are held off.  The task outlives that time by as much as the longest back-
 * off, so that a second failure is known as such.
 */
#ifndef LEND_WARM_TASK_H
#define LEND_WARM_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct task {
	TAILQ_ENTRY(task) link;
	size_t bytes;		/* of this object, constant */
	bool wanted;		/* a refill was asked for */
	uint32_t users;		/* threads that work on it */
	size_t pending;		/* fills that nobody has taken yet */
	unsigned failures;	/* in a row */
	uint64_t not_before;	/* ns: left alone until then */
	uint64_t forget_at;	/* ns: then the failures do not count */
	char id[];
};

TAILQ_HEAD(task_list, task);

struct task_policy {
	uint64_t backoff, most;	/* ns */
	uint64_t random;
};

/* The id's task, or null. */
struct task *task_find(const struct task_list *tasks, const char *id);
/* A new one; null: no memory. */
struct task *task_add(struct task_list *tasks, const char *id);

/* Whether a thread has something to do for it. */
bool task_waits(const struct task *task);

/* A fill of it came to an end. */
void task_succeeded(struct task *task);
void task_failed(struct task *task, struct task_policy *policy, uint64_t now);

/* Frees the tasks that nothing is left of. */
void task_expire(struct task_list *tasks, uint64_t now);
/* Frees all of them. */
void task_clear(struct task_list *tasks);

#endif
