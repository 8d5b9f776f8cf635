/* SPDX-License-Identifier: MIT */
/*
 * usage: race KIND|KIND-right
 *
 * Races on purpose, in a program that lends all the while: ThreadSanitizer
 * must report them, and must be silent about their corrected forms.  If
 * what the library orders hid a program's own races, no test under the
 * detector would prove anything.
 *
 *   slots   two lenders write to a number of the program
 *   sets    one writes to a panel that it has returned, while another one
 *           has taken it
 *   buffers the same with a plain buffer
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lend/lend.h>

#define ROUNDS 1000

static lend_arena *arena;
static bool right;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int shared;

/* Relaxed throughout: they must not order anything. */
static atomic_int ready, done;
static atomic_bool returned;

/* Both threads have come here. */
static void
meet(atomic_int *count)
{
	atomic_fetch_add_explicit(count, 1, memory_order_relaxed);
	while (atomic_load_explicit(count, memory_order_relaxed) < 2)
		sched_yield();
}

static void
must(int error)
{
	if (error) {
		fprintf(stderr, "race: %s\n", strerror(-error));
		exit(2);
	}
}

static __attribute__((noinline)) void
write_shared(void)
{
	if (right)
		pthread_mutex_lock(&lock);
	shared++;
	if (right)
		pthread_mutex_unlock(&lock);
}

static void *
lend_slots(void *arg)
{
	struct lend_req req = { .a_bytes = 4096 };
	struct lend_worker loan;

	must(lend_worker_checkout(arena, &req, &loan));
	must(lend_worker_return(arena, &loan));
	/* Neither inherits the other's slot, which would order them. */
	meet(&ready);
	for (int i = 0; i < ROUNDS; i++) {
		must(lend_worker_checkout(arena, &req, &loan));
		memset(loan.a, i, 64);
		write_shared();
		must(lend_worker_return(arena, &loan));
	}
	meet(&done);
	return arg;
}

static __attribute__((noinline)) void
write_panel(char *panel)
{
	*panel = 1;
}

static void *
lend_set(void *arg)
{
	struct lend_req req = { .b_bytes = 4096 };
	struct lend_team lease;

	must(lend_team_take(arena, &req, 1, 1, &lease));
	must(lend_team_panel(arena, &lease, req.b_bytes));
	write_panel(lease.panel);
	must(lend_team_return(arena, &lease));
	atomic_store_explicit(&returned, true, memory_order_relaxed);
	if (!right)
		write_panel(lease.panel);
	return arg;
}

static void *
lend_set_next(void *arg)
{
	while (!atomic_load_explicit(&returned, memory_order_relaxed))
		sched_yield();
	return lend_set(arg);
}

static __attribute__((noinline)) void
write_buffer(char *buffer)
{
	*buffer = 2;
}

static void *
lend_buffer(void *arg)
{
	/* Too large for a thread's cache: the other one finds it at once. */
	size_t bytes = ((size_t)64 << 20) + 1;
	void *buffer;

	must(lend_buffer_borrow(arena, bytes, &buffer));
	write_buffer(buffer);
	must(lend_buffer_return(buffer));
	atomic_store_explicit(&returned, true, memory_order_relaxed);
	if (!right)
		write_buffer(buffer);
	return arg;
}

static void *
lend_buffer_next(void *arg)
{
	while (!atomic_load_explicit(&returned, memory_order_relaxed))
		sched_yield();
	return lend_buffer(arg);
}

static void
run_both(void *(*one)(void *), void *(*other)(void *))
{
	pthread_t thread[2];

	must(-pthread_create(&thread[0], NULL, one, NULL));
	must(-pthread_create(&thread[1], NULL, other, NULL));
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
}

int
main(int argc, char **argv)
{
	const char *kind = argc == 2 ? argv[1] : "";

	right = strstr(kind, "-right") != NULL;
	must(lend_arena_create(&arena, NULL));
	if (strncmp(kind, "slots", 5) == 0)
		run_both(lend_slots, lend_slots);
	else if (strncmp(kind, "sets", 4) == 0)
		run_both(lend_set, lend_set_next);
	else if (strncmp(kind, "buffers", 7) == 0)
		run_both(lend_buffer, lend_buffer_next);
	else
		return 2;
	must(lend_arena_destroy(arena));
	return 0;
}
