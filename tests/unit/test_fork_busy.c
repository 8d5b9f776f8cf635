/* SPDX-License-Identifier: MIT */
/*
 * fork(2) while other threads are inside every kind of operation: each child
 * finds the accounts exact, uses every arena, starts threads, forks again
 * and destroys everything; its parent goes on unharmed.
 *
 * What the threads of the parent do is checked as well: they demand().
 */
#include <check.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lend/lend.h"
#include "support/audit.h"
#include "support/crew.h"
#include "support/demand.h"
#include "support/family.h"
#include "support/pattern.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/suite.h"

#define KIB ((size_t)1024)

enum { PLAIN, TRACED, LIMITED, ARENAS };

/* Room for what all threads have out and the child wants, not for more. */
#define LIMIT (2048 * KIB)
#define LENGTH 600

static const struct lend_req req = {
	.a_bytes = 24 * KIB, .tile_bytes = 8 * KIB, .worker_scatter = 300,
	.team_scatter = 300, .barriers = 4
};

static lend_arena *arenas[ARENAS];
static atomic_bool stop;

static lend_arena *
any(uint64_t *random)
{
	return arenas[random_below(random, ARENAS)];
}

/* Whether the loan is there; the limit may be in the way. */
static bool
had(int error)
{
	demand(error == 0 || error == -EDQUOT);
	return error == 0;
}

/* What the parent's threads do, one step of each kind. */

static void
plain_loan(lend_arena *arena, uint64_t *random)
{
	struct lend_worker loan;

	if (!had(lend_worker_checkout(arena, &req, &loan)))
		return;
	pattern_write(loan.a, 64, *random);
	demand(pattern_holds(loan.a, 64, *random));
	demand(lend_worker_return(arena, &loan) == 0);
}

static void
growing_loan(lend_arena *arena, uint64_t *random)
{
	struct lend_req wish = {
		.a_bytes = random_size(random, 128 * KIB),
		.tile_bytes = random_size(random, 32 * KIB),
		.worker_scatter = random_size(random, 2 * KIB)
	};
	struct lend_worker loan;

	if (!had(lend_worker_checkout(arena, &wish, &loan)))
		return;
	(void)had(lend_worker_scatter_resize(arena, &loan, LENGTH));
	demand(lend_worker_return(arena, &loan) == 0);
}

static void
nested_loans(lend_arena *arena, uint64_t *random)
{
	struct lend_worker loan[3];
	int n = 0;

	while (n < 3 && had(lend_worker_checkout(arena, &req, &loan[n]))) {
		pattern_write(loan[n].a, 64, *random + (uint64_t)n);
		n++;
	}
	while (n-- > 0) {
		demand(pattern_holds(loan[n].a, 64, *random + (uint64_t)n));
		demand(lend_worker_return(arena, &loan[n]) == 0);
	}
}

static void
team_loan(lend_arena *arena, uint64_t *random)
{
	struct lend_team lease;

	if (!had(lend_team_take(arena, &req, 2, 2, &lease)))
		return;
	(void)had(lend_team_panel(arena, &lease,
				  random_size(random, 64 * KIB)));
	if (had(lend_team_scatter_resize(arena, &lease, LENGTH)))
		pattern_write(lease.scatter, 64, *random);
	(void)had(lend_team_scatter_shrink(arena, &lease));
	demand(lend_team_return(arena, &lease) == 0);
}

static void
trim_arena(lend_arena *arena, uint64_t *random)
{
	(void)random;
	demand(lend_arena_trim(arena) == 0);
}

static void
own_arena(lend_arena *arena, uint64_t *random)
{
	lend_arena *own;

	(void)arena;
	demand(lend_arena_create(&own, NULL) == 0);
	growing_loan(own, random);
	team_loan(own, random);
	demand(lend_arena_destroy(own) == 0);
}

/* Ends with a loan out, and a re-entrant one. */
static void *
come_and_go(void *arg)
{
	struct lend_worker loan;
	uint64_t random = (uint64_t)(uintptr_t)arg;

	for (int i = 0; i < 2; i++)
		(void)had(lend_worker_checkout(any(&random), &req, &loan));
	return NULL;
}

static void
new_thread(lend_arena *arena, uint64_t *random)
{
	pthread_t thread;

	(void)arena;
	demand(pthread_create(&thread, NULL, come_and_go,
			      (void *)(uintptr_t)random_next(random)) == 0);
	demand(pthread_join(thread, NULL) == 0);
}

static void
ignore_record(const struct lend_trace_record *record, void *ctx)
{
	(void)ctx;
	demand(record->capacity > 0);
}

static void
traced_growth(lend_arena *arena, uint64_t *random)
{
	(void)arena;
	growing_loan(arenas[TRACED], random);
	demand(lend_trace_take(arenas[TRACED], ignore_record, NULL) >= 0);
}

typedef void step(lend_arena *arena, uint64_t *random);

static step *const kinds[] = {
	plain_loan, growing_loan, nested_loans, team_loan, trim_arena,
	own_arena, new_thread, traced_growth
};

#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

/* Which kind the threads do; KINDS: each another one. */
struct work {
	int kind;
	unsigned forks;
};

static void
keep_busy(size_t index, void *ctx)
{
	const struct work *work = ctx;
	step *kind = kinds[work->kind < KINDS ? work->kind : (int)index];
	uint64_t random = index;

	/* Relaxed is enough: it only ends the loop. */
	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		kind(any(&random), &random);
		/* So that storage comes and goes whatever the kind. */
		if (random_below(&random, 4) == 0)
			trim_arena(any(&random), &random);
		/* The children want a processor, too. */
		sched_yield();
	}
}

/* The forking thread's own loans, and what the child does. */

struct own {
	struct lend_worker worker, nested;
	struct lend_team lease;
};

static void
own_out(struct own *own)
{
	demand(lend_worker_checkout(arenas[PLAIN], &req, &own->worker) == 0);
	demand(lend_worker_checkout(arenas[PLAIN], &req, &own->nested) == 0);
	demand(lend_team_take(arenas[TRACED], &req, 2, 2, &own->lease) == 0);
	demand(lend_team_panel(arenas[TRACED], &own->lease, 8 * KIB) == 0);
	pattern_write(own->worker.a, req.a_bytes, 1);
	pattern_write(own->nested.tile, req.tile_bytes, 2);
	pattern_write(own->lease.panel, 8 * KIB, 3);
}

static void
own_in(struct own *own)
{
	demand(pattern_holds(own->worker.a, req.a_bytes, 1));
	demand(pattern_holds(own->nested.tile, req.tile_bytes, 2));
	demand(pattern_holds(own->lease.panel, 8 * KIB, 3));
	demand(lend_worker_return(arenas[PLAIN], &own->worker) == 0);
	demand(lend_worker_return(arenas[PLAIN], &own->nested) == 0);
	demand(lend_team_return(arenas[TRACED], &own->lease) == 0);
}

/* Every kind of loan in every arena; nothing else is out in it. */
static void
use_all(uint64_t seed)
{
	for (int i = 0; i < ARENAS; i++) {
		struct lend_worker loan[2];
		struct lend_team lease;

		demand(lend_worker_checkout(arenas[i], &req, &loan[0]) == 0);
		demand(lend_worker_checkout(arenas[i], &req, &loan[1]) == 0);
		demand(lend_team_take(arenas[i], &req, 2, 2, &lease) == 0);
		demand(lend_team_panel(arenas[i], &lease, 16 * KIB) == 0);
		pattern_write(loan[0].a, req.a_bytes, seed);
		pattern_write(loan[1].a, req.a_bytes, seed + 1);
		pattern_write(lease.panel, 16 * KIB, seed + 2);
		demand(pattern_holds(loan[0].a, req.a_bytes, seed));
		demand(pattern_holds(loan[1].a, req.a_bytes, seed + 1));
		demand(pattern_holds(lease.panel, 16 * KIB, seed + 2));
		demand(lend_worker_return(arenas[i], &loan[1]) == 0);
		demand(lend_worker_return(arenas[i], &loan[0]) == 0);
		demand(lend_team_return(arenas[i], &lease) == 0);
	}
}

static void
use_all_in_thread(size_t index, void *ctx)
{
	(void)ctx;
	use_all(10 * index);
}

/* Nothing but our own loans is out. */
static void
others_are_settled(const struct own *own)
{
	for (int i = 0; i < ARENAS; i++) {
		struct lend_stats stats = stats_now(arenas[i]);

		demand(stats.slots_out == (own && i == PLAIN));
		demand(stats.sets_out == (own && i == TRACED));
	}
	demand_accounts();
}

static void
grandchild(void *arg)
{
	(void)arg;
	others_are_settled(NULL);
	use_all(7);
	for (int i = 0; i < ARENAS; i++)
		demand_end(arenas[i]);
}

static void
child(void *arg)
{
	struct own *own = arg;
	struct crew crew;

	if (!BUSY_CHILD_LIVES)
		return;
	others_are_settled(own);
	own_in(own);
	use_all(5);
	if (BUSY_CHILD_STARTS_THREADS) {
		crew_start(&crew, 2, use_all_in_thread, NULL);
		crew_join(&crew);
	}
	demand(family_fork(grandchild, NULL) == 0);
	others_are_settled(NULL);
	for (int i = 0; i < ARENAS; i++)
		demand_end(arenas[i]);
	demand_accounts();
}

static void
make_arenas(void)
{
	for (int i = 0; i < ARENAS; i++) {
		struct lend_arena_options options = LEND_ARENA_OPTIONS_INIT;

		options.trace = i == TRACED;
		options.limit = i == LIMITED ? LIMIT : 0;
		ck_assert_int_eq(lend_arena_create(&arenas[i], &options), 0);
	}
}

static void
fork_often(struct work *work, size_t threads)
{
	struct crew crew;
	struct own own;
	int status = 0;

	make_arenas();
	atomic_store(&stop, false);
	own_out(&own);
	crew_start(&crew, threads, keep_busy, work);
	for (unsigned i = 0; i < work->forks && status == 0; i++)
		status = family_fork(child, &own);
	atomic_store(&stop, true);
	crew_join(&crew);
	ck_assert_int_eq(status, 0);
	own_in(&own);
	ck_assert_uint_eq(audit_process().lost_records, 0);
	for (int i = 0; i < ARENAS; i++)
		demand_end(arenas[i]);
}

START_TEST(fork_beside_one_kind)
{
	struct work work = { .kind = _i, .forks = scale(16) };

	fork_often(&work, 2);
}
END_TEST

START_TEST(fork_beside_all_kinds)
{
	struct work work = { .kind = KINDS, .forks = scale(40) };

	fork_often(&work, (size_t)KINDS);
}
END_TEST

static const char *const protocols[] = { "membarrier:false", NULL };

int
main(void)
{
	Suite *suite = suite_create("fork beside busy threads");
	TCase *busy = family_case(suite, "busy");

	tcase_add_loop_test(busy, fork_beside_one_kind, 0, KINDS);
	tcase_add_test(busy, fork_beside_all_kinds);
	return suite_run_also(suite, protocols);
}
