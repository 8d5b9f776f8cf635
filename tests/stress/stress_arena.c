/* SPDX-License-Identifier: MIT */
/*
 * usage: stress_arena [-s SEED] [-n OPERATIONS] [-c LEND_CONF]
 *
 * Everything at once.  In generations of 8 to 64 threads, each of a random
 * life (lender.c), beside a thread that trims about every millisecond, one
 * that reads statistics all the time and one that forks now and then; with
 * memory that fails now and then.  Without -c it is run in turn with both
 * backends and both protocols.
 *
 * What is conserved, and looked at:
 *
 *   - at a return, a loan's buffers hold what its lender wrote: no two loans
 *     share storage, no trim takes what is lent;
 *   - what is lent never holds bytes that another arena has marked;
 *   - always: leased <= retained, panels <= retained, retained <= limit;
 *   - when a generation is over, in every arena: nothing is lent, every
 *     object is on its stack once, the accounts are the sums over what is
 *     there, and what the backend has given and not got back;
 *   - loans abandoned = loans that ended threads had out; re-entrant loans
 *     as counted by who took them; no more slots than there were threads at
 *     once, no more sets than there could be leases and calls;
 *   - no trace record is lost;
 *   - in a child of fork(2): the same, of all that was others', but for plain
 *     buffers: those that lie about hold what was written and are returned,
 *     those that a thread had in hand, one each at most, stay out;
 *   - at the end: a trim leaves nothing, a destroy frees everything.
 *
 * The seed decides what the threads do, not in which order they come to it.
 * Exit status 0: all of it held.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"
#include "mem/backend.h"
#include "mem/init.h"
#include "stress/in_turn.h"
#include "stress/lender.h"
#include "support/audit.h"
#include "support/demand.h"
#include "support/family.h"
#include "support/fault.h"
#include "support/pattern.h"
#include "support/random.h"

#define OPERATIONS 500000
#define THREADS_MIN 8
#define THREADS_MAX 64
#define LIMIT (1024 * KIB)

static struct world world;

static const size_t none[ARENAS];

/* Relaxed: it only ends loops. */
static atomic_bool over;

/* The forking thread's, and after its end the main thread's. */
static unsigned forks;

static bool
going_on(void)
{
	return !load_relaxed(&over);
}

static void
doze(long microseconds)
{
	struct timespec time = { .tv_nsec = microseconds * 1000 };

	nanosleep(&time, NULL);
}

/* Beside the lenders. */

static void *
trim_often(void *arg)
{
	uint64_t random = world.seed;

	while (going_on()) {
		doze(500 + random_below(&random, 1000));
		demand(lend_arena_trim(world.arena[
			random_below(&random, ARENAS)]) == 0);
	}
	return arg;
}

static struct lend_stats
stats_of(int i)
{
	struct lend_stats stats;

	demand(lend_arena_stats(world.arena[i], &stats) == 0);
	demand(stats.leased_bytes <= stats.retained_bytes);
	demand(stats.panel_bytes <= stats.retained_bytes);
	demand(stats.limit_bytes == 0 ||
	       stats.retained_bytes <= stats.limit_bytes);
	/* No count has wrapped. */
	demand(stats.retained_bytes < SIZE_MAX / 2);
	return stats;
}

static void *
sample(void *arg)
{
	while (going_on()) {
		for (int i = 0; i < ARENAS; i++)
			(void)stats_of(i);
		doze(50);
	}
	return arg;
}

/*
 * Nothing is out, in no arena, but for what the forking thread has, and in a
 * child the plain buffers `lost`.
 */
static void
settled(int out, const size_t *lost)
{
	struct audit audit = audit_process();

	if (audit.wrong)
		demand_failed(__FILE__, __LINE__, audit.wrong);
	demand(audit.retained + audit.privates ==
	       fault_counts().extent_bytes);
	for (int i = 0; i < ARENAS; i++) {
		struct lend_stats stats = stats_of(i);

		demand(stats.slots_out == (out == i));
		demand(stats.sets_out == (out == i));
		demand(stats.buffers_out == lost[i]);
		demand(out == i || lost[i] || stats.leased_bytes == 0);
	}
}

static void
end_arenas(const size_t *lost)
{
	for (int i = 0; i < ARENAS; i++) {
		demand(lend_arena_trim(world.arena[i]) == 0);
		demand(stats_of(i).retained_bytes == stats_of(i).leased_bytes);
		if (lost[i]) {
			demand(lend_arena_destroy(world.arena[i]) == -EBUSY);
			continue;
		}
		demand(stats_of(i).retained_bytes == 0);
		demand(lend_arena_destroy(world.arena[i]) == 0);
	}
}

struct own {
	struct lend_worker loan;
	struct lend_team lease;
};

static void
own_in(struct own *own)
{
	demand(pattern_holds(own->loan.a, 8 * KIB, 1));
	demand(pattern_holds(own->lease.panel, 8 * KIB, 2));
	demand(lend_worker_return(world.arena[PLAIN], &own->loan) == 0);
	demand(lend_team_return(world.arena[PLAIN], &own->lease) == 0);
}

/* In the child: returns the others' buffers but for those in their hands. */
static void
find_lost(size_t *lost)
{
	size_t all = 0;

	lender_return_crates(&world);
	for (int i = 0; i < ARENAS; i++)
		all += lost[i] = stats_of(i).buffers_out;
	demand(all <= THREADS_MAX);
}

/* In the child: all that was others' is settled, and everything works. */
static _Noreturn void
live_as_child(struct own *own)
{
	struct lend_req req = { .a_bytes = 32 * KIB, .team_scatter = 64 };
	size_t lost[ARENAS];

	if (!BUSY_CHILD_LIVES)
		_exit(0);
	alarm(300);
	fault_fail_nth(0, 0);
	find_lost(lost);
	settled(PLAIN, lost);
	own_in(own);
	for (int i = 0; i < ARENAS; i++) {
		struct own mine;

		demand(lend_worker_checkout(world.arena[i], &req,
					    &mine.loan) == 0);
		demand(lend_team_take(world.arena[i], &req, 1, 1,
				      &mine.lease) == 0);
		demand(lend_team_panel(world.arena[i], &mine.lease,
				       8 * KIB) == 0);
		demand(lend_worker_return(world.arena[i], &mine.loan) == 0);
		demand(lend_team_return(world.arena[i], &mine.lease) == 0);
	}
	settled(-1, lost);
	end_arenas(lost);
	_exit(0);
}

static bool
own_out(struct own *own)
{
	struct lend_req req = { .a_bytes = 8 * KIB };
	lend_arena *arena = world.arena[PLAIN];

	/* Memory fails now and then. */
	if (lend_worker_checkout(arena, &req, &own->loan))
		return false;
	if (lend_team_take(arena, &req, 1, 1, &own->lease)) {
		demand(lend_worker_return(arena, &own->loan) == 0);
		return false;
	}
	if (lend_team_panel(arena, &own->lease, 8 * KIB)) {
		demand(lend_worker_return(arena, &own->loan) == 0);
		demand(lend_team_return(arena, &own->lease) == 0);
		return false;
	}
	pattern_write(own->loan.a, 8 * KIB, 1);
	pattern_write(own->lease.panel, 8 * KIB, 2);
	return true;
}

static void *
fork_sometimes(void *arg)
{
	struct own own;
	int status;

	while (going_on()) {
		pid_t pid;

		doze(20000);
		if (!own_out(&own))
			continue;
		pid = fork();
		demand(pid >= 0);
		if (pid == 0)
			live_as_child(&own);
		demand(waitpid(pid, &status, 0) == pid);
		demand(status == 0);
		own_in(&own);
		forks++;
	}
	return arg;
}

/* Generations. */

static void *
lender_main(void *arg)
{
	lender_live(&world, *(const uint64_t *)arg);
	return NULL;
}

static void
start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	demand(pthread_create(thread, NULL, fn, arg) == 0);
}

static void
generation(unsigned threads, uint64_t *random)
{
	static void *(*const beside[])(void *) = {
		trim_often, sample, fork_sometimes
	};
	pthread_t lender[THREADS_MAX], other[3];
	uint64_t seed[THREADS_MAX];

	store_relaxed(&over, false);
	for (int i = 0; i < 3; i++)
		start(&other[i], beside[i], NULL);
	for (unsigned i = 0; i < threads; i++) {
		seed[i] = random_next(random);
		start(&lender[i], lender_main, &seed[i]);
	}
	for (unsigned i = 0; i < threads; i++)
		demand(pthread_join(lender[i], NULL) == 0);
	store_relaxed(&over, true);
	for (int i = 0; i < 3; i++)
		demand(pthread_join(other[i], NULL) == 0);
}

/* Between generations. */
static void
take_stock(unsigned most)
{
	fault_fail_nth(0, 0);
	lender_clear(&world);
	settled(-1, none);
	demand(audit_process().lost_records == 0);
	for (int i = 0; i < ARENAS; i++) {
		struct lend_stats stats = stats_of(i);

		demand(stats.abandoned == load_relaxed(&world.abandoned[i]));
		demand(stats.reentrant == load_relaxed(&world.reentrant[i]));
		/* The forking thread has one, too; a trimmer may hold a set. */
		demand(stats.slots_idle <= most + 1);
		demand(stats.sets_idle <= PARCELS + 2 * most + 2);
	}
	lender_take_trace(&world);
	demand(load_relaxed(&world.records) <= stats_of(TRACED).growths);
}

static void
make_world(uint64_t seed, long operations)
{
	demand(lend__init() == 0);
	fault_install(NULL);
	world.seed = seed;
	world.left = operations;
	for (int i = 0; i < ARENAS; i++) {
		struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;

		options.trace = i == TRACED;
		options.limit = i == LIMITED ? LIMIT : 0;
		demand(lend_arena_create(&world.arena[i], &options) == 0);
	}
}

static int
run(uint64_t seed, long operations)
{
	uint64_t random = seed;
	unsigned most = 0, generations = 0;

	make_world(seed, operations);
	while (load_relaxed(&world.left) > 0) {
		unsigned threads = THREADS_MIN + random_below(&random,
			THREADS_MAX - THREADS_MIN + 1);

		most = threads > most ? threads : most;
		generation(threads, &random);
		take_stock(most);
		generations++;
	}
	end_arenas(none);
	demand(fault_counts().extent_bytes == 0);
	demand(fault_counts().pages_bytes ==
	       audit_directory_pages() + audit_thread_pages());
	printf("  %u generations, at most %u threads, %u forks, %zu times no "
	       "memory\n", generations, most, forks, fault_counts().failed);
	return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	static const char *const confs[] = {
#ifdef LEND_HAVE_JEMALLOC
		"backend:jemalloc", "backend:jemalloc,membarrier:false",
#endif
		"backend:mmap", "backend:mmap,membarrier:false", NULL
	};
	static const struct in_turn turn = {
		"stress_arena", "operations", OPERATIONS, confs, run
	};

	return in_turn_main(&turn, argc, argv);
}
