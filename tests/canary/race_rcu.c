/* SPDX-License-Identifier: MIT */
/*
 * usage: race_rcu wrong|right
 *
 * A reader that uses an object after it has left its read section, while the
 * object's owner has waited for all sections and writes to it.
 * ThreadSanitizer must report it through src/sync/reclaim.c, which tells it
 * what liburcu orders; and must be silent when the reader stays inside.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/atomic.h"
#include "sync/reclaim.h"

struct object {
	int value;
};

static struct object object = { 1 };
static _Atomic(struct object *) published = &object;
static bool right;

/* Relaxed throughout: they must not order anything. */
static atomic_bool found, ended;

static __attribute__((noinline)) int
use(const struct object *used)
{
	return used->value;
}

static void *
read_object(void *arg)
{
	int *value = arg;
	struct object *seen;

	reclaim_read_begin();
	seen = load_acquire(&published);
	if (right) {
		store_relaxed(&found, true);
		*value = use(seen);
		reclaim_read_end();
	} else {
		reclaim_read_end();
		store_relaxed(&found, true);
		/* Here, and not at an end of the thread, which is ordered. */
		while (!load_relaxed(&ended))
			sched_yield();
		*value = use(seen);
	}
	return NULL;
}

static __attribute__((noinline)) void
end_object(void)
{
	object.value = 0;
	store_relaxed(&ended, true);
}

int
main(int argc, char **argv)
{
	pthread_t reader;
	int value;

	right = argc == 2 && strcmp(argv[1], "right") == 0;
	if (pthread_create(&reader, NULL, read_object, &value))
		return 2;
	while (!load_relaxed(&found))
		sched_yield();
	store_relaxed(&published, NULL);
	reclaim_wait();
	end_object();
	pthread_join(reader, NULL);
	return 0;
}
