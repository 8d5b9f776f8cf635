/* SPDX-License-Identifier: MIT */
/*
 * usage: stress_buffers [-s SEED] [-n OPERATIONS] [-c LEND_CONF]
 *
 * Plain buffers, 10^7 of them: generations of 8 threads that borrow, lay what
 * they have where any other may pick it up, and return what they find, beside
 * a thread that trims about every millisecond and one that reads statistics
 * all the time; with memory that fails now and then.  Without -c it is run in
 * turn with both protocols, and with little caches.
 *
 * What is conserved, and looked at:
 *
 *   - a buffer holds what its borrower wrote, at both ends: no two share
 *     storage, no trim takes what is lent;
 *   - always: leased <= retained, retained <= limit;
 *   - borrowed - returned = what lies about = what statistics say is out,
 *     bytes and numbers, whenever a generation is over; then also the accounts
 *     are the sums over what is there and what the backend has given, every
 *     buffer is in one place, no cache is beyond its bound;
 *   - an address that was returned is refused, or belongs to another loan;
 *   - at the end: a trim leaves nothing, a destroy frees everything.
 *
 * Exit status 0: all of it held.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/atomic.h"
#include "lend/lend.h"
#include "mem/init.h"
#include "stress/in_turn.h"
#include "support/audit.h"
#include "support/demand.h"
#include "support/fault.h"
#include "support/random.h"

#define OPERATIONS 10000000
#define GENERATION 500000	/* operations of one */
#define THREADS 8
#define PLACES 256
#define KIB ((size_t)1024)
#define LIMIT (16 * 1024 * KIB)
#define MOST (512 * KIB)

enum { PLAIN, LIMITED, ARENAS };

static struct world {
	lend_arena *arena[ARENAS];
	/* Relaxed, all of these: counted, read when threads were joined. */
	_Atomic(long) left;		/* of this generation */
	_Atomic(uint64_t) borrowed, returned, refused, starved;
	_Atomic(uint64_t) bytes_borrowed, bytes_returned;
	/* Exchanged: the buffer goes from hand to hand. */
	_Atomic(uint64_t *) place[PLACES];
	atomic_bool over;
} world;

/* Its first and last words. */
static uint64_t
mark_of(const uint64_t *buffer, size_t bytes)
{
	return (uint64_t)(uintptr_t)buffer * 3 ^ bytes;
}

static size_t
capacity_of(const void *buffer)
{
	size_t bytes = 0;

	demand(lend_buffer_capacity(buffer, &bytes) == 0);
	return bytes;
}

static uint64_t *
borrow(uint64_t *random)
{
	size_t want = 1 + random_size(random, MOST);
	void *start = NULL;
	uint64_t *buffer;
	size_t bytes;
	int error;

	if (random_below(random, 5000) == 0)
		fault_fail_nth(FAULT_ANY, 1 + random_below(random, 8));
	error = lend_buffer_borrow(world.arena[random_below(random, ARENAS)],
				   want, &start);
	if (error) {
		demand(error == -EDQUOT || error == -ENOMEM);
		fetch_add_relaxed(error == -EDQUOT ? &world.refused :
				  &world.starved, 1);
		return NULL;
	}
	buffer = start;
	bytes = capacity_of(buffer);
	demand(bytes >= want);
	buffer[0] = buffer[bytes / 8 - 1] = mark_of(buffer, bytes);
	fetch_add_relaxed(&world.borrowed, 1);
	fetch_add_relaxed(&world.bytes_borrowed, bytes);
	return buffer;
}

static void
give_back(uint64_t *buffer)
{
	size_t bytes = capacity_of(buffer);

	demand(buffer[0] == mark_of(buffer, bytes));
	demand(buffer[bytes / 8 - 1] == buffer[0]);
	buffer[0] = buffer[bytes / 8 - 1] = 0;
	/* The next page is within. */
	demand(bytes == 4096 ||
	       lend_buffer_return((char *)buffer + 4096) == -EINVAL);
	fetch_add_relaxed(&world.returned, 1);
	fetch_add_relaxed(&world.bytes_returned, bytes);
	demand(lend_buffer_return(buffer) == 0);
}

static void *
lender_main(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;

	while (fetch_sub_relaxed(&world.left, 1) > 0) {
		unsigned at = random_below(&random, PLACES);
		uint64_t *buffer = NULL;

		if (random_below(&random, 2))
			buffer = borrow(&random);
		/* The exchange hands over what was written. */
		buffer = exchange_acq_rel(&world.place[at], buffer);
		if (buffer)
			give_back(buffer);
		/* Threads come and go. */
		if (random_below(&random, 20000) == 0)
			break;
	}
	return NULL;
}

/* Lives one after another, until there is nothing left to do. */
static void *
line_main(void *arg)
{
	uint64_t random = *(const uint64_t *)arg;

	while (load_relaxed(&world.left) > 0) {
		uint64_t seed = random_next(&random);
		pthread_t lender;

		demand(pthread_create(&lender, NULL, lender_main, &seed) == 0);
		demand(pthread_join(lender, NULL) == 0);
	}
	return NULL;
}

static struct lend_stats
stats_of(int i)
{
	struct lend_stats stats;

	demand(lend_arena_stats(world.arena[i], &stats) == 0);
	demand(stats.leased_bytes <= stats.retained_bytes);
	demand(stats.buffer_bytes <= stats.retained_bytes);
	demand(stats.limit_bytes == 0 ||
	       stats.retained_bytes <= stats.limit_bytes);
	demand(stats.retained_bytes < SIZE_MAX / 2);
	return stats;
}

static void
doze(long microseconds)
{
	struct timespec time = { .tv_nsec = microseconds * 1000 };

	nanosleep(&time, NULL);
}

static void *
trim_often(void *arg)
{
	for (unsigned i = 0; !load_relaxed(&world.over); i++) {
		doze(1000);
		demand(lend_arena_trim(world.arena[i % ARENAS]) == 0);
	}
	return arg;
}

static void *
sample(void *arg)
{
	while (!load_relaxed(&world.over)) {
		for (int i = 0; i < ARENAS; i++)
			(void)stats_of(i);
		doze(50);
	}
	return arg;
}

static void
start(pthread_t *thread, void *(*fn)(void *), void *arg)
{
	demand(pthread_create(thread, NULL, fn, arg) == 0);
}

static void
generation(long operations, uint64_t *random)
{
	pthread_t line[THREADS], beside[2];
	uint64_t seed[THREADS];

	store_relaxed(&world.left, operations);
	store_relaxed(&world.over, false);
	start(&beside[0], trim_often, NULL);
	start(&beside[1], sample, NULL);
	for (int i = 0; i < THREADS; i++) {
		seed[i] = random_next(random);
		start(&line[i], line_main, &seed[i]);
	}
	for (int i = 0; i < THREADS; i++)
		demand(pthread_join(line[i], NULL) == 0);
	store_relaxed(&world.over, true);
	for (int i = 0; i < 2; i++)
		demand(pthread_join(beside[i], NULL) == 0);
}

/* Between generations: nobody is at work, some buffers lie about. */
static void
take_stock(void)
{
	struct audit audit;
	size_t bytes = 0, out = 0, lying = 0;

	fault_fail_nth(0, 0);
	audit = audit_process();
	if (audit.wrong)
		demand_failed(__FILE__, __LINE__, audit.wrong);
	demand(audit.retained == fault_counts().extent_bytes);
	for (int i = 0; i < ARENAS; i++) {
		bytes += stats_of(i).leased_bytes;
		out += stats_of(i).buffers_out;
	}
	for (int i = 0; i < PLACES; i++)
		lying += load_relaxed(&world.place[i]) != NULL;
	demand(out == lying);
	demand(load_relaxed(&world.borrowed) - load_relaxed(&world.returned) ==
	       out);
	demand(load_relaxed(&world.bytes_borrowed) -
	       load_relaxed(&world.bytes_returned) == bytes);
}

static void
end_world(void)
{
	for (int i = 0; i < PLACES; i++) {
		uint64_t *buffer = exchange_acq_rel(&world.place[i], NULL);

		if (!buffer)
			continue;
		give_back(buffer);
		demand(lend_buffer_return(buffer) == -EALREADY);
	}
	take_stock();
	for (int i = 0; i < ARENAS; i++) {
		demand(lend_arena_trim(world.arena[i]) == 0);
		demand(stats_of(i).retained_bytes == 0);
		demand(lend_arena_destroy(world.arena[i]) == 0);
	}
	demand(fault_counts().extent_bytes == 0);
	demand(fault_counts().pages_bytes ==
	       audit_directory_pages() + audit_thread_pages());
}

static int
run(uint64_t seed, long operations)
{
	uint64_t random = seed;

	demand(lend__init() == 0);
	fault_install(NULL);
	for (int i = 0; i < ARENAS; i++) {
		struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;

		options.limit = i == LIMITED ? LIMIT : 0;
		demand(lend_arena_create(&world.arena[i], &options) == 0);
	}
	/* A loan is two operations, half of which it takes. */
	while ((long)load_relaxed(&world.borrowed) < operations) {
		generation(GENERATION < 2 * operations ? GENERATION :
			   2 * operations, &random);
		take_stock();
	}
	end_world();
	printf("  %llu loans, %llu over the limit, %llu without memory\n",
	       (unsigned long long)load_relaxed(&world.borrowed),
	       (unsigned long long)load_relaxed(&world.refused),
	       (unsigned long long)load_relaxed(&world.starved));
	return EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	static const char *const confs[] = {
		"buffer_cache:8M", "membarrier:false", "buffer_cache:0", NULL
	};
	static const struct in_turn turn = {
		"stress_buffers", "loans", OPERATIONS, confs, run
	};

	return in_turn_main(&turn, argc, argv);
}
