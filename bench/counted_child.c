/* SPDX-License-Identifier: MIT */
/* What the counted child does: see counted.c. */
#include <lend/lend.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/counted.h"
#include "bench/harness.h"
#include "bench/request.h"

/* Sets per thread beforehand, so that no race of takes makes another. */
#define SETS_EACH 2
#define WARM_LOANS 100

struct task {
	enum counted_job job;
	int threads;
	size_t turns;	/* of each thread */
	lend_arena *arena;
	pthread_barrier_t meet;
	/* Threads that have not met yet: spun on, not slept on. */
	atomic_int missing;
	_Atomic(uint64_t) allocator_calls;
};

static void
mark(unsigned which)
{
	syscall(SYS_prctl, COUNTED_MARKER, which, 0, 0, 0);
}

static void
check(int error, const char *what)
{
	if (error)
		bench_die("%s: %s", what, strerror(-error));
}

static void
worker_loan(lend_arena *arena)
{
	struct lend_worker loan;

	check(lend_worker_checkout(arena, &bench_req, &loan), "checkout");
	bench_keep(loan.a);
	check(lend_worker_return(arena, &loan), "return");
}

static void
take(lend_arena *arena, struct lend_team *lease)
{
	check(lend_team_take(arena, &bench_req, BENCH_PM, BENCH_PN, lease),
	      "take");
	check(lend_team_panel(arena, lease, bench_req.b_bytes), "panel");
	bench_keep(lease->panel);
}

static void
team_loan(lend_arena *arena)
{
	struct lend_team lease;

	take(arena, &lease);
	check(lend_team_return(arena, &lease), "team return");
}

static void
warm_up(struct task *task)
{
	struct lend_team lease[SETS_EACH];

	for (int i = 0; i < SETS_EACH; i++)
		take(task->arena, &lease[i]);
	/* All sets of all threads are out now. */
	pthread_barrier_wait(&task->meet);
	for (int i = 0; i < SETS_EACH; i++)
		check(lend_team_return(task->arena, &lease[i]),
		      "team return");
	for (int i = 0; i < WARM_LOANS; i++) {
		worker_loan(task->arena);
		team_loan(task->arena);
	}
}

static void
control_turn(void)
{
	void *p = malloc(100);

	bench_keep(p);
	free(p);
	syscall(SYS_getppid);
}

static void
run_turns(struct task *task)
{
	for (size_t i = 0; i < task->turns; i++) {
		if (task->job == COUNTED_CONTROL) {
			control_turn();
		} else {
			worker_loan(task->arena);
			team_loan(task->arena);
		}
	}
}

static void *
counted_thread(void *arg)
{
	struct task *task = arg;
	uint64_t before;

	if (task->job == COUNTED_LOANS)
		warm_up(task);
	else
		control_turn(); /* The allocator gets its memory now. */
	/* Release, then acquire: pair with those in let_go(). */
	atomic_fetch_sub_explicit(&task->missing, 1, memory_order_release);
	while (atomic_load_explicit(&task->missing, memory_order_acquire))
		sched_yield();
	before = counted_allocator_calls();
	mark(COUNTED_BEGIN);
	run_turns(task);
	mark(COUNTED_END);
	/* Relaxed: read after the join. */
	atomic_fetch_add_explicit(&task->allocator_calls,
				  counted_allocator_calls() - before,
				  memory_order_relaxed);
	return NULL;
}

static uint64_t
growths(lend_arena *arena)
{
	struct lend_stats stats;

	check(lend_arena_stats(arena, &stats), "stats");
	return stats.growths;
}

/* Starts the loans when all threads are warm; returns the growths by then. */
static uint64_t
let_go(struct task *task)
{
	uint64_t before;

	/* Acquire: pairs with the threads' release when they are warm. */
	while (atomic_load_explicit(&task->missing, memory_order_acquire) > 1)
		sched_yield();
	before = growths(task->arena);
	/* Release: pairs with the acquire of the waiting threads. */
	atomic_fetch_sub_explicit(&task->missing, 1, memory_order_release);
	return before;
}

static struct counted_result
run_task(struct task *task)
{
	struct counted_result result = { .loans = 0 };
	pthread_t thread[COUNTED_THREADS_MAX];

	check(lend_arena_create(&task->arena, NULL), "create");
	pthread_barrier_init(&task->meet, NULL, (unsigned)task->threads);
	atomic_init(&task->missing, task->threads + 1);
	atomic_init(&task->allocator_calls, 0);
	for (int i = 0; i < task->threads; i++)
		if (pthread_create(&thread[i], NULL, counted_thread, task))
			bench_die("no thread");
	result.growths = -let_go(task);
	for (int i = 0; i < task->threads; i++)
		pthread_join(thread[i], NULL);
	/* Wraps back to the growths between the two looks. */
	result.growths += growths(task->arena);
	result.loans = task->turns * (uint64_t)task->threads * 2;
	result.allocator_calls = task->allocator_calls;
	return result;
}

struct counted_result
counted_run(enum counted_job job, int threads, size_t turns)
{
	struct task task = { .job = job, .threads = threads, .turns = turns };

	if (threads < 1 || threads > COUNTED_THREADS_MAX)
		bench_die("%d threads", threads);
	return run_task(&task);
}
